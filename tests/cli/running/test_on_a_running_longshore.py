"""`longshore run` where a longshore runs already: Jobs stay there, can be resumed, and collide by name."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Iterator

import pytest

from support.longshore_command import Command


@pytest.fixture(scope="module")
def longshore(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Command]:
    command = Command(tmp_path_factory.mktemp("home"))
    up = command.start("up", "--port", "0")
    assert up.stdout is not None
    assert "is ready" in up.stdout.readline()
    yield command
    assert "has stopped" in command.ok("down")
    assert up.wait(10) == 0
    up.communicate()


def test_the_job_stays_with_its_output(longshore: Command) -> None:
    longshore.ok("run", "--name", "kept", "--", "echo", "still here")
    assert longshore.ok("get", "job/kept", "-o", "jsonpath={.status.succeeded}") == "1"
    assert longshore.ok("logs", "job/kept") == "still here\n"


def test_a_name_that_is_taken_is_refused_unless_it_is_to_be_replaced(longshore: Command) -> None:
    longshore.ok("run", "--name", "taken", "--", "true")
    again = longshore("run", "--name", "taken", "--", "true")
    assert again.exit == 2
    assert "'taken' already exists; pass --replace" in again.stderr
    first = longshore.ok("get", "job/taken", "-o", "jsonpath={.metadata.uid}")
    longshore.ok("run", "--name", "taken", "--replace", "--", "true")
    assert longshore.ok("get", "job/taken", "-o", "jsonpath={.metadata.uid}") != first


def test_with_rm_nothing_stays(longshore: Command) -> None:
    longshore.ok("run", "--name", "brief", "--rm", "--", "true")
    assert longshore("wait", "--for=delete", "job/brief", "--timeout=10s").exit == 0


def test_ctrl_c_suspends_and_resume_goes_on_with_the_rest(longshore: Command) -> None:
    ran, gate = longshore.home / "ran", longshore.home / "gate"
    (longshore.home / "items").write_text("a\nb\nc\n")
    words = (
        "sh",
        "-c",
        f"echo $LONGSHORE_ITEM >> {ran}; [ $LONGSHORE_ITEM = a ] || [ -e {gate} ] || exec sleep 600",
    )
    process = longshore.start("run", "--each", "items", "--parallelism", "1", "--name", "rest", "--", *words)
    until = time.monotonic() + 20
    while not ran.exists() or ran.read_text().split() != ["a", "b"]:
        assert time.monotonic() < until, process.kill()
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=20)
    assert process.returncode == 130
    assert "1/3 complete" in said
    assert "it is suspended, go on with: longshore resume job/rest" in said
    longshore.ok("wait", "--for=condition=suspended", "job/rest", "--timeout=10s")
    gate.touch()
    longshore.ok("resume", "job/rest")
    done = longshore("wait", "--for=done", "job/rest", "--timeout=30s")
    assert (done.exit, done.stdout) == (0, "job.batch/rest complete\n")
    assert ran.read_text().split() == ["a", "b", "b", "c"]


def test_throw_away_leaves_the_running_one_alone(longshore: Command) -> None:
    done = longshore("run", "--throw-away", "--name", "apart", "-o", "json", "--", "true")
    assert done.exit == 0, done.stderr
    assert json.loads(done.stdout)["server"] not in longshore.ok("status")
    assert longshore("get", "job/apart").exit == 1
