"""The processes of a benchmark: longshore, the bare server beside it, and the generators of load."""

from __future__ import annotations

import json
import os
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Running:
    """A server that answers, and how to talk to it."""

    pid: int
    port: int
    ca: Path
    token: str
    ready_seconds: float
    """From the command to the first answered request."""

    def where(self) -> dict[str, Any]:
        """What a generator of load must know."""
        return {"port": self.port, "ca": str(self.ca), "token": self.token}

    def memory(self) -> tuple[float, float]:
        """RSS and PSS in MB. PSS counts pages shared with other processes in part."""
        found = dict.fromkeys(("Rss:", "Pss:"), 0.0)
        for line in Path(f"/proc/{self.pid}/smaps_rollup").read_text().splitlines():
            words = line.split()
            if words[0] in found:
                found[words[0]] = int(words[1]) / 1024
        return found["Rss:"], found["Pss:"]

    def cpu_seconds(self) -> float:
        """User and system time it has used."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def longshore(data: Path, *words: str) -> Iterator[Running]:
    """`longshore up` on this directory, without controllers, scheduler and node: the API server alone."""
    port = _free_port()
    command = [
        sys.executable,
        "-m",
        "longshore",
        "up",
        "--controllers",
        "none",
        "--no-node",
        "--no-scheduler",
    ]
    command += ["--data-dir", str(data), "--port", str(port), *words]
    with _running(command) as (pid, began):
        ca, token = data / "pki" / "ca.crt", data / "token"
        _first_answer(port, pid)
        yield Running(pid, port, ca, token.read_text().strip(), time.perf_counter() - began)


@contextmanager
def bare(certificate: Path, ca: Path, answer: Path, stream: Path | None = None) -> Iterator[Running]:
    """The bare server: TLS and HTTP as ours, and a handler that does nothing."""
    port = _free_port()
    words = [str(port), str(certificate), str(answer), *([str(stream)] if stream else [])]
    with _running([sys.executable, str(HERE / "bare_server.py"), *words]) as (pid, began):
        _first_answer(port, pid)
        yield Running(pid, port, ca, "none", time.perf_counter() - began)


class Generator:
    """A generator of load: a process that says "ready", does what it was asked, and says what it found."""

    def __init__(self, script: str, wishes: dict[str, Any]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(HERE / script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(wishes) + "\n")
        self._process.stdin.flush()
        self._line("ready")

    def result(self) -> dict[str, Any]:
        """What it found. Waits for its end."""
        found: dict[str, Any] = json.loads(self._line("{"))
        self._process.wait()
        return found

    def _line(self, start: str) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line.startswith(start):
            self._process.wait()
            raise SystemExit("a generator of load failed")
        return line


def load(script: str, **wishes: Any) -> dict[str, Any]:
    """Runs a generator of load to its end and returns what it found."""
    return Generator(script, wishes).result()


@contextmanager
def _running(command: list[str]) -> Iterator[tuple[int, float]]:
    began = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        yield process.pid, began
    finally:
        process.kill()
        process.wait()


def _first_answer(port: int, pid: int) -> None:
    """Returns once a request was answered; looks every two milliseconds whether somebody listens."""
    tls = ssl.create_default_context()
    tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE
    while True:
        try:
            raw = socket.create_connection(("127.0.0.1", port), 10)
            with tls.wrap_socket(raw) as secured:
                secured.sendall(b"GET /version HTTP/1.1\r\nHost: localhost\r\n\r\n")
                assert secured.recv(15).startswith(b"HTTP/1.1 20")
                return
        except ConnectionRefusedError:
            time.sleep(0.002)
        if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
            raise SystemExit("the server ended before it answered")


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port
