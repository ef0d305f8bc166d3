"""`kubectl debug` with pods that really run as processes."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import select
import subprocess
import time
from collections.abc import Iterator

import pytest
import yaml

from support.real_place import Place


def pod(name: str) -> str:
    container = {
        "name": "main",
        "image": "none",
        "command": ["sh", "-c", "echo found > /data/here; exec sleep 1000"],
        "volumeMounts": [{"name": "data", "mountPath": "/data"}],
    }
    spec = {
        "terminationGracePeriodSeconds": 0,
        "containers": [container],
        "volumes": [{"name": "data", "emptyDir": {}}],
    }
    return yaml.safe_dump({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec})


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    made = Place(tmp_path_factory.mktemp("place"))
    made.start()
    made.run(pod("p"), "p")
    yield made
    made.stop()
    assert "Traceback" not in made.said()


def ended(place: Place, container: str) -> dict[str, object]:
    """`state.terminated` of an ephemeral container, once it is there."""
    at = f'{{.status.ephemeralContainerStatuses[?(@.name=="{container}")].state.terminated}}'
    end = time.monotonic() + 60
    while not (found := place.kubectl.ok("get", "pod", "p", "-o", f"jsonpath={at}")):
        assert time.monotonic() < end, place.kubectl("describe", "pod", "p").stdout
        time.sleep(0.05)
    told: dict[str, object] = json.loads(found)
    return told


def test_a_debugging_shell_with_a_terminal(place: Place) -> None:
    ours, theirs = pty.openpty()
    words = ["debug", "p", "-it", "--image=busybox", "-c", "shell", "--", "env", "PS1=> ", "sh"]
    process = subprocess.Popen(
        [place.kubectl.program, *words],
        env=place.kubectl.environment(),
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    seen, end = b"", time.monotonic() + 15
    os.write(ours, b"echo the answer is $((40+2)); exit 5\n")
    while process.poll() is None:
        assert time.monotonic() < end, seen
        with contextlib.suppress(OSError):  # nobody has its other end open any more
            if select.select([ours], [], [], 0.1)[0]:
                seen += os.read(ours, 4096)
    assert b"the answer is 42" in seen
    assert ended(place, "shell")["exitCode"] == 5
    os.close(ours)


def test_one_without_a_command_is_a_shell_that_reads_its_input(place: Place) -> None:
    done = place.kubectl(
        "debug",
        "p",
        "-i",
        "-q",
        "--image=busybox",
        "-c",
        "reads",
        stdin="echo got $((40+2)); exit\n",
    )
    assert done.stdout == "got 42\n", done.stderr
    assert place.kubectl.ok("logs", "p", "-c", "reads") == "got 42\n"


def test_a_target_shows_its_files_and_others_do_not(place: Place) -> None:
    if place.kubectl("exec", "p", "--", "cat", "/data/here").exit:
        pytest.skip("volumes cannot be mounted here")
    look = ("--", "sh", "-c", "cat /data/here || echo none")
    place.kubectl.ok("debug", "p", "--image=busybox", "-c", "beside", "--target=main", *look)
    place.kubectl.ok("debug", "p", "--image=busybox", "-c", "alone", *look)
    assert ended(place, "beside")["exitCode"] == ended(place, "alone")["exitCode"] == 0
    assert place.kubectl.ok("logs", "p", "-c", "beside") == "found\n"
    assert place.kubectl.ok("logs", "p", "-c", "alone").splitlines()[-1] == "none"


def test_exec_reaches_one_and_describe_shows_it(place: Place) -> None:
    place.kubectl.ok("debug", "p", "--image=busybox", "-c", "stays", "--", "sleep", "1000")
    place.kubectl.ok(
        "wait",
        "pod/p",
        '--for=jsonpath={.status.ephemeralContainerStatuses[?(@.name=="stays")].state.running}',
        "--timeout=10s",
    )
    assert place.kubectl.ok("exec", "p", "-c", "stays", "--", "echo", "inside") == "inside\n"
    assert "Ephemeral Containers:\n" in place.kubectl.ok("describe", "pod", "p")


def test_a_debugging_copy_of_a_pod_runs_beside_it(place: Place) -> None:
    place.kubectl.ok("debug", "p", "--copy-to=copy", "--image=busybox", "-c", "look", "--", "sleep", "1000")
    place.phase("copy", "Running")
    assert place.kubectl.ok("exec", "copy", "-c", "look", "--", "echo", "inside") == "inside\n"
