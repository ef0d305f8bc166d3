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
    with command.up():
        yield command


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


def test_run_with_resume_goes_on_in_the_suspended_job(longshore: Command) -> None:
    script = "echo {} >> two; [ {} = a ] || [ -e two-gate ] || exec sleep 600"
    (longshore.home / "ab").write_text("a\nb\n")
    words = ("--each", "ab", "--parallelism", "1", "--name", "two", "--", "sh", "-c", script)
    process = longshore.start("run", *words)
    until = time.monotonic() + 20
    ran = longshore.home / "two"
    while not ran.exists() or ran.read_text().split() != ["a", "b"]:
        assert time.monotonic() < until, process.kill()
        time.sleep(0.02)
    under_way = longshore("run", "--resume", *words)
    assert (under_way.exit, "longshore run --attach job/two" in under_way.stderr) == (1, True)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=20)
    (longshore.home / "two-gate").touch()
    uid = longshore.ok("get", "job/two", "-o", "jsonpath={.metadata.uid}")
    done = longshore("run", "--resume", *words)
    assert done.exit == 0, done.stderr
    assert "job/two has done 1 of 2: the rest is run" in done.stderr
    assert longshore.ok("get", "job/two", "-o", "jsonpath={.metadata.uid}") == uid
    assert ran.read_text().split() == ["a", "b", "b"]
    assert "nothing to run" in longshore("run", "--resume", *words).stderr


def test_run_with_resume_retries_the_last_of_several_failed_jobs(longshore: Command) -> None:
    script = "echo {} >> chain; case {} in b) [ -e chain-b ];; c) [ -e chain-c ];; esac"
    words = ("run", "--resume", "--each", "-", "--name", "chain", "--", "sh", "-c", script)
    assert longshore(*words, stdin="a\nb\nc\n").exit == 1
    (longshore.home / "chain-b").touch()
    second = longshore(*words, stdin="a\nb\nc\n")
    assert "job/chain has done 1 of 3: the rest is run" in second.stderr
    (longshore.home / "chain-c").touch()
    third = longshore(*words, stdin="a\nb\nc\nd\n")
    assert "job/chain-retry-1 has done 2 of 4: the rest is run" in third.stderr
    assert third.exit == 0, third.stderr
    ran = (longshore.home / "chain").read_text()
    assert (ran.count("a"), ran.count("b"), ran.count("c"), ran.count("d")) == (1, 2, 3, 1)
    rows = json.loads(longshore.ok("history", "chain", "-o", "json"))["items"]
    found = [(row["name"], row["retryOf"], row["result"], row["where"]) for row in rows]
    assert sorted(found) == [
        ("chain", "", "failed", "server"),
        ("chain-retry-1", "chain", "failed", "server"),
        ("chain-retry-2", "chain-retry-1", "complete", "server"),
    ]


def test_a_throw_away_run_is_found_beside_the_jobs_of_the_server(longshore: Command) -> None:
    assert (
        longshore("run", "--throw-away", "--name", "aside", "--", "sh", "-c", "echo aside; exit 1").exit == 1
    )
    assert longshore.ok("logs", "job/aside") == "aside\n"
    done = longshore("retry", "aside")
    assert (done.exit, "job/aside-retry-1 is a retry of job/aside" in done.stderr) == (1, True)
    assert longshore.ok("get", "job/aside-retry-1", "-o", "jsonpath={.status.failed}") == "1"
    rows = json.loads(longshore.ok("history", "aside", "-o", "json"))["items"]
    assert [(row["name"], row["where"]) for row in rows] == [
        ("aside-retry-1", "server"),
        ("aside", "throw-away"),
    ]


def test_throw_away_leaves_the_running_one_alone(longshore: Command) -> None:
    done = longshore("run", "--throw-away", "--name", "apart", "-o", "json", "--", "true")
    assert done.exit == 0, done.stderr
    assert json.loads(done.stdout)["server"] not in longshore.ok("status")
    assert longshore("get", "job/apart").exit == 1


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"image": "registry.example/tool:2"}, "does not know what"),
        ({"command": ["true"], "image": 3}, "image"),
    ],
    ids=["image", "field"],
)
def test_a_run_that_is_refused_replaces_nothing(
    longshore: Command, change: dict[str, object], said: str
) -> None:
    longshore.ok("run", "--name", "old", "--replace", "--", "echo", "precious")
    uid = longshore.ok("get", "job/old", "-o", "jsonpath={.metadata.uid}")
    good, bad = ({"name": "main", "image": "i", "command": ["true"]}, {"name": "main", **change})
    text = "\n---\n".join(json.dumps(job(name, box)) for name, box in (("old", good), ("new", bad)))
    refused = longshore("run", "--replace", "-", stdin=text)
    assert (refused.exit, said in refused.stderr) == (2, True), refused.stderr
    assert longshore.ok("get", "job/old", "-o", "jsonpath={.metadata.uid}") == uid
    assert longshore.ok("logs", "job/old") == "precious\n"
    assert longshore("get", "job/new").exit == 1


def job(name: str, container: dict[str, object]) -> dict[str, object]:
    template = {"spec": {"restartPolicy": "Never", "containers": [container]}}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {"template": template},
    }
