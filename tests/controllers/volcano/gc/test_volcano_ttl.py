"""Finished Volcano Jobs go when their time is over."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from longshore.api.time import instants
from longshore.api.types import Obj
from longshore.controllers.volcano import gc
from longshore.controllers.volcano.gc import decide
from support.volcano_manifests import task
from support.volcano_scene import JOBS, Scene, play

NOW = instants.of(datetime(2026, 6, 15, 12, 0, 0, tzinfo=UTC))


def job(phase: str, at: str = "2026-06-15T11:59:00Z", **spec: Any) -> Obj:
    state = {"phase": phase, "lastTransitionTime": at}
    return {"metadata": {"name": "j", "namespace": "n"}, "spec": spec, "status": {"state": state}}


@pytest.mark.parametrize("phase", ["Completed", "Failed", "Terminated"])
def test_a_finished_job_is_due_so_long_after_its_end(phase: str) -> None:
    assert decide(job(phase, ttlSecondsAfterFinished=60), NOW).delete
    assert decide(job(phase, ttlSecondsAfterFinished=0), NOW).delete
    assert decide(job(phase, ttlSecondsAfterFinished=90), NOW).look_again == 30


@pytest.mark.parametrize("phase", ["Aborted", "Running", "Completing", ""])
def test_a_job_that_is_not_finished_is_never_due(phase: str) -> None:
    plan = decide(job(phase, ttlSecondsAfterFinished=0), NOW)
    assert (plan.delete, plan.look_again) == (False, None)


def test_a_job_without_a_time_to_live_stays() -> None:
    assert not decide(job("Completed"), NOW).delete


def test_a_job_is_deleted_with_its_children_first() -> None:
    async def script(scene: Scene) -> None:
        body = {"metadata": {"name": "j"}, "spec": {"tasks": [task()], "ttlSecondsAfterFinished": 30}}
        await scene.client.create(JOBS, body, "default")
        at = scene.clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")
        status = {"status": {"state": {"phase": "Completed", "lastTransitionTime": at}}}
        await scene.client.patch(JOBS, "j", status, "default", subresource="status")
        await scene.settle(28)
        assert "deletionTimestamp" not in (await scene.client.get(JOBS, "j", "default"))["metadata"]
        await scene.settle(3)
        meta = (await scene.client.get(JOBS, "j", "default"))["metadata"]
        assert meta["finalizers"] == ["foregroundDeletion"]

    play(script, gc.run)
