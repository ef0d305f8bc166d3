"""backoffLimitPerIndex: each index has its own failures and its own waits."""

from __future__ import annotations

from typing import Any

import pytest

from controllers.job.job_scene import a_pod, at, indexed, sync
from longshore.controllers.job.spec import INDEX_FAILURES, INDEX_IGNORED_FAILURES

FAILED = ["FailureTarget=True", "Failed=True"]


def per_index(parallelism: int, completions: int, limit: int = 1, **more: Any) -> Any:
    return indexed(parallelism, completions, backoffLimitPerIndex=limit, **more)


def failure_counts(pod: Any) -> tuple[str | None, str | None]:
    annotations = pod["metadata"]["annotations"]
    return annotations.get(INDEX_FAILURES), annotations.get(INDEX_IGNORED_FAILURES)


def test_a_new_index_has_failed_no_times() -> None:
    assert [failure_counts(pod) for pod in sync(per_index(2, 2)).created] == [("0", None)] * 2


def test_the_failed_pod_stays_until_its_replacement_runs() -> None:
    failed = a_pod("f", "Failed", index=0, failures=0)
    first = sync(per_index(1, 2), failed)
    assert first.created_indexes == [0]
    assert failure_counts(first.created[0]) == ("1", None)
    assert first.stripped == []
    assert first.counts("failed") == (0,)
    second = sync(per_index(1, 2), failed, a_pod("r", index=0, failures=1))
    assert second.stripped == ["f"]
    assert second.counts("failed") == (1,)


def test_the_last_failure_of_an_index_leaves_the_others_running() -> None:
    pods = [a_pod("f", "Failed", index=0, failures=1), a_pod("r", index=1, failures=0)]
    done = sync(per_index(2, 3), *pods)
    assert done.status["failedIndexes"] == "0"
    assert done.created_indexes == [2]
    assert done.counts("failed", "active") == (1, 2)
    assert done.conditions == []


def test_an_index_that_failed_stays_failed_though_a_second_pod_of_it_succeeds() -> None:
    job = per_index(2, 2, 0)
    job["status"] = {"failedIndexes": "0"}
    done = sync(job, a_pod("s", "Succeeded", index=0), a_pod("t", "Succeeded", index=1))
    assert (done.status["failedIndexes"], done.status["completedIndexes"]) == ("0", "1")
    assert done.conditions == FAILED


def test_an_index_that_fails_and_succeeds_at_once_succeeds() -> None:
    pods = [a_pod("f", "Failed", index=0, failures=0), a_pod("s", "Succeeded", index=0)]
    done = sync(per_index(1, 1, 0), *pods)
    assert (done.status["failedIndexes"], done.status["completedIndexes"]) == ("", "0")


def test_failed_indexes_are_shown_empty_when_there_are_none() -> None:
    assert sync(per_index(1, 2)).status["failedIndexes"] == ""


def test_with_every_index_at_its_end_one_failed_index_fails_the_job() -> None:
    pods = [a_pod("f", "Failed", index=0, failures=0), a_pod("s", "Succeeded", index=1)]
    done = sync(per_index(2, 2, 0), *pods)
    assert done.conditions == FAILED
    assert done.reasons == {"FailedIndexes"}
    assert (done.status["failedIndexes"], done.status["completedIndexes"]) == ("0", "1")


def test_too_many_failed_indexes_kill_the_rest() -> None:
    pods = [a_pod("f", "Failed", index=0), a_pod("g", "Failed", index=1), a_pod("r", index=2)]
    done = sync(per_index(3, 3, 0, maxFailedIndexes=1), *pods)
    assert done.reasons == {"MaxFailedIndexesExceeded"}
    assert done.deleted == ["r"]
    assert done.counts("failed", "terminating") == (3, 1)


def test_the_limit_of_the_whole_job_holds_as_well() -> None:
    pods = [a_pod("f", "Failed", index=0, failures=0), a_pod("g", "Failed", index=1, failures=0)]
    done = sync(per_index(2, 2, backoffLimit=1), *pods)
    assert done.reasons == {"BackoffLimitExceeded"}
    assert done.status["failedIndexes"] == ""
    assert done.status["failed"] == 2


class TestWithAFailurePolicy:
    def policy(self, action: str) -> Any:
        rule = {"action": action, "onExitCodes": {"operator": "In", "values": [5]}}
        return per_index(2, 2, podFailurePolicy={"rules": [rule]})

    def test_fail_index_needs_no_further_failure(self) -> None:
        done = sync(self.policy("FailIndex"), a_pod("f", "Failed", index=0, failures=0, exit=5))
        assert done.status["failedIndexes"] == "0"
        assert done.status["failed"] == 1
        assert done.created_indexes == [1]

    def test_an_ignored_failure_is_counted_apart(self) -> None:
        failed = a_pod("f", "Failed", index=0, failures=0, exit=5)
        first = sync(self.policy("Ignore"), failed, a_pod("r", index=1))
        assert failure_counts(first.created[0]) == ("0", "1")
        second = sync(self.policy("Ignore"), failed, a_pod("n", index=0), a_pod("r", index=1))
        assert second.counts("failed") == (0,)
        assert second.stripped == ["f"]

    def test_ignored_failures_make_the_wait_longer(self) -> None:
        failed = a_pod("f", "Failed", index=0, failures=0, ignored=2, exit=5, finished=0)
        done = sync(self.policy("Ignore"), failed, a_pod("r", index=1))
        assert done.plan.look_again == 40

    def test_an_ignored_failure_never_fails_the_index(self) -> None:
        done = sync(self.policy("Ignore"), a_pod("f", "Failed", index=0, failures=9, exit=5))
        assert done.status["failedIndexes"] == ""


class TestWaits:
    def test_the_shortest_wait_of_the_indexes_to_run_next_counts(self) -> None:
        pods = [
            a_pod("f", "Failed", index=0, failures=0, finished=-1),
            a_pod("g", "Failed", index=1, failures=1, finished=-1),
            a_pod("r", index=2),
        ]
        done = sync(per_index(3, 3, 5), *pods)
        assert done.created == []
        assert done.plan.look_again == 9
        assert done.status["active"] == 1

    def test_an_index_that_is_due_does_not_wait_for_another(self) -> None:
        pods = [a_pod("f", "Failed", index=0, failures=0, finished=0)]
        done = sync(per_index(2, 5), *pods)
        assert done.created_indexes == [1]

    def test_failures_elsewhere_in_the_job_do_not_delay(self) -> None:
        pods = [a_pod("f", "Failed", index=0, failures=1, finished=0)]
        assert sync(per_index(2, 2), *pods).created_indexes == [1]


@pytest.mark.parametrize("text", ["foo", "-3", "99999999999"])
def test_a_count_that_cannot_be_read_is_none(text: str) -> None:
    done = sync(per_index(1, 1), a_pod("f", "Failed", index=0, failures=text))
    assert failure_counts(done.created[0]) == ("1", None)


def test_of_several_failed_pods_the_one_that_failed_last_is_carried_on() -> None:
    pods = [
        a_pod("f", "Failed", index=0, failures=0, finished=-900),
        a_pod("g", "Failed", index=0, failures=1, finished=-800),
    ]
    done = sync(per_index(1, 1, 3), *pods)
    assert failure_counts(done.created[0]) == ("2", None)
    assert done.stripped == ["f"]


def test_a_deleted_failed_pod_still_hands_its_count_on() -> None:
    done = sync(per_index(1, 1), a_pod("f", "Failed", index=0, failures=0, deleting=True))
    assert failure_counts(done.created[0]) == ("1", None)
    assert done.stripped == []


def test_a_shrunk_job_forgets_failed_indexes_beyond() -> None:
    status = {"startTime": at(-60), "ready": 0, "terminating": 0, "failedIndexes": "0,3", "failed": 2}
    done = sync(per_index(2, 2, status=status), a_pod("r", index=1))
    assert done.status["failedIndexes"] == "0"
