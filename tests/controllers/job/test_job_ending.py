"""When a Job fails or completes, in which order the conditions come, and what is never revised."""

from __future__ import annotations

from typing import Any

import pytest

from controllers.job.job_scene import Synced, a_job, a_pod, at, indexed, sync
from longshore.controllers.job.decide import before_killing

FAILED = ["FailureTarget=True", "Failed=True"]
COMPLETE = ["SuccessCriteriaMet=True", "Complete=True"]


def status(**more: Any) -> dict[str, Any]:
    return {"startTime": at(-15), "ready": 0, "terminating": 0, **more}


def condition(type: str, value: str = "True", reason: str = "", message: str = "") -> dict[str, Any]:
    return {"type": type, "status": value, "reason": reason, "message": message}


class TestBackoffLimit:
    def test_running_pods_are_killed_and_count_as_failed(self) -> None:
        pods = [a_pod("f", "Failed"), a_pod("a", ready=True), a_pod("b", ready=True)]
        done = sync(a_job(3, 3, backoffLimit=0), *pods)
        assert done.deleted == ["a", "b"]
        assert done.counts("failed", "active", "ready", "terminating") == (3, 0, 0, 2)
        assert done.conditions == ["FailureTarget=True"]
        assert done.reasons == {"BackoffLimitExceeded"}
        assert done.events == []

    def test_failed_follows_when_the_pods_have_ended(self) -> None:
        recorded = condition(
            "FailureTarget",
            reason="BackoffLimitExceeded",
            message="Job has reached the specified backoff limit",
        )
        old = status(failed=3, terminating=2, conditions=[recorded])
        done = sync(a_job(3, 3, backoffLimit=0, status=old), a_pod("a", "Failed", tracked=False))
        assert done.conditions == FAILED
        assert done.status["failed"] == 3
        assert done.events == ["Warning BackoffLimitExceeded"]
        assert done.ending.events[0].message == "Job has reached the specified backoff limit"

    def test_as_many_failures_as_the_limit_are_allowed(self) -> None:
        job = a_job(1, 1, backoffLimit=1)
        assert len(sync(job, a_pod("f", "Failed")).created) == 1
        done = sync(job, a_pod("f", "Failed"), a_pod("g", "Failed"))
        assert done.conditions == FAILED
        assert done.counts("failed", "terminating") == (2, 0)

    def test_no_verdict_while_created_pods_are_unseen(self) -> None:
        done = sync(a_job(3, 3, backoffLimit=0), a_pod("f", "Failed"), a_pod("a"), patience=300.0)
        assert done.conditions == []
        assert done.status["failed"] == 1
        assert done.deleted == []

    def test_the_verdict_is_written_down_before_pods_are_killed_for_it(self) -> None:
        done = sync(a_job(3, 3, backoffLimit=0), a_pod("f", "Failed"), a_pod("a"))
        assert done.deleted == ["a"]
        first = before_killing(done.plan)
        assert first is not None
        assert first.flush
        assert first.status["conditions"][0]["type"] == "FailureTarget"
        assert first.status["uncountedTerminatedPods"] == {"failed": ["f", "a"]}

    def test_pods_that_are_created_or_released_need_no_verdict_first(self) -> None:
        assert before_killing(sync(a_job(3, 3)).plan) is None
        assert before_killing(sync(a_job(0, 3), a_pod("a")).plan) is None

    def test_pods_killed_for_a_verdict_fail_no_index(self) -> None:
        recorded = condition("FailureTarget", reason="MaxFailedIndexesExceeded")
        old = status(failed=2, failedIndexes="0,1", conditions=[recorded])
        job = indexed(3, 3, backoffLimitPerIndex=0, maxFailedIndexes=1, status=old)
        for phase in ("Running", "Failed"):
            done = sync(job, a_pod("a", phase, index=2, failures=0, deleting=True))
            assert done.status["failedIndexes"] == "0,1"
            assert done.status["failed"] == 3

    @pytest.mark.parametrize(
        ("limit", "restarts", "fails"),
        [(1, [1], True), (0, [0], False), (0, [1], True), (2, [1, 1], True), (3, [1, 1], False)],
    )
    @pytest.mark.parametrize("phase", ["Pending", "Running"])
    def test_restarts_in_place_count_with_restart_policy_on_failure(
        self, limit: int, restarts: list[int], fails: bool, phase: str
    ) -> None:
        pods = [a_pod(f"p{n}", phase, restarts=times) for n, times in enumerate(restarts)]
        done = sync(a_job(2, 2, backoffLimit=limit, restart="OnFailure"), *pods)
        assert ("BackoffLimitExceeded" in done.reasons) is fails
        assert done.counts("failed") == (len(pods) if fails else 0,)

    def test_restarts_of_init_containers_count_too(self) -> None:
        pod = a_pod("p")
        pod["status"]["initContainerStatuses"] = [{"name": "i", "restartCount": 1, "state": {}}]
        assert sync(a_job(backoffLimit=1, restart="OnFailure"), pod).reasons == {"BackoffLimitExceeded"}


class TestDeadline:
    def test_a_deadline_of_nothing_fails_at_once(self) -> None:
        done = sync(a_job(1, 1, activeDeadlineSeconds=0, started=None))
        assert done.conditions == FAILED
        assert done.reasons == {"DeadlineExceeded"}
        assert done.created == []

    def test_what_runs_is_killed_and_what_succeeded_counts(self) -> None:
        job = a_job(2, 2, activeDeadlineSeconds=10, started=-15)
        done = sync(job, a_pod("a"), a_pod("s", "Succeeded"))
        assert done.counts("succeeded", "failed", "terminating") == (1, 1, 1)
        assert done.reasons == {"DeadlineExceeded"}

    def test_the_very_second_counts_as_passed(self) -> None:
        assert sync(a_job(activeDeadlineSeconds=15, started=-15)).conditions == FAILED

    def test_it_is_looked_at_again_when_it_passes(self) -> None:
        assert sync(a_job(activeDeadlineSeconds=40, started=-15), a_pod("a")).plan.look_again == 25

    def test_the_backoff_limit_is_the_reason_when_both_are_exceeded(self) -> None:
        job = a_job(activeDeadlineSeconds=10, started=-15, backoffLimit=0)
        assert sync(job, a_pod("f", "Failed")).reasons == {"BackoffLimitExceeded"}

    def test_a_suspended_job_has_no_deadline(self) -> None:
        done = sync(a_job(activeDeadlineSeconds=10, started=-15, suspend=True))
        assert done.conditions == ["Suspended=True"]
        assert done.plan.look_again is None


class TestRecordedVerdicts:
    def test_an_old_failed_false_flips_in_place(self) -> None:
        job = a_job(backoffLimit=0, status=status(conditions=[condition("Failed", "False")]))
        done = sync(job, a_pod("f", "Failed"))
        assert done.conditions == ["Failed=True", "FailureTarget=True"]

    @pytest.mark.parametrize("type", ["FailureTarget", "SuccessCriteriaMet"])
    def test_a_false_interim_condition_is_ignored(self, type: str) -> None:
        done = sync(a_job(status=status(conditions=[condition(type, "False")])))
        assert len(done.created) == 1

    def test_a_failure_on_record_needs_no_evidence(self) -> None:
        recorded = condition("FailureTarget", reason="PodFailurePolicy", message="Pod ns/p said so")
        done = sync(a_job(status=status(conditions=[recorded])))
        assert done.conditions == FAILED
        assert done.status["conditions"][1]["message"] == "Pod ns/p said so"

    def test_a_failure_on_record_stays_although_enough_succeed(self) -> None:
        recorded = status(conditions=[condition("FailureTarget", reason="DeadlineExceeded")])
        job = indexed(2, 2, successPolicy={"rules": [{"succeededCount": 1}]}, status=recorded)
        assert sync(job, a_pod("s", "Succeeded", index=0)).conditions == FAILED

    def test_a_success_on_record_stays_although_a_pod_fails_the_job(self) -> None:
        rule = {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [5]}}
        recorded = status(conditions=[condition("SuccessCriteriaMet", reason="SuccessPolicy")])
        job = indexed(2, 2, podFailurePolicy={"rules": [rule]}, status=recorded)
        done = sync(job, a_pod("f", "Failed", index=1, exit=5))
        assert done.conditions == COMPLETE
        assert done.reasons == {"SuccessPolicy"}


def test_a_terminating_pod_holds_the_end_up_and_an_ended_one_does_not() -> None:
    met = condition("SuccessCriteriaMet", reason="CompletionsReached")
    job = a_job(1, 1, status=status(succeeded=1, conditions=[met]))
    waiting: Synced = sync(job, a_pod("t", deleting=True, tracked=False))
    assert waiting.conditions == ["SuccessCriteriaMet=True"]
    assert "terminating" in waiting.ending.why[0].words
    assert sync(job, a_pod("t", "Failed", deleting=True, tracked=False)).conditions == COMPLETE


def test_leftovers_of_a_succeeded_job_are_not_counted() -> None:
    met = condition("SuccessCriteriaMet", reason="SuccessPolicy")
    job = indexed(3, 3, status=status(completedIndexes="0", succeeded=1, conditions=[met]))
    done = sync(job, a_pod("r", index=1))
    assert done.deleted == ["r"]
    assert done.stripped == ["r"]
    assert done.counts("failed", "succeeded") == (0, 1)


def test_no_completions_are_complete_at_once() -> None:
    assert sync(a_job(1, 0, started=None)).conditions == COMPLETE
