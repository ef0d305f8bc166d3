"""The controller dies right after any of its writes and comes back knowing nothing; no time is run twice."""

from __future__ import annotations

import asyncio
from collections import Counter
from datetime import UTC, datetime
from typing import Any

import pytest

from longshore.api.types import Obj
from longshore.controllers.volcano import cronjob
from longshore.testing.crashing import MortalClient, every_crash, until_dead
from support.volcano_manifests import task
from support.volcano_scene import JOBS, Scene, play

CRONJOBS = ("batch.volcano.sh/v1alpha1", "CronJob")
START = datetime(2026, 6, 15, 9, 50, 10, tzinfo=UTC)
MINUTE = 60.0

STORIES: dict[str, tuple[dict[str, Any], float]] = {
    "history": ({"successfulJobsHistoryLimit": 1}, 2.0),
    "nothing is kept": ({"successfulJobsHistoryLimit": 0, "failedJobsHistoryLimit": 0}, 2.0),
    "forbid": ({"concurrencyPolicy": "Forbid"}, 12.0),
    "replace": ({"concurrencyPolicy": "Replace"}, 25.0),
}
"""More of the spec, and how many minutes a Job runs."""


async def hand(scene: Scene, lasts: float) -> None:
    """Ends every Job when its time is over."""
    while True:
        for job in (await scene.client.list(JOBS)).items:
            created = datetime.fromisoformat(job["metadata"]["creationTimestamp"])
            over = (scene.clock.now() - created).total_seconds() >= lasts * MINUTE
            if over and not (job.get("status") or {}).get("state"):
                at = scene.clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")
                state = {"state": {"phase": "Completed", "lastTransitionTime": at}}
                name = job["metadata"]["name"]
                await scene.client.patch(JOBS, name, {"status": state}, "default", subresource="status")
        await scene.settle(20)


async def census(scene: Scene, seen: Counter[str]) -> None:
    async with scene.client.watch(JOBS, "default") as events:
        async for event in events:
            if event.type == "ADDED":
                seen[event.object["metadata"]["name"]] += 1


def told(story: str, last: int = 0, **how: Any) -> tuple[Any, int]:
    spec, lasts = STORIES[story]
    pause = how.pop("pause", 0.0)

    async def script(scene: Scene) -> tuple[Any, int]:
        template = {"spec": {"tasks": [task()]}}
        body: Obj = {"metadata": {"name": "c"}}
        body["spec"] = {"schedule": "*/10 * * * *", "jobTemplate": template, **spec}
        await scene.client.create(CRONJOBS, body, "default")
        seen: Counter[str] = Counter()
        beside = [asyncio.create_task(hand(scene, lasts)), asyncio.create_task(census(scene, seen))]
        mortal = MortalClient(scene.client, scene.clock, last, **how)
        begun = scene.clock.monotonic()
        if last:
            await until_dead(cronjob.run(scene.context(mortal)), mortal)
            await scene.settle(pause)
        beside.append(asyncio.create_task(cronjob.run(scene.context(scene.client if last else mortal))))
        await scene.settle(45.5 * MINUTE - (scene.clock.monotonic() - begun))
        try:
            found = (await scene.client.get(CRONJOBS, "c", "default"))["status"]
            left = sorted(job["metadata"]["name"] for job in (await scene.client.list(JOBS)).items)
            active = [ref["name"] for ref in found.get("active") or ()]
            return (left, active, found["lastScheduleTime"], dict(seen)), mortal.writes
        finally:
            for each in beside:
                each.cancel()
            await asyncio.gather(*beside, return_exceptions=True)

    return play(script, start=START)


@pytest.mark.parametrize("story", STORIES)
def test_the_end_is_the_same_whenever_the_controller_dies(story: str) -> None:
    expected, writes = told(story)
    assert set(expected[3].values()) == {1}
    for last, death, pause in every_crash(writes):
        end, _ = told(story, last, death=death, pause=pause)
        assert end == expected, f"died at write {last}, {death.value}"
