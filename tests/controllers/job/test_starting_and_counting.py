"""How many pods run, and how ended ones enter the counters."""

from __future__ import annotations

import msgspec
import pytest

from controllers.job.job_scene import NOW, a_job, a_pod, at, sync
from longshore.controllers.job.decide import decide
from longshore.controllers.job.pods.roll import Roll
from longshore.controllers.job.view import BackoffRecord, JobView
from longshore.machinery.reasons import Reason


@pytest.mark.parametrize("completions", [5, None])
def test_a_new_job_starts_as_many_pods_as_may_run_together(completions: int | None) -> None:
    done = sync(a_job(2, completions, started=None))
    assert len(done.created) == 2
    assert done.status == {
        "active": 2,
        "ready": 0,
        "terminating": 0,
        "startTime": at(0),
        "uncountedTerminatedPods": {},
    }
    assert len(done.writes) == 1


def test_a_success_is_counted_and_replaced() -> None:
    done = sync(a_job(2, 5), a_pod("a"), a_pod("s", "Succeeded"))
    assert len(done.created) == 1
    assert done.stripped == ["s"]
    assert [w.get("uncountedTerminatedPods") for w in done.writes] == [{"succeeded": ["s"]}, {}]
    assert [w.get("succeeded") for w in done.writes] == [None, 1]
    assert done.counts("active", "succeeded", "failed") == (2, 1, 0)


def test_a_failed_create_leaves_the_pod_out_of_the_active_ones() -> None:
    done = sync(a_job(2, 5), a_pod("a"), failed_creates=1)
    assert done.status["active"] == 1


def test_a_finalizer_that_stays_keeps_the_pod_listed_and_uncounted() -> None:
    done = sync(a_job(2, 5), a_pod("s", "Succeeded"), a_pod("f", "Failed"), failed_strips=["s", "f"])
    assert done.status["uncountedTerminatedPods"] == {"succeeded": ["s"], "failed": ["f"]}
    assert done.counts("succeeded", "failed") == (0, 0)
    assert not done.ending.flush


def test_partial_progress_of_finalizers_is_written_down() -> None:
    done = sync(a_job(2, 5), a_pod("s", "Succeeded"), a_pod("t", "Succeeded"), failed_strips=["t"])
    assert done.status["uncountedTerminatedPods"] == {"succeeded": ["t"]}
    assert done.status["succeeded"] == 1
    assert done.ending.flush


def test_a_pod_that_was_written_down_as_failed_completes_no_job() -> None:
    """It succeeded just when it was deleted, and counts as one thing only."""
    status = {
        "startTime": at(-60),
        "ready": 0,
        "terminating": 0,
        "uncountedTerminatedPods": {"failed": ["s"]},
    }
    done = sync(a_job(1, 1, status=status), a_pod("s", "Succeeded", deleting=True))
    assert done.conditions == []
    assert len(done.created) == 1
    assert done.counts("active", "succeeded", "failed") == (1, 0, 1)


def test_surplus_pods_are_released_without_counting() -> None:
    pods = [a_pod(n, ready=True) for n in "abc"]
    done = sync(a_job(2, 5), *pods)
    assert len(done.released) == 1
    assert done.counts("active", "ready", "terminating", "failed") == (2, 2, 1, 0)
    assert done.created == []


def test_no_more_pods_are_wanted_than_completions_are_left() -> None:
    pods = [a_pod(n) for n in "abc"] + [a_pod(n, "Succeeded") for n in "st"]
    done = sync(a_job(3, 4), *pods)
    assert len(done.released) == 1
    assert done.counts("active", "succeeded", "terminating") == (2, 2, 1)


def test_a_failed_removal_leaves_the_pod_active() -> None:
    pods = [a_pod(n, ready=True) for n in "abc"]
    done = sync(a_job(2, 5), *pods, failed_deletes="abc")
    assert done.counts("active", "ready", "terminating") == (3, 3, 0)


def test_all_completions_make_the_job_complete_in_two_writes() -> None:
    done = sync(a_job(2, 5), *[a_pod(n, "Succeeded") for n in "abcde"])
    first, second = done.writes
    assert [c["type"] for c in first["conditions"]] == ["SuccessCriteriaMet"]
    assert "completionTime" not in first
    assert done.conditions == ["SuccessCriteriaMet=True", "Complete=True"]
    assert done.reasons == {"CompletionsReached"}
    assert second["completionTime"] == at(0)
    assert second["succeeded"] == 5
    assert done.events == ["Normal Completed"]


def test_more_successes_than_wanted_are_remarked() -> None:
    done = sync(a_job(1, 1), a_pod("a", "Succeeded"), a_pod("b", "Succeeded"))
    assert done.events == ["Warning TooManySucceededPods", "Normal Completed"]


class TestWorkQueues:
    """Jobs without completions."""

    def test_after_a_success_it_waits_for_the_others(self) -> None:
        done = sync(a_job(2, None), a_pod("s", "Succeeded"), a_pod("a"))
        assert done.created == []
        assert done.conditions == []
        assert done.counts("active", "succeeded") == (1, 1)

    def test_it_is_complete_when_nothing_runs_any_more(self) -> None:
        done = sync(a_job(2, None), a_pod("s", "Succeeded"), a_pod("f", "Failed"))
        assert done.conditions == ["SuccessCriteriaMet=True", "Complete=True"]
        assert done.counts("succeeded", "failed") == (1, 1)

    def test_after_a_success_failures_are_not_replaced(self) -> None:
        status = {"startTime": at(-60), "succeeded": 1, "active": 4, "ready": 0, "terminating": 0}
        pods = [a_pod("a"), a_pod("b"), a_pod("f", "Failed"), a_pod("g", "Failed")]
        done = sync(a_job(5, None, status=status), *pods)
        assert done.created == []
        assert done.counts("active", "failed") == (2, 2)

    def test_after_a_success_parallelism_is_ignored(self) -> None:
        status = {"startTime": at(-60), "succeeded": 1, "active": 2, "ready": 0, "terminating": 0}
        done = sync(a_job(0, None, status=status), a_pod("a"), a_pod("b"))
        assert done.released == []


def test_nothing_to_do_writes_nothing() -> None:
    status = {"startTime": at(-60), "active": 1, "ready": 1, "terminating": 0, "uncountedTerminatedPods": {}}
    done = sync(a_job(1, 1, status=status), a_pod("a", ready=True))
    assert done.writes == []


def test_unseen_pods_stop_creation_but_not_counting() -> None:
    done = sync(a_job(2, 5), a_pod("s", "Succeeded"), patience=300.0)
    assert done.created == []
    assert done.status["succeeded"] == 1


def test_a_pod_whose_finalizer_is_on_its_way_out_is_not_counted_again() -> None:
    status = {"startTime": at(-60), "succeeded": 1, "active": 1, "ready": 0, "terminating": 0}
    done = sync(a_job(2, 2, status=status), a_pod("s", "Succeeded"), a_pod("a"), going=frozenset("s"))
    assert done.stripped == []
    assert done.writes == []


class TestDeletedJobs:
    """Jobs with a deletionTimestamp."""

    def test_all_finalizers_go_and_ended_pods_are_counted(self) -> None:
        pods = [a_pod("s", "Succeeded"), a_pod("f", "Failed"), a_pod("r")]
        done = sync(a_job(3, 3, deleting=True), *pods)
        assert done.stripped == ["s", "f", "r"]
        assert done.counts("succeeded", "failed", "active") == (1, 1, 1)
        assert done.created == []

    def test_nothing_is_removed_either(self) -> None:
        done = sync(a_job(1, 3, deleting=True), a_pod("a"), a_pod("b"))
        assert (done.released, done.deleted) == ([], [])


class TestLimits:
    """How much one sync does at most."""

    def test_five_hundred_pods_are_created_at_once(self) -> None:
        assert len(sync(a_job(900, 900)).created) == 500

    def test_five_hundred_pods_are_removed_at_once(self) -> None:
        done = sync(a_job(0, 900), *[a_pod(f"p{n}") for n in range(600)])
        assert len(done.released) == 500
        assert done.counts("active", "terminating") == (100, 500)

    def test_a_full_list_of_uncounted_pods_makes_the_rest_wait(self) -> None:
        status = {
            "startTime": at(-60),
            "ready": 0,
            "terminating": 0,
            "uncountedTerminatedPods": {"failed": ["gone", "b"]},
        }
        pods = [a_pod(f"s{n}", "Succeeded") for n in range(500)] + [a_pod("b", "Failed")]
        done = sync(a_job(500, 500, status=status), *pods)
        first = done.writes[0]
        assert first["failed"] == 1
        assert len(first["uncountedTerminatedPods"]["succeeded"]) == 499
        assert first["uncountedTerminatedPods"]["failed"] == ["b"]
        assert "b" not in done.stripped
        assert done.conditions == ["SuccessCriteriaMet=True"]
        assert done.counts("succeeded", "failed") == (499, 1)

    def test_indexes_that_succeeded_count_towards_the_limit(self) -> None:
        job = a_job(600, 600, completionMode="Indexed")
        done = sync(job, *[a_pod(f"s{n}", "Succeeded", index=n) for n in range(600)])
        assert len(done.stripped) == 500
        assert done.status["completedIndexes"] == "0-599"
        assert done.conditions == ["SuccessCriteriaMet=True"]


def test_a_pod_listed_as_failed_is_counted_as_failed_only() -> None:
    status = {
        "startTime": at(-60),
        "ready": 0,
        "terminating": 0,
        "uncountedTerminatedPods": {"failed": ["p"]},
    }
    done = sync(a_job(1, 1, status=status), a_pod("p", "Succeeded"))
    assert done.status["failed"] == 1
    assert done.tracking.status["uncountedTerminatedPods"] == {"failed": ["p"]}


def test_the_plan_says_why() -> None:
    numbers = {"pods": 2, "active": 0, "parallelism": 2, "completions": 5}
    assert sync(a_job(2, 5)).plan.why == (Reason("PodsCreated", numbers),)


def test_a_saved_view_gives_the_same_plan() -> None:
    pods = [a_pod("a"), a_pod("s", "Succeeded"), a_pod("f", "Failed")]
    seen = JobView(
        a_job(2, 5), NOW, Roll.of(pods), [], going=frozenset(("gone",)), backoff=BackoffRecord(1, (NOW - 3,))
    )
    loaded = msgspec.json.decode(msgspec.json.encode(seen), type=JobView)
    assert loaded == seen
    assert decide(loaded) == decide(seen)
