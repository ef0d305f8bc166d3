"""A server that goes away while a run is followed: it is told, output goes on where it broke off, and no
suspension is claimed that did not happen."""

from __future__ import annotations

import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.longshore_command import Command


class Server:
    """A longshore that can be killed and started again under the same address."""

    def __init__(self, longshore: Command) -> None:
        self._longshore = longshore
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = str(free.getsockname()[1])
        self.process = self.start()

    def start(self) -> subprocess.Popen[str]:
        self.process = self._longshore.start("up", "--port", self._port)
        assert self.process.stdout is not None
        assert "is ready" in self.process.stdout.readline()
        return self.process

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()


@pytest.fixture
def server(longshore: Command) -> Iterator[Server]:
    server = Server(longshore)
    yield server
    if server.process.poll() is not None:
        server.start()
    for job in longshore.ok("get", "jobs", "-o", "name").split():
        longshore.ok("delete", job)
    longshore.ok("down")
    server.process.communicate()


def until(file: Path, text: str) -> None:
    for _ in range(1500):
        if text in file.read_text():
            return
        time.sleep(0.02)
    raise AssertionError(f"{text!r} never came: {file.read_text()}")


def test_the_run_goes_on_when_the_server_is_back_and_loses_no_line(
    longshore: Command, server: Server
) -> None:
    work = "echo one; until [ -e gate ]; do sleep 0.02; done; echo two; sleep 0.2; echo three"
    said, out = longshore.home / "said", longshore.home / "out"
    with said.open("w") as err, out.open("w") as lines:
        process = longshore.start("run", "--name", "w", "--", "sh", "-c", work, stderr=err, stdout=lines)
        until(out, "one")
        server.kill()
        until(said, "job/w waiting for the server: https://127.0.0.1:")
        server.start()
        until(said, "job/w the server is back")
        (longshore.home / "gate").touch()
        process.communicate(timeout=60)
    assert process.returncode == 0, said.read_text()
    assert out.read_text() == "one\ntwo\nthree\n"
    assert "Traceback" not in said.read_text()


def test_a_suspension_that_failed_is_not_claimed(longshore: Command, server: Server) -> None:
    said = longshore.home / "said"
    with said.open("w") as err:
        process = longshore.start("run", "--name", "w", "--", "sleep", "600", stderr=err)
        until(said, "1 active")
        server.kill()
        until(said, "waiting for the server")
        process.terminate()
        process.communicate(timeout=60)
    text = said.read_text()
    assert process.returncode == 130
    assert "job/w could not be suspended, so it may go on: 0/1 complete, 1 active" in text
    assert "stop it with: longshore suspend job/w" in text
    assert "is suspended" not in text
    assert "Traceback" not in text


def test_a_job_that_goes_before_the_run_is_connected_again_is_gone(
    longshore: Command, server: Server
) -> None:
    work, said = "[ $JOB_COMPLETION_INDEX = 0 ] || exec sleep 600", longshore.home / "said"
    words = ("--name", "w", "--completions", "2", "--parallelism", "1", "--", "sh", "-c", work)
    with said.open("w") as err:
        process = longshore.start("run", *words, stderr=err)
        until(said, "1/2 complete, 1 active")
        server.kill()
        until(said, "waiting for the server")
        process.send_signal(signal.SIGSTOP)
        server.start()
        longshore.ok("delete", "job/w")
        process.send_signal(signal.SIGCONT)
        try:
            process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == 1
    assert "job/w failed: Deleted: somebody deleted it" in said.read_text()
