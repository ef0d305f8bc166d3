"""A Job's own pace: annotations for the time between starts, and for the pause before retries."""

from __future__ import annotations

from typing import Any

import pytest

from controllers.job.job_scene import NOW, a_job, a_pod, indexed, sync
from longshore.api.time.backoff import Doubling
from longshore.api.types import Obj
from longshore.controllers.job.pods import pace


def paced(interval: str, job: Obj) -> Obj:
    job["metadata"]["annotations"] = {"longshore.dev/start-interval": interval}
    return job


def indexed_new(parallelism: int, completions: int, **more: Any) -> Obj:
    return indexed(parallelism, completions, started=None, **more)


def test_the_first_pod_starts_at_once_and_the_second_an_interval_later() -> None:
    first = sync(paced("2s", indexed_new(4, 4)))
    assert (first.created_indexes, first.plan.look_again) == ([0], 2)
    waiting = sync(paced("2s", indexed(4, 4)), a_pod("a", index=0), now=1.5, next_start=first.plan.next_start)
    assert (waiting.created, waiting.plan.look_again) == ([], 0.5)
    (why,) = waiting.plan.why
    assert why == ("StartsPaced", {"interval": 2.0, "until": "2026-01-01T12:00:02Z"})
    assert str(why) == (
        "starts a pod every 2 s (longshore.dev/start-interval): the next at 2026-01-01T12:00:02Z"
    )
    second = sync(paced("2s", indexed(4, 4)), a_pod("a", index=0), now=2, next_start=first.plan.next_start)
    assert second.created_indexes == [1]
    assert second.plan.next_start == NOW + 4


def test_a_job_without_indexes_is_paced_too() -> None:
    assert len(sync(paced("1m", a_job(3, 3, started=None))).created) == 1


def test_nothing_is_due_when_the_last_pod_has_started() -> None:
    assert sync(paced("2s", indexed_new(1, 4))).plan.look_again is None


def test_time_that_nobody_needed_is_not_made_up_for() -> None:
    late = sync(paced("2s", indexed(4, 4)), now=60, next_start=NOW + 2)
    assert late.created_indexes == [0]
    assert late.plan.next_start == NOW + 62


def test_many_starts_a_second_are_kept_up_although_wake_ups_come_late() -> None:
    made = sync(paced("1ms", indexed(500, 5000)), now=0.0205, next_start=NOW)
    assert len(made.created) == 21
    assert made.plan.next_start == pytest.approx(NOW + 0.021)


def test_a_burst_after_a_pause_is_a_tenth_of_a_second_at_most() -> None:
    assert len(sync(paced("1ms", indexed(500, 5000)), now=60, next_start=NOW).created) in (100, 101)


def test_a_restarted_controller_waits_a_whole_interval_first() -> None:
    anew = sync(paced("2s", indexed(4, 4)), a_pod("a", index=0))
    assert (anew.created, anew.plan.look_again, anew.plan.next_start) == ([], 2, NOW + 2)


def test_an_index_that_backs_off_does_not_hold_the_next_one_up() -> None:
    job = paced("1s", indexed(3, 3, backoffLimitPerIndex=3))
    done = sync(job, a_pod("f", "Failed", index=0, failures=0, finished=0), next_start=NOW)
    assert done.created_indexes == [1]


@pytest.mark.parametrize("text", ["soon", "", "0s", "-1s", "3"])
def test_an_interval_that_is_none_paces_nothing(text: str) -> None:
    assert len(sync(paced(text, indexed_new(4, 4))).created) == 4


@pytest.mark.parametrize(
    ("text", "pauses"), [("1s", (1, 2, 4)), ("0s", (0, 0, 0)), ("20m", (1200, 1200, 1200))]
)
def test_a_jobs_own_back_off_doubles_from_its_first_pause(text: str, pauses: tuple[float, ...]) -> None:
    job = a_job()
    job["metadata"]["annotations"] = {"longshore.dev/retry-backoff": text}
    own = pace.pauses(job, Doubling(10.0, 600.0))
    assert tuple(own.after(failures) for failures in (1, 2, 3)) == pauses


def test_a_back_off_that_cannot_be_read_is_the_usual_one() -> None:
    job = a_job()
    job["metadata"]["annotations"] = {"longshore.dev/retry-backoff": "later"}
    assert pace.pauses(job, Doubling(10.0, 600.0)).after(2) == 20
