"""Owners with very many dependents: quick, and in nobody's way."""

from __future__ import annotations

import time

import pytest

from controllers.garbage.garbage_scene import Scene, owner, play
from longshore.controllers.garbage.controller import Backlog
from longshore.machinery.queues.workqueue import WorkQueue
from longshore.machinery.time import virtual
from longshore.machinery.time.virtual import VirtualClock

pytestmark = pytest.mark.long


def test_owners_take_turns() -> None:
    async def script(clock: VirtualClock) -> list[str]:
        queue: WorkQueue[str] = WorkQueue(clock)
        backlog = Backlog(queue, room=3)
        backlog.add("large", [f"l{n}" for n in range(6)])
        backlog.add("small", ["s0", "s1"])
        backlog.add("large", ["l6"])
        taken = []
        while len(queue):
            assert len(queue) <= 3
            taken.append(key := await queue.get())
            queue.done(key)
            backlog.feed()
        assert len(backlog) == 0
        return taken

    assert virtual.run(script) == ["l0", "l1", "l2", "l3", "s0", "l4", "s1", "l5", "l6"]


def test_a_small_deletion_does_not_wait_for_a_large_one() -> None:
    async def script(scene: Scene) -> None:
        large, small = await scene.config("large"), await scene.config("small")
        for n in range(1000):
            await scene.config(f"large-{n}", owner(large))
        await scene.config("small-0", owner(small))
        await scene.delete("large")
        await scene.delete("small")
        left = 1000
        while await scene.get("small-0") is not None:
            left = len(await scene.names())
            await scene.clock.sleep(0)
        assert left > 800
        await scene.settle()
        assert await scene.names() == []

    play(script)


def test_thousands_of_dependents_take_moments() -> None:
    async def script(scene: Scene) -> float:
        a = await scene.config("a")
        for n in range(2000):
            await scene.config(f"child-{n}", owner(a))
        await scene.settle()
        began = time.process_time()
        await scene.delete("a", "Foreground")
        await scene.settle()
        assert await scene.names() == []
        return time.process_time() - began

    assert play(script) < 10.0


def test_an_idle_collector_does_almost_nothing() -> None:
    async def script(scene: Scene) -> float:
        for n in range(500):
            await scene.config(f"c-{n}", owner(await scene.config(f"o-{n}")))
        await scene.settle()
        began = time.process_time()
        await scene.settle(3600)
        return time.process_time() - began

    assert play(script) < 3.6  # a thousandth of the time
