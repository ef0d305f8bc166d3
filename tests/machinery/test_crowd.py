"""A worker for every key that is ready: as many as there are keys, up to a limit, and patience on request."""

from __future__ import annotations

import asyncio

from longshore.machinery.queues.workers import Crowd
from longshore.machinery.queues.workqueue import WorkQueue
from longshore.machinery.time import virtual
from longshore.machinery.time.virtual import VirtualClock


class Desk:
    """A sync that takes a second, and notes how many go on at once."""

    def __init__(self, clock: VirtualClock, *, limit: int, patient: bool = False) -> None:
        self.clock, self.patient = clock, patient
        self.queue: WorkQueue[int] = WorkQueue(clock)
        self.crowd = Crowd(self.queue, self.sync, limit=limit)
        self.now = self.most = 0
        self.steps: list[str] = []

    async def sync(self, key: int) -> None:
        self.now += 1
        self.most = max(self.most, self.now)
        self.steps.append(f"begin {key}")
        if self.patient:
            await self.crowd.others_first()
        self.steps.append(f"end {key}")
        await self.clock.sleep(1)
        self.now -= 1

    async def work(self, keys: int) -> float:
        """Looks at so many keys; how long that took."""
        begun = self.clock.monotonic()
        for key in range(keys):
            self.queue.add(key)
        task = asyncio.create_task(self.crowd.run())
        await asyncio.sleep(0)
        await self.queue.drain()
        await task
        return self.clock.monotonic() - begun


def test_all_keys_are_looked_at_side_by_side() -> None:
    async def main(clock: VirtualClock) -> None:
        desk = Desk(clock, limit=1000)
        assert await desk.work(300) == 1
        assert desk.most == 300

    virtual.run(main)


def test_never_more_than_the_limit() -> None:
    async def main(clock: VirtualClock) -> None:
        desk = Desk(clock, limit=10)
        assert await desk.work(95) == 10
        assert desk.most == 10

    virtual.run(main)


def test_who_is_patient_goes_on_when_all_others_have_begun() -> None:
    async def main(clock: VirtualClock) -> None:
        desk = Desk(clock, limit=1000, patient=True)
        await desk.work(300)
        assert desk.steps[:300] == [f"begin {n}" for n in range(300)]

    virtual.run(main)


def test_patience_ends_when_no_more_can_begin_anyhow() -> None:
    async def main(clock: VirtualClock) -> None:
        desk = Desk(clock, limit=7, patient=True)
        assert await desk.work(21) == 3

    virtual.run(main)


def test_a_key_that_failed_is_tried_again_and_others_do_not_notice() -> None:
    async def main(clock: VirtualClock) -> None:
        tried: list[str] = []

        async def sync(key: str) -> float | None:
            tried.append(key)
            if tried.count(key) == 1 and key == "bad":
                raise OSError("away")
            return 60.0 if key == "later" and tried.count(key) == 1 else None

        queue: WorkQueue[str] = WorkQueue(clock)
        task = asyncio.create_task(Crowd(queue, sync, limit=5).run())
        for key in ("bad", "good", "later"):
            queue.add(key)
        await clock.sleep(1)
        assert tried == ["bad", "good", "later", "bad"]
        await clock.sleep(60)
        assert tried[-1] == "later"
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    virtual.run(main)
