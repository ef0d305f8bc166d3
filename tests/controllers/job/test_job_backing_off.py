"""How long replacements wait after failures."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controllers.job.job_scene import NOW, a_job, a_pod, at, sync
from longshore.api.time import rfc3339
from longshore.api.time.backoff import Doubling
from longshore.controllers.job.pods import pod_facts, replacement_delay
from longshore.controllers.job.view import NO_FAILURES, REPLACEMENT_PAUSES, BackoffRecord


def test_a_failure_just_now_makes_the_replacement_wait() -> None:
    done = sync(a_job(1, 1), a_pod("f", "Failed", finished=0))
    assert done.created == []
    assert done.plan.look_again == 10
    assert done.status["failed"] == 1
    failed, waits = done.plan.why
    assert failed.words == "pod f failed: exit code 1 in container main"
    assert waits.words.startswith("1 pod failed in a row: no new pod before ")
    assert waits.numbers["failures"] == 1


def test_while_it_waits_what_runs_is_still_reported() -> None:
    done = sync(a_job(2, 5), a_pod("f", "Failed", finished=0), a_pod("a", ready=True))
    assert done.counts("active", "ready") == (1, 1)
    assert done.created == []


def test_the_wait_is_never_shorter_than_a_second() -> None:
    assert sync(a_job(), a_pod("f", "Failed", finished=-10), now=-0.2).plan.look_again == 1


def test_a_success_no_earlier_than_the_failure_takes_the_wait_away() -> None:
    for success in (-3, 0):
        done = sync(
            a_job(2, 5),
            a_pod("f", "Failed", finished=-3),
            a_pod("s", "Succeeded", finished=success),
            a_pod("a"),
        )
        assert len(done.created) == 1
        assert done.status["failed"] == 1


@pytest.mark.parametrize(
    ("failures", "wait"),
    [(0, 0), (1, 10), (2, 20), (3, 40), (4, 80), (5, 160), (6, 320), (7, 600), (8, 600), (5000, 600)],
)
def test_the_wait_doubles_up_to_ten_minutes(failures: int, wait: float) -> None:
    record = BackoffRecord(failures, (NOW,) if failures else ())
    assert replacement_delay.remaining(record, NOW, REPLACEMENT_PAUSES) == wait


def test_simultaneous_failures_each_count() -> None:
    done = sync(a_job(5, 5), *[a_pod(n, "Failed", finished=0) for n in "abcde"])
    assert done.plan.look_again == 160
    assert done.plan.backoff == BackoffRecord(5, (NOW,) * 5)


def test_failures_add_up_over_syncs_until_a_success() -> None:
    before = BackoffRecord(2, (NOW - 40, NOW - 30))
    record = replacement_delay.draft(before, [], [a_pod("f", "Failed", finished=-5)])
    assert record == BackoffRecord(3, (NOW - 40, NOW - 30, NOW - 5))
    assert replacement_delay.draft(record, [], []) is record
    succeeded = a_pod("s", "Succeeded", finished=-5)
    assert replacement_delay.draft(record, [succeeded], []) == BackoffRecord(last_success=NOW - 5)


def test_failures_that_ended_before_a_success_do_not_count_however_late_they_are_heard_of() -> None:
    succeeded = sync(a_job(3, 5), a_pod("s", "Succeeded", finished=-1), a_pod("a"), a_pod("b"))
    assert len(succeeded.created) == 1
    failed = [a_pod(name, "Failed", finished=-2) for name in "ab"]
    done = sync(a_job(3, 5), *failed, a_pod("c"), backoff=succeeded.plan.backoff)
    assert len(done.created) == 2


def test_a_failure_in_the_second_of_a_success_that_was_heard_of_before_counts() -> None:
    record = BackoffRecord(last_success=NOW)
    assert replacement_delay.draft(record, [], [a_pod("f", "Failed", finished=0)]).failures == 1


def test_a_success_that_says_nothing_of_its_end_takes_the_wait_away() -> None:
    pod = a_pod("s", "Succeeded", created=-60)
    pod["status"].pop("containerStatuses")
    record = BackoffRecord(2, (NOW - 40, NOW - 30))
    assert replacement_delay.draft(record, [pod], []).failures == 0


@given(st.lists(st.integers(-100, 0), max_size=90), st.randoms())
def test_the_order_of_news_does_not_matter(seconds: list[int], dice: random.Random) -> None:
    """Pods that end in a second of an even number succeed; the others fail."""
    ends = [(second % 2 == 0, second) for second in seconds]
    pods = [
        a_pod(f"p{n}", "Succeeded" if well else "Failed", finished=at, created=-200)
        for n, (well, at) in enumerate(ends)
    ]
    by_end = {
        well: [pod for pod, (is_well, _) in zip(pods, ends, strict=True) if is_well is well]
        for well in (True, False)
    }
    together = replacement_delay.draft(NO_FAILURES, by_end[True], by_end[False])
    dice.shuffle(pods)
    one_by_one = NO_FAILURES
    for pod in pods:
        well = pod["status"]["phase"] == "Succeeded"
        one_by_one = replacement_delay.draft(one_by_one, [pod] if well else [], [] if well else [pod])
    assert one_by_one.recent == together.recent
    assert one_by_one.last_success == together.last_success
    assert min(one_by_one.failures, 64) == min(together.failures, 64)


def test_with_successes_only_the_failures_after_the_last_of_them_count() -> None:
    succeeded = [a_pod("s", "Succeeded", finished=-20), a_pod("t", "Succeeded", finished=-10)]
    failed = [a_pod(f"f{t}", "Failed", finished=t) for t in (-30, -15, -5, -3)]
    record = replacement_delay.draft(BackoffRecord(7, (NOW - 12,)), succeeded, failed)
    assert record == BackoffRecord(2, (NOW - 5, NOW - 3), NOW - 10)


def test_the_times_can_be_set() -> None:
    done = sync(a_job(), a_pod("f", "Failed", finished=0), times=Doubling(3, 4))
    assert done.plan.look_again == 3


class TestFinishTimes:
    """Which witness tells when a pod ended."""

    def test_the_last_container_to_end(self) -> None:
        pod = a_pod("p", "Failed", exit={"a": 1, "b": 0}, finished=-50)
        pod["status"]["containerStatuses"][1]["state"]["terminated"]["finishedAt"] = at(-20)
        assert pod_facts.finish_time(pod) == NOW - 20

    def test_a_sidecar_counts_and_other_init_containers_do_not(self) -> None:
        pod = a_pod("p", "Failed", finished=-50)
        pod["spec"]["initContainers"] = [{"name": "side", "restartPolicy": "Always"}, {"name": "init"}]
        pod["status"]["initContainerStatuses"] = [
            {"name": "side", "state": {"terminated": {"finishedAt": at(-10), "exitCode": 0}}},
            {"name": "init", "state": {"terminated": {"finishedAt": at(-5), "exitCode": 0}}},
        ]
        assert pod_facts.finish_time(pod) == NOW - 10
        pod["status"]["initContainerStatuses"][0]["state"] = {"running": {}}
        assert pod_facts.finish_time(pod) == rfc3339.seconds(pod["metadata"]["creationTimestamp"])

    def test_else_readiness_else_deletion_else_creation(self) -> None:
        pod = a_pod("p", "Failed", deleting=True, finished=-40, created=-90)
        pod["status"]["containerStatuses"] = []
        pod["status"]["conditions"] = [{"type": "Ready", "status": "False", "lastTransitionTime": at(-30)}]
        assert pod_facts.finish_time(pod) == NOW - 30
        pod["status"]["conditions"] = []
        assert pod_facts.finish_time(pod) == NOW - 40
        del pod["metadata"]["deletionTimestamp"]
        assert pod_facts.finish_time(pod) == NOW - 90
