"""kubectl's logs, exec, attach, cp, port-forward and top with pods that really run."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import yaml

from support.places import PODS_PYTHON
from support.real_place import Place

SERVE = """
import http.server, os, sys
class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"hello from " + os.environ["POD"].encode())
    def log_message(self, *words):
        pass
server = http.server.HTTPServer((os.environ["IP"], 0), Answer)
print(server.server_address[1], flush=True)
server.serve_forever()
"""


def _field(name: str, path: str) -> dict[str, Any]:
    return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}}


def pod(name: str, *command: str, restart: str = "Never", **more: Any) -> str:
    container = {"name": "main", "image": "none", "command": list(command), **more}
    container["env"] = [_field("IP", "status.podIP"), _field("POD", "metadata.name")]
    spec = {"restartPolicy": restart, "terminationGracePeriodSeconds": 1, "containers": [container]}
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}
    return yaml.safe_dump(body)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    made = Place(tmp_path_factory.mktemp("place"))
    made.start()
    yield made
    made.stop()
    assert "Traceback" not in made.said()


@pytest.fixture(scope="module")
def server(place: Place) -> str:
    """A pod that answers HTTP on its own address, at a port that it says."""
    place.run(pod("server", PODS_PYTHON, "-u", "-c", SERVE), "server")
    return "server"


@contextmanager
def forwarded(place: Place, name: str, port: str) -> Iterator[str]:
    forward = place.kubectl.start("port-forward", name, f":{port}")
    assert forward.stdout is not None
    try:
        yield forward.stdout.readline().split("127.0.0.1:")[1].split(" ")[0]
    finally:
        forward.terminate()
        forward.communicate()


def test_exec_runs_in_the_pod(place: Place, server: str) -> None:
    done = place.kubectl("exec", server, "--", "sh", "-c", "echo $POD; echo oh >&2; exit 4")
    assert (done.exit, done.stdout) == (4, "server\n")
    assert done.stderr == "oh\ncommand terminated with exit code 4\n"
    assert place.kubectl.ok("exec", "-i", server, "--", "cat", stdin="some\ntext") == "some\ntext"
    missing = place.kubectl("exec", server, "--", "no-such-command")
    assert 'exec: "no-such-command": executable file not found in $PATH' in missing.stderr


def test_exec_with_a_terminal(place: Place, server: str) -> None:
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 33, 101, 0, 0))
    process = subprocess.Popen(
        [place.kubectl.program, "exec", "-it", server, "--", "env", "PS1=> ", "sh"],
        env=place.kubectl.environment(),
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
    )
    os.close(theirs)

    def until(wanted: bytes) -> None:
        seen, end = b"", time.monotonic() + 10
        while wanted not in seen:
            assert time.monotonic() < end, seen
            if select.select([ours], [], [], 0.2)[0]:
                seen += os.read(ours, 4096)

    until(b"> ")
    os.write(ours, b"stty size\n")
    until(b"33 101")
    fcntl.ioctl(ours, termios.TIOCSWINSZ, struct.pack("HHHH", 20, 60, 0, 0))
    os.write(ours, b"while ! stty size | grep '20 60'; do sleep 0.1; done; echo now sm$((1+1))ller\n")
    until(b"now sm2ller")
    os.write(ours, b"sleep 100\n")
    time.sleep(0.3)
    os.write(ours, b"\x03")
    os.write(ours, b"echo still $((40+2))\n")
    until(b"still 42")
    os.write(ours, b"exit 7\n")
    assert process.wait(10) == 7
    os.close(ours)


def test_cp_goes_both_ways(place: Place, server: str) -> None:
    home = place.home
    (home / "mine").write_bytes(os.urandom(200_000))
    place.kubectl.ok("cp", "mine", f"{server}:{home}/theirs")
    assert (home / "theirs").read_bytes() == (home / "mine").read_bytes()
    place.kubectl.ok("cp", f"{server}:{home}/theirs", "back")
    assert (home / "back").read_bytes() == (home / "mine").read_bytes()


def test_port_forward_reaches_the_address_of_the_pod(place: Place, server: str) -> None:
    port = place.kubectl.ok("logs", server).strip()
    with (
        forwarded(place, server, port) as local,
        urllib.request.urlopen(f"http://127.0.0.1:{local}/", timeout=60) as answer,
    ):
        assert answer.read() == b"hello from server"


def test_attach_talks_to_the_process_itself(place: Place) -> None:
    place.run(pod("asks", "sh", "-c", "read x; echo got $x; exit 3", stdin=True), "asks")
    assert place.kubectl("attach", "-i", "asks", stdin="an answer\n").stdout == "got an answer\n"
    place.phase("asks", "Failed")
    refused = place.kubectl.refused("exec", "asks", "--", "true")
    assert "cannot exec into a container in a completed pod; current phase is Failed" in refused


def test_logs_are_followed_until_the_container_ends(place: Place) -> None:
    place.run(pod("talks", "sh", "-c", "echo one; sleep 0.7; echo two >&2; printf end"), "talks")
    assert place.kubectl.ok("logs", "-f", "talks") == "one\ntwo\nend"
    place.phase("talks", "Succeeded")
    assert place.kubectl.ok("logs", "talks", "--tail=2") == "two\nend"
    assert re.fullmatch(
        r"\d{4}-\S+Z one\n", place.kubectl.ok("logs", "talks", "--timestamps").splitlines(True)[0]
    )
    refused = place.kubectl.refused("logs", "talks", "--previous")
    assert 'previous terminated container "main" in pod "talks" not found' in refused


def test_logs_of_the_run_before_the_restart(place: Place) -> None:
    script = "echo run >> runs; wc -l < runs; test $(wc -l < runs) -gt 1 && sleep 100; exit 1"
    words = ("sh", "-c", f"cd {place.home}; {script}")
    place.kubectl.ok("apply", "-f", "-", stdin=pod("again", *words, restart="OnFailure"))
    end = time.monotonic() + 15
    while place.kubectl("logs", "again").stdout.strip() != "2":
        assert time.monotonic() < end, place.kubectl("describe", "pod", "again").stdout
        time.sleep(0.1)
    assert place.kubectl.ok("logs", "again", "--previous").strip() == "1"
    place.kubectl.ok("delete", "pod", "again")


def test_top_measures_processes(place: Place, server: str) -> None:
    lines = place.kubectl.ok("top", "pod", server, "--no-headers").split()
    assert lines[0] == server
    assert int(lines[2].removesuffix("Mi")) >= 1
    assert "%" in place.kubectl.ok("top", "node")


def test_logs_of_failed_pods_survive_them(place: Place) -> None:
    container = {"name": "main", "image": "none", "command": ["sh", "-c", "echo why; exit 9"]}
    spec = {"backoffLimit": 0, "template": {"spec": {"restartPolicy": "Never", "containers": [container]}}}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "fails"}, "spec": spec}
    place.kubectl.ok("apply", "-f", "-", stdin=yaml.safe_dump(job))
    place.kubectl.ok("wait", "--for=condition=failed", "job/fails", "--timeout=10s")
    place.kubectl.ok("delete", "job", "fails", "--cascade=foreground")
    end = time.monotonic() + 60
    path = "/longshore/failed/namespaces/default/jobs/fails"
    while not (items := json.loads(place.kubectl.ok("get", "--raw", path))["items"]):
        assert time.monotonic() < end
        time.sleep(0.1)
    assert items[0]["containers"][0]["ended"]["exitCode"] == 9
    log = place.kubectl.ok("get", "--raw", f"/longshore/failed/logs/{items[0]['uid']}/main/0")
    assert json.loads(log)["text"] == "why\n"


def test_logs_go_on_after_longshore_was_killed(place: Place, server: str) -> None:
    marker = place.home / "go"
    script = f"echo before; while ! test -e {marker}; do sleep 0.05; done; echo after"
    place.run(pod("outlives", "sh", "-c", script), "outlives")
    place.stop(signal.SIGKILL)
    place.start()
    follower = place.kubectl.start("logs", "-f", "outlives")
    assert follower.stdout is not None
    assert follower.stdout.readline() == "before\n"
    marker.touch()
    assert follower.communicate(timeout=10)[0] == "after\n"
    place.phase("outlives", "Succeeded")
    assert place.kubectl.ok("exec", server, "--", "echo", "still there") == "still there\n"
