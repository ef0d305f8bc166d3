"""successPolicy: which indexes are enough."""

from __future__ import annotations

from typing import Any

import pytest

from controllers.job.job_scene import a_pod, at, indexed, sync
from longshore.api import indexes
from longshore.controllers.job.ends import outcome


@pytest.mark.parametrize(
    ("rules", "succeeded", "rule"),
    [
        ([{"succeededIndexes": "0,1"}], "0,1", 0),
        ([{"succeededIndexes": "0,1"}], "0", None),
        ([{"succeededIndexes": "0,1", "succeededCount": 1}], "1", 0),
        ([{"succeededIndexes": "0-4", "succeededCount": 3}], "2,4", None),
        ([{"succeededCount": 2}], "5,9", 0),
        ([{"succeededCount": 2}], "5", None),
        ([{"succeededIndexes": "7"}, {"succeededCount": 1}], "2", 1),
        ([{"succeededIndexes": "3,12-40"}], "3", 0),  # all beyond the completions is cut off
        ([{"succeededIndexes": "foo"}], "0-9", None),
        ([{"succeededIndexes": "", "succeededCount": 0}], "0-9", None),
        ([{"succeededCount": 0}], "", None),
    ],
)
def test_rules(rules: list[dict[str, Any]], succeeded: str, rule: int | None) -> None:
    assert outcome.met_rule(rules, 10, indexes.read(succeeded, 10)) == rule


def policy(rule: dict[str, Any], **more: Any) -> Any:
    return indexed(3, 3, successPolicy={"rules": [rule]}, **more)


def test_enough_ends_the_job_and_the_rest_is_not_counted() -> None:
    pods = [
        a_pod("s", "Succeeded", index=1),
        a_pod("f", "Failed", index=0),
        a_pod("r", index=0),
        a_pod("q", index=2),
    ]
    done = sync(policy({"succeededIndexes": "0,1", "succeededCount": 1}), *pods)
    assert done.conditions == ["SuccessCriteriaMet=True"]
    assert done.status["conditions"][0]["reason"] == "SuccessPolicy"
    assert done.status["conditions"][0]["message"] == "Matched rules at index 0"
    assert done.deleted == ["r", "q"]
    assert done.counts("terminating", "failed", "succeeded", "active") == (2, 1, 1, 0)


@pytest.mark.parametrize(
    ("reason", "more"),
    [
        ("BackoffLimitExceeded", {"backoffLimit": 0}),
        (
            "PodFailurePolicy",
            {
                "podFailurePolicy": {
                    "rules": [{"action": "FailJob", "onExitCodes": {"operator": "In", "values": [5]}}]
                }
            },
        ),
        ("MaxFailedIndexesExceeded", {"backoffLimitPerIndex": 0, "maxFailedIndexes": 0}),
    ],
)
def test_failure_wins_when_both_are_met_at_once(reason: str, more: dict[str, Any]) -> None:
    pods = [a_pod("s", "Succeeded", index=0), a_pod("f", "Failed", index=1, exit=5)]
    done = sync(policy({"succeededCount": 1}, **more), *pods)
    assert done.reasons == {reason}


@pytest.mark.parametrize("phase", ["Running", "Failed", "Succeeded"])
def test_pods_killed_because_enough_succeeded_count_nowhere(phase: str) -> None:
    """As after a crash between the deletion of a pod and the removal of its finalizer."""
    recorded = {"type": "SuccessCriteriaMet", "status": "True", "reason": "SuccessPolicy", "message": "m"}
    old = {
        "startTime": at(-9), "ready": 0, "terminating": 1, "succeeded": 1, "completedIndexes": "1",
        "conditions": [recorded],
    }  # fmt: skip
    done = sync(policy({"succeededCount": 1}, status=old), a_pod("r", phase, index=0, deleting=True))
    assert done.stripped == ["r"]
    assert done.counts("succeeded", "failed") == (1, 0)
    assert done.status["completedIndexes"] == "1"
