"""podFailurePolicy: what a rule matches and what it does."""

from __future__ import annotations

from typing import Any

import pytest

from controllers.job.job_scene import a_job, a_pod, at, sync

FAILED = ["FailureTarget=True", "Failed=True"]
DISRUPTION = {"type": "DisruptionTarget", "status": "True"}


def codes(action: str, *values: int, operator: str = "In", container: str | None = None) -> dict[str, Any]:
    on: dict[str, Any] = {"operator": operator, "values": list(values)}
    if container is not None:
        on["containerName"] = container
    return {"action": action, "onExitCodes": on}


def condition(action: str, type: str = "DisruptionTarget", status: str = "True") -> dict[str, Any]:
    return {"action": action, "onPodConditions": [{"type": type, "status": status}]}


def policy(*rules: dict[str, Any], **more: Any) -> Any:
    return a_job(2, 2, podFailurePolicy={"rules": list(rules)}, **more)


def test_an_exit_code_fails_the_job() -> None:
    job = policy(codes("Ignore", 3), codes("FailJob", 5))
    done = sync(job, a_pod("p", "Failed", exit=5))
    assert done.conditions == FAILED
    assert done.reasons == {"PodFailurePolicy"}
    assert done.status["conditions"][1]["message"] == (
        "Container main for pod ns/p failed with exit code 5 matching FailJob rule at index 1"
    )
    assert done.status["failed"] == 1
    assert done.tracking.policy_actions == {"FailJob": 1}


def test_a_pod_condition_fails_the_job() -> None:
    done = sync(policy(condition("FailJob")), a_pod("p", "Failed", conditions=[DISRUPTION]))
    assert done.status["conditions"][0]["message"] == (
        "Pod ns/p has condition DisruptionTarget matching FailJob rule at index 0"
    )


UNSTARTABLE = {"type": "longshore.dev/Unstartable", "status": "True"}
PATIENCE = {"longshore.dev/fail-unstartable-after": "30s"}


def restarting(restart: str, annotations: dict[str, str], **more: Any) -> Any:
    job = a_job(2, 2, **more)
    job["spec"]["template"]["metadata"]["annotations"] = annotations
    job["spec"]["template"]["spec"]["restartPolicy"] = restart
    return job


def test_a_job_that_restarts_containers_fails_with_a_pod_that_can_never_start() -> None:
    job = restarting("OnFailure", PATIENCE)
    done = sync(job, a_pod("p", "Failed", conditions=[UNSTARTABLE]))
    assert done.conditions == FAILED
    assert done.status["conditions"][0]["message"] == (
        "Pod ns/p has condition longshore.dev/Unstartable, so no other pod of the Job would start"
    )
    assert sync(job, counted_failures=[a_pod("p", "Failed", conditions=[UNSTARTABLE])]).conditions == FAILED
    assert sync(job, a_pod("p", "Failed", conditions=[DISRUPTION])).conditions == []


@pytest.mark.parametrize(
    "job",
    [
        restarting("Never", PATIENCE),
        restarting("OnFailure", {}),
        restarting("Never", PATIENCE, podFailurePolicy={"rules": [condition("Count")]}),
    ],
    ids=["a Job that may have a policy", "without the annotation", "with a policy of its own"],
)
def test_no_other_job_does(job: Any) -> None:
    assert sync(job, a_pod("p", "Failed", conditions=[UNSTARTABLE])).conditions == []


def test_a_pod_counted_before_is_still_evidence() -> None:
    done = sync(policy(codes("FailJob", 5)), counted_failures=[a_pod("p", "Failed", exit=5, tracked=False)])
    assert done.conditions == FAILED


def test_a_running_pod_is_not_judged() -> None:
    pod = a_pod("p")
    pod["status"]["containerStatuses"] = [
        {"name": "main", "restartCount": 0, "state": {"terminated": {"exitCode": 5, "finishedAt": at(0)}}}
    ]
    assert sync(policy(codes("FailJob", 5)), pod).conditions == []


@pytest.mark.parametrize(
    ("rule", "exits", "matches"),
    [
        (codes("FailJob", 5), {"main": 5}, True),
        (codes("FailJob", 5), {"main": 6}, False),
        (codes("FailJob", 5, container="side"), {"main": 5}, False),
        (codes("FailJob", 5, container="side"), {"main": 1, "side": 5}, True),
        (codes("FailJob", 5, operator="NotIn"), {"main": 0, "side": 5}, False),
        (codes("FailJob", 7, operator="NotIn"), {"main": 0, "side": 5}, True),
        (codes("FailJob", 0, operator="NotIn"), {"main": 0}, False),
        (codes("FailJob", -1073741510), {"main": -1073741510}, True),
        (codes("FailJob", 5, operator="Almost"), {"main": 5}, False),
        (codes("Explode", 5), {"main": 5}, False),
    ],
)
def test_exit_codes(rule: dict[str, Any], exits: dict[str, int], matches: bool) -> None:
    done = sync(policy(rule), a_pod("p", "Failed", exit=exits))
    assert ("PodFailurePolicy" in done.reasons) is matches
    assert done.status["failed"] == 1


def test_exit_codes_of_init_containers_count() -> None:
    pod = a_pod("p", "Failed", exit={})
    pod["status"]["initContainerStatuses"] = [
        {"name": "init", "state": {"terminated": {"exitCode": 5, "finishedAt": at(-99)}}}
    ]
    done = sync(policy(codes("FailJob", 5)), pod)
    assert done.status["conditions"][0]["message"].startswith("Container init for pod ns/p")


@pytest.mark.parametrize("wanted", ["True", "False", "Unknown"])
@pytest.mark.parametrize("found", ["True", "False", "Unknown"])
def test_a_condition_matches_its_own_status_only(wanted: str, found: str) -> None:
    pod = a_pod("p", "Failed", conditions=[{"type": "Custom", "status": found}])
    done = sync(policy(condition("FailJob", "Custom", wanted)), pod)
    assert ("PodFailurePolicy" in done.reasons) is (wanted == found)


def test_an_ignored_failure_is_replaced_and_not_counted() -> None:
    job = policy(codes("Ignore", 5), backoffLimit=0)
    done = sync(job, a_pod("p", "Failed", exit=5))
    assert len(done.created) == 2
    assert done.counts("failed") == (0,)
    assert done.stripped == ["p"]
    assert done.tracking.policy_actions == {"Ignore": 1}


def test_an_ignored_failure_delays_its_replacement() -> None:
    done = sync(policy(codes("Ignore", 5)), a_pod("p", "Failed", exit=5, finished=0))
    assert done.created == []
    assert done.plan.look_again == 10


@pytest.mark.parametrize(("first", "fails"), [("Count", False), ("FailJob", True)])
def test_only_the_first_rule_that_matches_acts(first: str, fails: bool) -> None:
    second = "Count" if first == "FailJob" else "FailJob"
    job = policy(codes(first, 5), codes(second, 5))
    done = sync(job, a_pod("p", "Failed", exit=5))
    assert ("PodFailurePolicy" in done.reasons) is fails
    assert done.status["failed"] == 1
    assert done.tracking.policy_actions == {first: 1}


def test_pods_killed_by_the_failing_job_are_judged_too() -> None:
    job = policy(codes("FailJob", 5), condition("Ignore"))
    pods = [a_pod("p", "Failed", exit=5), a_pod("r", conditions=[DISRUPTION])]
    done = sync(job, *pods)
    assert done.deleted == ["r"]
    assert done.status["failed"] == 1
    assert done.tracking.policy_actions == {"FailJob": 1, "Ignore": 1}
