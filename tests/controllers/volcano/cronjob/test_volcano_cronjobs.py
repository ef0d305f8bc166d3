"""Volcano CronJobs on the virtual clock: what starts when, what is kept, what is told."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from functools import partial
from typing import Any

import pytest

from longshore.api import cron
from longshore.api.types import Obj
from longshore.controllers.volcano import cronjob as controller
from support.volcano_manifests import task
from support.volcano_scene import JOBS, Scene
from support.volcano_scene import play as play_scene

CRONJOBS = ("batch.volcano.sh/v1alpha1", "CronJob")
START = datetime(2026, 6, 15, 9, 50, 10, tzinfo=UTC)
MINUTE = 60.0
FIRST = int(datetime(2026, 6, 15, 10, 0, tzinfo=UTC).timestamp()) // 60


def play(script: Callable[[Scene], Awaitable[None]]) -> None:
    play_scene(script, partial(controller.run, zone=cron.UTC), start=START)


async def cronjob(scene: Scene, schedule: str = "*/10 * * * *", **spec: Any) -> None:
    template = {"metadata": {"labels": {"x": "y"}}, "spec": {"tasks": [task()]}}
    body = {"metadata": {"name": "c"}, "spec": {"schedule": schedule, "jobTemplate": template, **spec}}
    await scene.client.create(CRONJOBS, body, "default")


async def finish(scene: Scene, name: str, phase: str = "Completed") -> None:
    at = scene.clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")
    state = {"state": {"phase": phase, "lastTransitionTime": at}}
    await scene.client.patch(JOBS, name, {"status": state}, "default", subresource="status")
    await scene.settle()


async def jobs(scene: Scene) -> list[str]:
    """By how many scheduled times after the first."""
    names = sorted(job["metadata"]["name"] for job in (await scene.client.list(JOBS)).items)
    return [str((int(name.rpartition("-")[2]) - FIRST) // 10) for name in names]


async def status(scene: Scene) -> Obj:
    found: Obj = (await scene.client.get(CRONJOBS, "c", "default")).get("status") or {}
    return found


def named(number: int) -> str:
    return f"c-{FIRST + 10 * number}"


def test_each_scheduled_time_has_one_job() -> None:
    async def script(scene: Scene) -> None:
        await cronjob(scene)
        await scene.settle(25 * MINUTE)
        assert await jobs(scene) == ["0", "1"]
        job = await scene.client.get(JOBS, named(0), "default")
        assert job["metadata"]["annotations"] == {
            "volcano.sh/cronjob-scheduled-timestamp": "2026-06-15T10:00:00Z"
        }
        assert (job["metadata"]["labels"], job["metadata"]["ownerReferences"][0]["kind"]) == (
            {"x": "y"},
            "CronJob",
        )
        found = await status(scene)
        assert [ref["name"] for ref in found["active"]] == [named(0), named(1)]
        assert found["lastScheduleTime"] == "2026-06-15T10:10:00Z"
        assert ("Normal", "SuccessfulCreate", f"Created job {named(0)} for CronJob default/c") in (
            await scene.events()
        )

    play(script)


def test_finished_jobs_leave_the_list_and_the_oldest_go() -> None:
    async def script(scene: Scene) -> None:
        await cronjob(scene, successfulJobsHistoryLimit=1)
        await scene.settle(11 * MINUTE)
        await finish(scene, named(0))
        found = await status(scene)
        assert "active" not in found
        assert found["lastSuccessfulTime"] == "2026-06-15T10:01:10Z"
        await scene.settle(10 * MINUTE)
        await finish(scene, named(1))
        assert await jobs(scene) == ["1"]
        said = await scene.events()
        assert ("Normal", "SawCompletedJob", f"Saw completed job: {named(0)} in active, remove") in said
        assert ("Normal", "SuccessfulDelete", f'Deleted job "{named(0)}"') in said
        assert len([event for event in said if event[1] == "SuccessfulDelete"]) == 1

    play(script)


def test_terminated_jobs_are_over_but_never_pruned() -> None:
    async def script(scene: Scene) -> None:
        await cronjob(scene, failedJobsHistoryLimit=0, successfulJobsHistoryLimit=0)
        await scene.settle(11 * MINUTE)
        await finish(scene, named(0), "Terminated")
        assert await jobs(scene) == ["0"]
        assert "active" not in await status(scene)
        await scene.settle(10 * MINUTE)
        await finish(scene, named(1), "Failed")
        assert await jobs(scene) == ["0"]

    play(script)


@pytest.mark.parametrize(
    ("policy", "left", "reason"),
    [
        ("Allow", ["0", "1"], ""),
        ("Forbid", ["0"], "ForbidConcurrent"),
        ("Replace", ["1"], "ReplaceConcurrent"),
    ],
)
def test_a_job_that_is_still_running_when_the_next_is_due(policy: str, left: list[str], reason: str) -> None:
    async def script(scene: Scene) -> None:
        await cronjob(scene, concurrencyPolicy=policy)
        await scene.settle(21 * MINUTE)
        assert await jobs(scene) == left
        told = [event for event in await scene.events() if event[0] == "Warning"]
        assert {event[1] for event in told} == ({reason} if reason else set())

    play(script)


def test_a_forbidden_run_starts_when_the_other_job_ends() -> None:
    async def script(scene: Scene) -> None:
        await cronjob(scene, concurrencyPolicy="Forbid")
        await scene.settle(22 * MINUTE)
        assert (
            "Warning",
            "ForbidConcurrent",
            "Skipping job creation because another job is already running",
        ) in await scene.events()
        await finish(scene, named(0))
        assert await jobs(scene) == ["0", "1"]

    play(script)


def test_a_suspended_cronjob_starts_nothing_and_still_keeps_its_books() -> None:
    async def script(scene: Scene) -> None:
        await cronjob(scene)
        await scene.settle(11 * MINUTE)
        await scene.client.patch(CRONJOBS, "c", {"spec": {"suspend": True}}, "default")
        await finish(scene, named(0))
        await scene.settle(60 * MINUTE)
        assert await jobs(scene) == ["0"]
        assert "active" not in await status(scene)

    play(script)


def test_a_deadline_that_is_over_skips_what_was_missed() -> None:
    async def script(scene: Scene) -> None:
        await cronjob(scene, suspend=True, startingDeadlineSeconds=100)
        await scene.settle(25 * MINUTE)
        await scene.client.patch(CRONJOBS, "c", {"spec": {"suspend": False}}, "default")
        await scene.settle(1)
        assert await jobs(scene) == []
        await scene.settle(10 * MINUTE)
        assert await jobs(scene) == ["2"]

    play(script)


def test_a_job_of_somebody_else_is_left_alone() -> None:
    async def script(scene: Scene) -> None:
        body = {"metadata": {"name": named(0)}, "spec": {"tasks": [task()]}}
        await scene.client.create(JOBS, body, "default")
        await cronjob(scene)
        await scene.settle(11 * MINUTE)
        assert (
            "Warning",
            "ForeignJob",
            f"Job {named(0)} exists but is not owned by this CronJob (current owner: none)",
        ) in await scene.events()
        assert await status(scene) == {}

    play(script)


def test_jobs_that_vanish_and_jobs_that_appear_are_told_of() -> None:
    async def script(scene: Scene) -> None:
        await cronjob(scene)
        await scene.settle(11 * MINUTE)
        job = await scene.client.get(JOBS, named(0), "default")
        extra = {"name": "extra", "ownerReferences": job["metadata"]["ownerReferences"]}
        await scene.client.create(JOBS, {"metadata": extra, "spec": {"tasks": [task()]}}, "default")
        await scene.client.delete(JOBS, named(0), "default")
        await scene.settle()
        said = [event[1:] for event in await scene.events() if event[0] == "Warning"]
        uid = job["metadata"]["uid"]
        assert ("StaleReference", f'Active job "{named(0)}" no longer exists (UID: {uid})') in said
        assert any(
            reason == "OrphanedJob" and message.startswith(
                "Detected orphaned job forgotten or not managed by controller: extra (UID: "
            )
            for reason, message in said
        )  # fmt: skip
        assert "active" not in await status(scene)

    play(script)


def test_a_job_that_is_refused_is_told_of_and_tried_again() -> None:
    async def script(scene: Scene) -> None:
        template = {"spec": {"tasks": [task()], "queue": "nowhere"}}
        await cronjob(scene, jobTemplate=template)
        await scene.settle(11 * MINUTE)
        failures = [event for event in await scene.events() if event[1] == "FailedCreate"]
        assert failures[0][2].startswith('Failed to create job: admission webhook "validatejob.volcano.sh"')
        await scene.queue("nowhere")
        open_ = {"status": {"state": "Open"}}
        what = ("scheduling.volcano.sh/v1beta1", "Queue")
        await scene.client.patch(what, "nowhere", open_, subresource="status")
        await scene.settle(5 * MINUTE)
        assert await jobs(scene) == ["0"]

    play(script)


def test_a_new_schedule_counts_from_its_next_time() -> None:
    async def script(scene: Scene) -> None:
        await cronjob(scene, "0 0 1 1 *")
        await scene.settle(25 * MINUTE)
        await scene.client.patch(CRONJOBS, "c", {"spec": {"schedule": "*/10 * * * *"}}, "default")
        await scene.settle(1)
        assert await jobs(scene) == []
        await scene.settle(6 * MINUTE)
        assert await jobs(scene) == ["2"]

    play(script)
