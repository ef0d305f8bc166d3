"""`jobretries` and `cronjobcalendars` of longshore.dev, which the dashboard asks for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from support.longshore_process import RunningLongshore, longshore_up

JOBS = "/apis/batch/v1/namespaces/default/jobs"
RETRIES = "/apis/longshore.dev/v1/namespaces/default/jobretries"
POD = {"restartPolicy": "Never", "containers": [{"name": "main", "image": "local", "command": ["true"]}]}
MERGE = "application/merge-patch+json"


@pytest.fixture(scope="module")
def longshore() -> Iterator[RunningLongshore]:
    with longshore_up("--in-memory", "--no-node") as running:
        yield running


def ended(longshore: RunningLongshore, name: str, end: str, **status: Any) -> None:
    """A Job with this status, as its controller would have left it."""
    spec = {
        "completions": 5,
        "completionMode": "Indexed",
        "backoffLimitPerIndex": 0,
        "template": {"spec": POD},
        "managedBy": "example.com/nobody",
    }
    longshore.made("POST", JOBS, {"metadata": {"name": name}, "spec": spec})
    at = "2026-01-01T00:00:00Z"
    before = "SuccessCriteriaMet" if end == "Complete" else "FailureTarget"
    conditions = [
        {"type": each, "status": "True", "lastTransitionTime": at, "reason": "R", "message": "m"}
        for each in (before, end)
    ]
    whole = {"startTime": at, "conditions": conditions, **status}
    if end == "Complete":
        whole["completionTime"] = at
    longshore.made("PATCH", f"{JOBS}/{name}/status", {"status": whole}, content_type=MERGE)


def test_a_retry_runs_what_did_not_complete_and_both_jobs_name_each_other(
    longshore: RunningLongshore,
) -> None:
    ended(longshore, "half", "Failed", completedIndexes="0,2,4", failedIndexes="1,3", succeeded=3, failed=2)
    made = longshore.made("POST", RETRIES, {"job": "half"})
    assert made["status"] == {"job": "half-retry-1", "runs": "indexes 1,3"}
    new = longshore.made("GET", f"{JOBS}/half-retry-1")
    assert (new["status"]["completedIndexes"], new["spec"]["suspend"]) == ("0,2,4", False)
    assert new["metadata"]["annotations"]["longshore.dev/retry-of"] == "half"
    old = longshore.made("GET", f"{JOBS}/half")
    assert old["metadata"]["annotations"]["longshore.dev/retried-by"] == "half-retry-1"


def test_what_cannot_be_retried_is_refused_with_its_reason(longshore: RunningLongshore) -> None:
    ended(longshore, "whole", "Complete", completedIndexes="0-4", succeeded=5)
    code, answer = longshore.request("POST", RETRIES, {"job": "whole"})
    assert (code, "is complete" in answer["message"]) == (400, True)
    assert longshore.made("POST", RETRIES, {"job": "whole", "all": True})["status"]["runs"] == "everything"
    code, answer = longshore.request("POST", RETRIES, {"job": "whole-retry-1"})
    assert (code, "has not ended" in answer["message"]) == (400, True)
    code, answer = longshore.request("POST", RETRIES, {"jobs": "whole"})
    assert (code, answer["message"].startswith('a retry is {"job": NAME')) == (400, True)
    assert longshore.request("POST", RETRIES, {"job": "none"})[0] == 404


def test_a_calendar_is_in_the_zone_of_the_schedule_and_looks_two_months_ahead(
    longshore: RunningLongshore,
) -> None:
    where = "/apis/batch/v1/namespaces/default/cronjobs"
    spec = {
        "schedule": "30 2 * * *",
        "timeZone": "Europe/Berlin",
        "jobTemplate": {"spec": {"template": {"spec": POD}}},
    }
    longshore.made("POST", where, {"metadata": {"name": "nightly"}, "spec": spec})
    calendars = "/apis/longshore.dev/v1/namespaces/default/cronjobcalendars"
    found = longshore.made("GET", f"{calendars}/nightly")
    assert (found["kind"], found["zone"], found["notes"]) == ("CronJobCalendar", "Europe/Berlin", [])
    assert 60 <= len(found["upcoming"]) <= 63
    assert all(" 02:30 " in run["wall"] or run.get("note") for run in found["upcoming"])
    assert longshore.request("GET", f"{calendars}/none")[0] == 404
