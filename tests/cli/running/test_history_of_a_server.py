"""`longshore history` with a longshore that runs: Jobs that are there, and those that are gone."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

from longshore.api.types import Obj
from longshore.cli.commands import history
from longshore.cli.commands.history import Row
from support.longshore_command import Command


def check(longshore: Command) -> None:
    rows = json.loads(longshore.ok("history", "-o", "json"))["items"]
    assert sorted((row["name"], row["result"], row["where"]) for row in rows) == [
        ("bad", "failed", "deleted"),
        ("brief", "complete", "deleted"),
        ("good", "complete", "deleted"),
        ("there", "complete", "server"),
    ]
    assert all(re.fullmatch(r"[-\dT:]{19}\.\d{3}Z", row[key]) for row in rows for key in ("begun", "ended"))
    assert any(not row["begun"].endswith(".000Z") for row in rows)
    assert any(not row["ended"].endswith(".000Z") for row in rows)
    (bad,) = (row for row in rows if row["name"] == "bad")
    assert (bad["completions"], bad["succeeded"], bad["failed"]) == (2, 0, 2)
    assert bad["failure"] in ("index 0: exit code 7", "index 1: exit code 7")
    told = longshore.ok("history", "bad", "-A")
    assert "exit code 7" in told
    assert re.search(r"\nthe last words of pod bad-\d-\S+:\n  oh dear\n$", told), told
    for where in ("/namespaces/default", ""):
        listed = json.loads(longshore.ok("get", "--raw", f"/apis/longshore.dev/v1{where}/finishedjobs"))
        assert listed["kind"] == "FinishedJobList"
        assert sorted(each["job"] for each in listed["items"]) == ["bad", "brief", "good", "there"]
        name = listed["items"][0]["metadata"]["name"]
    table = [line.split() for line in longshore.ok("get", "finishedjobs").splitlines()]
    assert (table[0], sorted(row[0].partition(".")[0] for row in table[1:])) == (
        ["NAME", "AGE"],
        ["bad", "brief", "good", "there"],
    )
    one = longshore.ok("get", "--raw", f"/apis/longshore.dev/v1/namespaces/default/finishedjobs/{name}")
    assert json.loads(one)["job"] == "bad"


def test_jobs_are_remembered_after_deletion_ttl_and_a_restart(tmp_path: Path) -> None:
    longshore = Command(tmp_path)
    with longshore.up():
        assert (
            longshore(
                "run", "--name", "bad", "--completions", "2", "--", "sh", "-c", "echo oh dear; exit 7"
            ).exit
            == 1
        )
        longshore.ok("run", "--name", "good", "--rm", "--", "true")
        longshore.ok("run", "--name", "there", "--", "true")
        manifest = longshore.ok("run", "--dry-run", "--name", "brief", "--", "true")
        brief = manifest.replace("spec:\n", "spec:\n  ttlSecondsAfterFinished: 0\n", 1)
        longshore.ok("apply", "-f", "-", stdin=brief)
        for name in ("brief", "good"):
            assert longshore("wait", "--for=delete", f"job/{name}", "--timeout=20s").exit == 0
        longshore.ok("delete", "job/bad")
        check(longshore)
        deadline = time.monotonic() + 30
        while "its pods were removed at 20" not in longshore.ok("history", "bad"):
            assert time.monotonic() < deadline
    with longshore.up():
        check(longshore)


def test_a_retry_on_a_server_comes_after_the_run_of_the_same_second() -> None:
    old = Row("job", "a", "failed", 100.6, 100.7, 1, 0, 1, "throw-away")
    new = Row("job", "a-retry-1", "complete", 100.0, 101.0, 1, 1, 0, "server", retry_of="a")
    assert sorted([new, old], key=history.order) == [old, new]


def test_a_job_that_failed_without_a_reason_has_a_row() -> None:
    """A controller outside (spec.managedBy) may write a condition of a type and a status alone."""
    job: Obj = {
        "metadata": {"name": "a", "namespace": "default", "creationTimestamp": "2026-01-01T00:00:00Z"},
        "spec": {"managedBy": "example.com/other"},
        "status": {"conditions": [{"type": "Failed", "status": "True"}]},
    }
    row = history.of_job(job)
    assert (row.result, row.failure) == ("failed", "")
    told = {**job["status"]["conditions"][0], "reason": "Lost"}
    assert history.of_job({**job, "status": {"conditions": [told]}}).failure == "Lost"


def test_a_job_that_is_gone_and_failed_without_a_reason_has_a_row() -> None:
    record = {
        "metadata": {"name": "a.1", "namespace": "default"},
        "job": "a",
        "result": "failed",
        "endTime": "2026-01-01T00:00:00Z",
        "succeeded": 0,
        "failed": 0,
    }
    assert history.of_finished(record, "deleted").failure == ""
    assert (
        history.of_finished({**record, "message": "its node is away"}, "deleted").failure
        == "its node is away"
    )
