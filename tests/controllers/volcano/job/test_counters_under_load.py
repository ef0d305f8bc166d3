"""While many Jobs wait for a look, counters alone are written a moment later, and never lost."""

from __future__ import annotations

from typing import Any

import pytest

from longshore.controllers.volcano.job.controller import VolcanoJobController
from longshore.machinery.time import virtual
from longshore.machinery.time.virtual import VirtualClock
from longshore.scripts.pod_rules import Rule
from longshore.scripts.runs import Exit
from longshore.testing.stories import beside
from support.volcano_world import NEVER, World, a_task, a_world, controller


@pytest.fixture(autouse=True)
def _much_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(VolcanoJobController, "_is_busy", lambda self, key: True)


async def pending(world: World) -> int:
    """How many the Job counts at the moment when both pods are there."""

    async def there() -> bool:
        return len(await world.pods()) == 2

    while not await there():
        await world.clock.sleep(0.01)
    await world.clock.sleep(0.1)
    status: dict[str, Any] = ((await world.get()) or {}).get("status") or {}
    return status.get("pending") or 0


def play(*, policies: list[dict[str, Any]] | None = None) -> tuple[int, dict[str, Any]]:
    """What is counted at first, and the status after two seconds."""

    async def main(clock: VirtualClock) -> tuple[int, dict[str, Any]]:
        never = (Rule(runs=(NEVER,)),)
        async with a_world(clock, never) as world, beside(controller(world.client, clock)):
            await world.job([a_task("w", 2)], **({"policies": policies} if policies else {}))
            first = await pending(world)
            await clock.sleep(2)
            return first, ((await world.get()) or {})["status"]

    return virtual.run(main)


def test_pods_that_wait_are_counted_within_a_second_or_so() -> None:
    first, later = play()
    assert first == 0
    assert (later["pending"], later["taskStatusCount"]) == (2, {"w": {"phase": {"Pending": 2}}})


def test_a_job_with_policies_counts_at_once() -> None:
    first, _ = play(policies=[{"event": "PodEvicted", "action": "RestartJob"}])
    assert first == 2


def test_a_job_that_goes_on_carries_its_counters_along() -> None:
    async def main(clock: VirtualClock) -> dict[str, Any]:
        async with a_world(clock, [Rule(runs=(Exit(0),))]) as world, beside(controller(world.client, clock)):
            await world.job({"w": 2})
            await world.phase("Completed")
            await world.quiet()
            return ((await world.get()) or {})["status"]

    status = virtual.run(main)
    assert [c["status"] for c in status["conditions"]] == ["Pending", "Running", "Completed"]
    assert (status["version"], status.get("pending")) == (1, None)
