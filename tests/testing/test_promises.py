"""Promises that hold in every cluster at rest: each is seen when it is broken, and only then."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from longshore.api.types import Obj
from longshore.store import Key
from longshore.testing.cluster_snapshots import CutStore
from longshore.testing.promises import TRACKING, broken
from longshore.testing.wait_verdicts import judge


def job(succeeded: int = 0, end: str = "", **status: Any) -> tuple[Key, Obj]:
    conditions = [{"type": end, "status": "True"}] if end else []
    meta = {"name": "j", "namespace": "default", "uid": "u"}
    return Key("batch/jobs", "default", "j"), {
        "metadata": meta,
        "spec": {},
        "status": {"succeeded": succeeded, "conditions": conditions, **status},
    }


def pod(name: str, phase: str = "Succeeded", **meta: Any) -> tuple[Key, Obj]:
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "u", "controller": True}
    meta = {"name": name, "namespace": "default", "uid": name, "ownerReferences": [owner], **meta}
    return Key("pods", "default", name), {"metadata": meta, "status": {"phase": phase}}


def found(*writes: tuple[Key, Obj]) -> list[str]:
    async def play() -> list[str]:
        store = CutStore.of()
        for key, obj in writes:
            await store.stage(key, obj).done()
        told = broken(store, store.ledger, collects_garbage=True)
        await store.close()
        return told

    return asyncio.run(play())


def test_a_job_that_counts_its_pods_once_keeps_all_promises() -> None:
    assert found(pod("a"), pod("b", "Failed"), job(1, "Complete", failed=1)) == []


@pytest.mark.parametrize(
    ("writes", "said"),
    [
        ([pod("a"), job(2)], "counts 2 succeeded pods, and only 1 ended well"),
        ([pod("a"), pod("b"), job(1)], "counts 1 succeeded pods, and 2 ended well"),
        ([pod("a"), job(1, failed=1)], "counts 1 failed pods, and only 0 did not end well"),
        (
            [pod("a"), job(0, uncountedTerminatedPods={"succeeded": ["a"]})],
            "uncountedTerminatedPods.succeeded: a",
        ),
        ([pod("a")], "is an orphan: its Job j is gone"),
        ([pod("a", finalizers=[TRACKING]), job(1)], "has ended and is not counted"),
        ([job(0, "Complete"), job(0, "Failed")], "job/j was Complete and then Failed"),
        ([job(0, "Failed"), job(0)], "job/j was Failed and then went on"),
        (
            [pod("a", deletionTimestamp="2026-01-01T00:00:00Z", finalizers=["example.org/x"]), job(1)],
            "is being deleted and held by example.org/x",
        ),
    ],
)
def test_a_broken_promise_is_named(writes: Any, said: str) -> None:
    (told,) = found(*writes)
    assert said in told


def test_a_wait_for_an_object_that_was_deleted_can_never_end_well() -> None:
    assert judge("Job", "Complete", None, was_there=True).never == "it was deleted"
    assert judge("Job", "Complete", None, was_there=False) == (False, "")
    assert judge("Job", "deleted", None, was_there=True).is_true
