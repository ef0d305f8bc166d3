"""podReplacementPolicy: whether a pod that is being deleted counts, and is replaced, at once."""

from __future__ import annotations

from typing import Any

import pytest

from controllers.job.job_scene import a_job, a_pod, at, indexed, sync


def status(**more: Any) -> dict[str, Any]:
    return {"startTime": at(-15), "ready": 0, "terminating": 0, **more}


class TestTerminatingOrFailed:
    def test_a_deleted_pod_fails_and_is_replaced_at_once(self) -> None:
        done = sync(a_job(2, 2), a_pod("a", deleting=True), a_pod("b", deleting=True))
        assert len(done.created) == 2
        assert done.counts("failed", "active", "terminating") == (2, 2, 2)

    def test_when_it_ends_it_is_not_counted_again(self) -> None:
        ended = [a_pod(n, "Failed", deleting=True, tracked=False) for n in "ab"]
        job = a_job(2, 2, status=status(failed=2, active=2, terminating=2))
        done = sync(job, *ended, a_pod("c"), a_pod("d"))
        assert done.counts("failed", "active", "terminating") == (2, 2, 0)

    def test_indexes_of_terminating_pods_run_again(self) -> None:
        done = sync(indexed(2, 5), a_pod("a", index=0, deleting=True))
        assert done.created_indexes == [0, 1]


class TestFailed:
    def test_a_deleted_pod_is_waited_for(self) -> None:
        job = a_job(2, 2, podReplacementPolicy="Failed")
        done = sync(job, a_pod("a", deleting=True), a_pod("b", deleting=True))
        assert done.created == []
        assert done.counts("failed", "active", "terminating") == (0, 0, 2)

    def test_it_counts_and_is_replaced_when_its_phase_says_failed(self) -> None:
        job = a_job(2, 2, podReplacementPolicy="Failed", status=status(terminating=2))
        done = sync(job, *[a_pod(n, "Failed", deleting=True) for n in "ab"])
        assert len(done.created) == 2
        assert done.counts("failed", "active", "terminating") == (2, 2, 0)

    def test_it_may_still_succeed(self) -> None:
        job = a_job(1, 1, podReplacementPolicy="Failed")
        assert sync(job, a_pod("a", "Succeeded", deleting=True)).status["succeeded"] == 1

    def test_an_index_waits_for_its_terminating_pod(self) -> None:
        job = indexed(2, 5, podReplacementPolicy="Failed")
        assert sync(job, a_pod("a", index=0, deleting=True)).created_indexes == [1]

    def test_surplus_is_removed_however_many_terminate(self) -> None:
        pods = [a_pod(f"t{n}", deleting=True) for n in range(4)] + [a_pod("a"), a_pod("b")]
        done = sync(a_job(1, 1, podReplacementPolicy="Failed"), *pods)
        assert len(done.released) == 1
        assert done.counts("active", "terminating") == (1, 5)
        assert done.created == []


@pytest.mark.parametrize("phase", ["Pending", "Running"])
def test_a_failure_policy_waits_for_the_phase_too(phase: str) -> None:
    job = a_job(1, 1, podFailurePolicy={"rules": []})
    done = sync(job, a_pod("a", phase, deleting=True))
    assert done.created == []
    assert done.counts("failed", "terminating") == (0, 1)
