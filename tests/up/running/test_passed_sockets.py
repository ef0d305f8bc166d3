"""Socket activation: longshore takes over a listening socket that a service manager opened (LISTEN_FDS)."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from longshore.up import listening as sockets
from longshore.up.listening import CannotListen

READY = re.compile(r"is ready at https://127\.0\.0\.1:(\d+);")


@pytest.fixture
def listening() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as sock:
        yield sock


def command(directory: Path, sock: socket.socket, *words: str) -> list[str]:
    """`longshore up` as a service manager starts it: the socket is descriptor 3, and the process is named."""
    up = [sys.executable, "-m", "longshore", "up", "--data-dir", str(directory), *words]
    return [sys.executable, "-c", _PASS, str(sock.fileno()), *up]


_PASS = """
import os, sys
os.dup2(int(sys.argv[1]), 3)
os.environ |= {"LISTEN_PID": str(os.getpid()), "LISTEN_FDS": "1", "LISTEN_FDNAMES": "longshore.socket"}
os.execv(sys.argv[2], sys.argv[2:])
"""


@contextmanager
def up(directory: Path, sock: socket.socket, *words: str) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        command(directory, sock, *words), pass_fds=(sock.fileno(),), stdout=subprocess.PIPE, text=True
    )
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=30)


def ready(process: subprocess.Popen[str]) -> int:
    """Waits for the ready line, and returns the port in it."""
    assert process.stdout is not None
    found = READY.search(process.stdout.readline())
    assert found is not None
    return int(found[1])


def connected(sock: socket.socket) -> socket.socket:
    client = socket.create_connection(sock.getsockname(), timeout=60)
    assert isinstance(client, socket.socket)
    return client


def health(client: socket.socket) -> str:
    """The answer to one who connected earlier, maybe before there was a longshore."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with context.wrap_socket(client) as tls:
        tls.sendall(b"GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        return tls.recv(4096).decode().splitlines()[0]


def test_whoever_connects_before_the_start_or_during_a_restart_is_answered(
    tmp_path: Path, listening: socket.socket
) -> None:
    port = listening.getsockname()[1]
    for _ in range(2):
        early = connected(listening)
        with up(tmp_path, listening, "--no-node", "--port", str(port)) as process:
            assert ready(process) == port
            assert health(early) == "HTTP/1.1 200 OK"
            assert health(connected(listening)) == "HTTP/1.1 200 OK"


def test_the_port_is_the_sockets_where_none_is_asked_for(tmp_path: Path, listening: socket.socket) -> None:
    with up(tmp_path, listening, "--no-node", "--port", "0") as process:
        assert ready(process) == listening.getsockname()[1]


def test_pods_do_not_get_what_was_passed(tmp_path: Path, listening: socket.socket) -> None:
    inode = os.readlink(f"/proc/self/fd/{listening.fileno()}")
    look = "env | grep -c LISTEN_; ls -l /proc/self/fd"
    container = {"name": "main", "image": "none", "command": ["sh", "-c", look]}
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "look"},
        "spec": {"restartPolicy": "Never", "containers": [container]},
    }
    manifest = tmp_path / "pod.json"
    manifest.write_text(json.dumps(pod))
    with up(tmp_path / "data", listening, "--port", "0", "--on-stop", "kill") as process:
        ready(process)
        env = {**os.environ, "KUBECONFIG": str(tmp_path / "data" / "kubeconfig")}
        ended = ["wait", "--for=jsonpath={.status.phase}=Succeeded", "--timeout=60s", "pod/look"]
        for words in (["apply", "-f", str(manifest)], ended, ["logs", "look"]):
            longshore = [sys.executable, "-m", "longshore", *words]
            done = subprocess.run(longshore, env=env, capture_output=True, text=True, check=True)
    said = done.stdout
    assert said.splitlines()[0] == "0"
    assert inode not in said


def test_sockets_of_another_process_are_left_alone(
    monkeypatch: pytest.MonkeyPatch, listening: socket.socket
) -> None:
    for name, value in {"LISTEN_PID": "1", "LISTEN_FDS": "1", "LISTEN_FDNAMES": "x"}.items():
        monkeypatch.setenv(name, value)
    assert sockets.of_environment(listening.fileno()) == ()
    assert not any(name.startswith("LISTEN_") for name in os.environ)


def test_a_descriptor_that_is_no_socket_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with (tmp_path / "file").open("w") as file:
        monkeypatch.setenv("LISTEN_PID", str(os.getpid()))
        monkeypatch.setenv("LISTEN_FDS", "1")
        with pytest.raises(CannotListen, match=rf"descriptor {file.fileno()}, .* is no socket"):
            sockets.of_environment(file.fileno())


def test_a_socket_that_longshore_was_not_told_to_listen_on_is_refused(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.2", 0)) as sock:
        words = command(tmp_path, sock, "--no-node", "--port", "0")
        done = subprocess.run(
            words, pass_fds=(sock.fileno(),), capture_output=True, text=True, timeout=60, check=False
        )
        assert "passes a socket on 127.0.0.2; to be reached there, pass --listen 127.0.0.2" in done.stderr
        assert "Traceback" not in done.stderr
        assert done.returncode != 0
        port = sock.getsockname()[1]
        assert sockets.port_of([sock], ["127.0.0.2"], port) == port
        with pytest.raises(CannotListen, match=f"on port {port}, and longshore is to have port 1;"):
            sockets.port_of([sock], ["127.0.0.2"], 1)


def test_a_socket_for_anything_but_connections_is_refused() -> None:
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams,
        socket.socket(socket.AF_INET, socket.SOCK_STREAM) as silent,
        socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as local,
    ):
        for sock in (datagrams, silent, local):
            with pytest.raises(CannotListen, match="not one for TCP connections"):
                sockets.port_of([sock], [], 0)
