"""`run --attach` and `resume --follow`: the display of a run comes back, and leaves the run alone."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.longshore_command import Command


@pytest.fixture(scope="module")
def longshore(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Command]:
    command = Command(tmp_path_factory.mktemp("home"))
    with command.up():
        yield command


def gated(longshore: Command, name: str) -> tuple[subprocess.Popen[str], Path]:
    """A run of two items, of which the second waits until the gate is there. Returns when it waits."""
    ran, gate = longshore.home / f"{name}-ran", longshore.home / f"{name}-gate"
    script = f"echo {{}} >> {ran}; [ {{}} = a ] || while [ ! -e {gate} ]; do sleep 0.05; done; echo {{}} out"
    items = longshore.home / f"{name}-items"
    items.write_text("a\nb\n")
    words = ("--each", str(items), "--parallelism", "1", "--name", name)
    process = longshore.start("run", *words, "--", "sh", "-c", script)
    until = time.monotonic() + 20
    while not ran.exists() or ran.read_text().split() != ["a", "b"]:
        assert time.monotonic() < until, process.kill()
        time.sleep(0.02)
    return process, gate


def said_first(process: subprocess.Popen[str]) -> str:
    assert process.stderr is not None
    return process.stderr.readline()


def test_whoever_attaches_sees_the_end_and_its_exit_code(longshore: Command) -> None:
    first, gate = gated(longshore, "seen")
    second = longshore.start("run", "--attach", "job/seen", "--logs")
    assert said_first(second).startswith("job/seen 1/2 complete, 1 active")
    gate.touch()
    out, said = second.communicate(timeout=30)
    assert second.returncode == 0, said
    assert "job/seen complete in" in said
    assert sorted(out.splitlines()) == ["[seen-0] a out", "[seen-1] b out"]
    first.communicate(timeout=30)
    assert first.returncode == 0


def test_ctrl_c_leaves_an_attached_run_as_it_is(longshore: Command) -> None:
    first, gate = gated(longshore, "left")
    second = longshore.start("run", "--attach", "left")
    assert "1/2 complete" in said_first(second)
    second.send_signal(signal.SIGINT)
    _, said = second.communicate(timeout=20)
    assert second.returncode == 130
    assert "job/left goes on: 1/2 complete" in said
    assert longshore.ok("get", "job/left", "-o", "jsonpath={.spec.suspend}") == "false"
    gate.touch()
    first.communicate(timeout=30)
    assert first.returncode == 0


def test_a_run_that_has_ended_shows_how(longshore: Command) -> None:
    assert longshore("run", "--name", "over", "--completions", "2", "--", "false").exit == 1
    done = longshore("run", "--attach", "job/over", "-o", "json")
    assert done.exit == 1
    (run,) = json.loads(done.stdout)["runs"]
    assert (run["result"], run["failedIndexes"]) == ("failed", "0,1")
    assert len(run["failures"]) == 2


def test_resume_with_follow_shows_the_rest_to_its_end(longshore: Command) -> None:
    first, gate = gated(longshore, "goes-on")
    first.send_signal(signal.SIGINT)
    first.communicate(timeout=20)
    gate.touch()
    done = longshore("resume", "--follow", "job/goes-on")
    assert (done.exit, done.stdout) == (0, "job.batch/goes-on resumed\n")
    assert "job/goes-on complete in" in done.stderr


def test_items_of_an_attached_run_have_their_names(longshore: Command) -> None:
    words = ("run", "--each", "-", "--name", "named", "--", "sh", "-c", "[ {} = good ]")
    assert longshore(*words, stdin="good\nbad\n").exit == 1
    done = longshore("run", "--attach", "job/named")
    assert "job/named index 1 (bad) failed: exit code 1" in done.stderr


@pytest.mark.parametrize("words", [("--attach", "job/x", "--", "true"), ("--attach", "queue/x")])
def test_what_cannot_be_attached_to_is_refused(longshore: Command, words: tuple[str, ...]) -> None:
    assert longshore("run", *words).exit == 2


def test_without_a_longshore_there_is_nothing_to_attach_to(tmp_path: Path) -> None:
    done = Command(tmp_path)("run", "--attach", "job/x")
    assert done.exit == 1
    assert "no longshore runs here" in done.stderr
