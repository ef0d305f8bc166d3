"""A Job is looked at again when one of its pods changes in a way that counts, and left alone otherwise."""

from __future__ import annotations

from typing import Any

import pytest

from longshore.api.metrics import Registry
from longshore.api.types import Obj
from longshore.controllers.job.memory import JobMemory
from longshore.controllers.job.metrics import JobMetrics
from longshore.controllers.job.spec import FINALIZER, RESERVED_MANAGER
from longshore.controllers.job.waking import selector_index
from longshore.controllers.job.waking.batches import FailureBatches
from longshore.controllers.job.waking.handlers import PodHandler, Waking
from longshore.controllers.job.waking.ownership import Ownership
from longshore.machinery.informers.cache import Cache
from longshore.machinery.time.clock import RealClock

JOB: Obj = {
    "metadata": {"namespace": "n", "name": "j", "uid": "u", "resourceVersion": "1"},
    "spec": {"selector": {"matchLabels": {"a": "b"}}},
}


class Keys:
    """A queue that only remembers."""

    def __init__(self) -> None:
        self.added: list[float] = []
        """In how many seconds each is to be looked at."""

    def add(self, key: Any) -> None:
        self.added.append(0)

    def add_after(self, key: Any, seconds: float) -> None:
        self.added.append(seconds)


def a_pod(version: int, **changes: Any) -> Obj:
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "u", "controller": True}
    meta = {
        "namespace": "n",
        "name": "p",
        "uid": "p1",
        "resourceVersion": str(version),
        "labels": {"a": "b"},
        "finalizers": [FINALIZER],
        "ownerReferences": [owner],
    }
    pod: Obj = {"metadata": meta, "spec": {}, "status": {"phase": "Pending"}}
    for path, value in changes.items():
        part, _, key = path.partition("_")
        pod[part] = {**pod[part], key: value}
    return pod


def looked_at(old: Obj, new: Obj, *, own: bool = False) -> list[float]:
    """When the Job is looked at after this change, if at all. `own` when the controller wrote it."""
    queue: Any = Keys()
    orphans: Any = Keys()
    jobs, pods, clock = Cache(), Cache(), RealClock()
    jobs.add_index(selector_index.JOBS_BY_SELECTOR, selector_index.jobs_by_selector)
    pods.add_index(selector_index.PODS_BY_JOB, selector_index.pods_by_job)
    jobs.put(("n", "j"), JOB)
    memory = JobMemory(clock, jobs, pods)
    ownership, metrics = Ownership(jobs, RESERVED_MANAGER), JobMetrics(Registry())
    waking = Waking(queue, orphans, memory, ownership, metrics, pods)
    handler = PodHandler(waking, FailureBatches(clock, queue), None)
    if own:
        memory.own_writes.wrote(("n", "j"), "u", "pods", new)
    handler.on_update(old, new)
    added: list[float] = queue.added
    return added


READY = [{"type": "Ready", "status": "True"}]


@pytest.mark.parametrize(
    "changes",
    [
        {"spec_nodeName": "here"},
        {"status_podIP": "127.0.0.1"},
        {"status_conditions": [{"type": "PodScheduled", "status": "True"}]},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_details_do_not_matter(changes: dict[str, Any]) -> None:
    assert not looked_at(a_pod(2), a_pod(3, **changes))


@pytest.mark.parametrize(
    "changes",
    [
        {"status_phase": "Succeeded"},
        {"metadata_labels": {"a": "c"}},
        {"metadata_finalizers": []},
        {"metadata_finalizers": [FINALIZER, "example.com/other"]},
        {"metadata_annotations": {"batch.kubernetes.io/job-completion-index": "7"}},
        {"metadata_deletionTimestamp": "2026-01-01T00:00:00Z"},
        {"metadata_ownerReferences": []},
    ],
    ids=lambda changes: "-".join(map(str, next(iter(changes.items())))),
)
def test_all_else_does(changes: dict[str, Any]) -> None:
    assert 0 in looked_at(a_pod(2), a_pod(3, **changes))


RESTARTED = [{"name": "main", "restartCount": 1}]


@pytest.mark.parametrize(
    "changes",
    [{"status_phase": "Running"}, {"status_conditions": READY}, {"status_containerStatuses": RESTARTED}],
    ids=lambda changes: next(iter(changes)),
)
def test_how_a_pod_fares_that_has_not_ended_may_wait_a_second(changes: dict[str, Any]) -> None:
    assert looked_at(a_pod(2), a_pod(3, **changes)) == [1]


def test_a_finalizer_that_the_controller_took_itself_does_not_matter() -> None:
    ended: dict[str, Any] = {"status_phase": "Succeeded"}
    assert not looked_at(a_pod(2, **ended), a_pod(3, **ended, metadata_finalizers=[]), own=True)


@pytest.mark.parametrize(
    "changes",
    [{"status_phase": "Failed"}, {"metadata_labels": {"a": "c"}}, {"metadata_annotations": {"a": "b"}}],
    ids=lambda changes: next(iter(changes)),
)
def test_what_others_changed_before_it_does(changes: dict[str, Any]) -> None:
    ended = {"status_phase": "Succeeded"}
    stripped = a_pod(3, **{**ended, **changes}, metadata_finalizers=[])
    assert looked_at(a_pod(2, **ended), stripped, own=True) == [0]


def test_every_change_of_a_pod_that_has_ended_does() -> None:
    ended = {"status_phase": "Failed"}
    assert looked_at(a_pod(2, **ended), a_pod(3, **ended, spec_nodeName="here"))
