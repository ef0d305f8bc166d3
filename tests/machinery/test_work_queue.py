"""The work queue, rule by rule."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from longshore.api.time.backoff import Doubling
from longshore.machinery.queues.workqueue import ShutDown, WorkQueue
from longshore.machinery.time import virtual
from longshore.machinery.time.virtual import VirtualClock

Main = Callable[[VirtualClock, WorkQueue[str]], Awaitable[None]]


def run(main: Main, *, base: float = 1.0, cap: float = 60.0) -> None:
    async def whole(clock: VirtualClock) -> None:
        await main(clock, WorkQueue(clock, pauses=Doubling(base, cap)))

    virtual.run(whole)


async def taken(queue: WorkQueue[str]) -> list[str]:
    """Everything that is ready, taken and done."""
    out = []
    while len(queue):
        out.append(await queue.get())
        queue.done(out[-1])
    return out


def test_keys_come_in_the_order_they_were_added_and_each_once() -> None:
    async def main(clock: VirtualClock, queue: WorkQueue[str]) -> None:
        for key in ("a", "b", "a", "c", "b"):
            queue.add(key)
        assert await taken(queue) == ["a", "b", "c"]

    run(main)


def test_a_key_that_is_being_processed_is_handed_out_again_only_after_it_is_done() -> None:
    async def main(clock: VirtualClock, queue: WorkQueue[str]) -> None:
        queue.add("a")
        assert await queue.get() == "a"
        queue.add("a")
        queue.add("a")
        queue.add("b")
        assert await queue.get() == "b"
        assert len(queue) == 0
        queue.done("a")
        assert await queue.get() == "a"
        queue.done("a")
        queue.done("b")
        assert len(queue) == 0

    run(main)


def test_a_delayed_key_comes_when_it_is_due() -> None:
    async def main(clock: VirtualClock, queue: WorkQueue[str]) -> None:
        queue.add_after("late", 10)
        queue.add_after("soon", 2.5)
        assert queue.waiting == 2
        assert await queue.get() == "soon"
        assert clock.monotonic() == 2.5
        assert await queue.get() == "late"
        assert clock.monotonic() == 10

    run(main)


@pytest.mark.parametrize("delays", [(10, 3), (3, 10), (3, 3)])
def test_of_several_delays_the_earliest_counts_and_the_key_comes_once(delays: tuple[int, int]) -> None:
    async def main(clock: VirtualClock, queue: WorkQueue[str]) -> None:
        for delay in delays:
            queue.add_after("a", delay)
        queue.done(await queue.get())
        assert clock.monotonic() == 3
        await clock.sleep(60)
        assert len(queue) == queue.waiting == 0

    run(main)


def test_the_earliest_counts_from_when_it_was_asked_for() -> None:
    async def main(clock: VirtualClock, queue: WorkQueue[str]) -> None:
        queue.add_after("a", 10)
        await clock.sleep(6)
        queue.add_after("a", 5)
        await queue.get()
        assert clock.monotonic() == 10

    run(main)


@pytest.mark.parametrize("delay", [0, -1.5])
def test_no_delay_is_at_once_and_keeps_a_delayed_add(delay: float) -> None:
    async def main(clock: VirtualClock, queue: WorkQueue[str]) -> None:
        queue.add_after("a", 10)
        queue.add_after("a", delay)
        assert await taken(queue) == ["a"]
        assert clock.monotonic() == 0
        assert await queue.get() == "a"
        assert clock.monotonic() == 10

    run(main)


def test_a_delayed_key_that_is_ready_already_comes_once() -> None:
    async def main(clock: VirtualClock, queue: WorkQueue[str]) -> None:
        queue.add_after("a", 1)
        await clock.sleep(0.5)
        queue.add("a")
        await clock.sleep(5)
        assert await taken(queue) == ["a"]

    run(main)


def test_failures_wait_twice_as_long_each_time_up_to_the_cap() -> None:
    async def main(clock: VirtualClock, queue: WorkQueue[str]) -> None:
        waited = []
        for _ in range(9):
            begun = clock.monotonic()
            queue.add_rate_limited("a")
            queue.done(await queue.get())
            waited.append(clock.monotonic() - begun)
        assert waited == [1, 2, 4, 8, 16, 32, 60, 60, 60]
        assert queue.requeues("a") == 9
        assert queue.requeues("other") == 0

    run(main)


def test_forgetting_begins_anew_and_cancels_nothing() -> None:
    async def main(clock: VirtualClock, queue: WorkQueue[str]) -> None:
        for _ in range(2000):  # as long as a broken object may stay broken
            queue.add_rate_limited("a")
        queue.forget("a")
        queue.forget("never seen")
        assert queue.requeues("a") == 0
        assert queue.waiting == 1
        queue.done(await queue.get())
        assert clock.monotonic() == 1
        queue.add_rate_limited("a")
        queue.done(await queue.get())
        assert clock.monotonic() == 2

    run(main)


def test_delays_that_are_asked_for_over_and_over_take_no_room() -> None:
    async def main(clock: VirtualClock, queue: WorkQueue[str]) -> None:
        for n in range(10_000):
            queue.add_after("a", 1000 - n / 100)
        assert len(queue._heap) < 200
        await queue.get()
        assert clock.monotonic() == pytest.approx(900.01)

    run(main)


def test_each_key_wakes_one_waiting_worker() -> None:
    async def main(clock: VirtualClock, queue: WorkQueue[str]) -> None:
        workers = [asyncio.create_task(queue.get()) for _ in range(3)]
        await clock.sleep(1)
        queue.add("a")
        queue.add("b")
        await clock.sleep(1)
        assert [worker.done() for worker in workers] == [True, True, False]
        queue.add("c")
        assert await workers[2] == "c"

    run(main)


def test_a_key_meant_for_a_worker_that_is_cancelled_goes_to_another() -> None:
    async def main(clock: VirtualClock, queue: WorkQueue[str]) -> None:
        first, second = (asyncio.create_task(queue.get()) for _ in range(2))
        await clock.sleep(1)
        queue.add("a")
        first.cancel()
        assert await second == "a"

    run(main)


def test_after_a_shutdown_nothing_is_taken_in_and_what_is_ready_can_be_had() -> None:
    async def main(clock: VirtualClock, queue: WorkQueue[str]) -> None:
        queue.add("a")
        queue.add_after("b", 1)
        queue.shut_down()
        queue.add("c")
        queue.add_after("d", 0.5)
        queue.add_rate_limited("e")
        await clock.sleep(5)
        assert await queue.get() == "a"
        with pytest.raises(ShutDown):
            await queue.get()

    run(main)


def test_a_shutdown_sends_waiting_workers_home() -> None:
    async def main(clock: VirtualClock, queue: WorkQueue[str]) -> None:
        workers = [asyncio.create_task(queue.get()) for _ in range(3)]
        await clock.sleep(1)
        queue.shut_down()
        assert all(isinstance(r, ShutDown) for r in await asyncio.gather(*workers, return_exceptions=True))

    run(main)


def test_draining_waits_for_what_is_ready_and_what_is_being_processed() -> None:
    async def main(clock: VirtualClock, queue: WorkQueue[str]) -> None:
        seen = []

        async def work() -> None:
            while True:
                key = await queue.get()
                await clock.sleep(2)
                seen.append(key)
                queue.done(key)

        queue.add("a")
        worker = asyncio.create_task(work())
        await clock.sleep(1)
        queue.add("a")  # again, after this time
        queue.add("b")
        queue.add_after("c", 0.5)
        await queue.drain()
        assert seen == ["a", "b", "a"]
        assert clock.monotonic() == 6
        with pytest.raises(ShutDown):
            await worker
        await queue.drain()

    run(main)
