"""Workers take keys, put failed ones back, and keep the order where it matters."""

from __future__ import annotations

import asyncio
import logging

import pytest

from longshore.api.errors import StatusError
from longshore.api.time.backoff import Doubling
from longshore.machinery.queues.backoff import RetryLimiter
from longshore.machinery.queues.try_again import TryAgain
from longshore.machinery.queues.workers import OrderedQueues, run_workers
from longshore.machinery.queues.workqueue import WorkQueue
from longshore.machinery.time import virtual
from longshore.machinery.time.virtual import VirtualClock
from longshore.machinery.writes.own_writes import StaleCache
from longshore.testing.stories import beside


def test_so_many_keys_are_worked_on_side_by_side_and_one_key_by_one_worker() -> None:
    async def main(clock: VirtualClock) -> None:
        queue: WorkQueue[str] = WorkQueue(clock)
        busy: list[str] = []
        most = 0

        async def sync(key: str) -> None:
            nonlocal most
            assert key not in busy
            busy.append(key)
            most = max(most, len(busy))
            queue.add("a") if clock.monotonic() < 5 else None
            await clock.sleep(1)
            busy.remove(key)

        for key in "abcdef":
            queue.add(key)
        async with beside(run_workers(queue, sync, count=3)):
            await clock.sleep(10)
        assert most == 3
        assert not busy

    virtual.run(main)


def test_an_error_comes_again_later_each_time_and_success_forgets() -> None:
    async def main(clock: VirtualClock) -> None:
        queue: WorkQueue[str] = WorkQueue(clock, pauses=Doubling(1, 60))
        at: list[float] = []

        async def sync(key: str) -> None:
            at.append(clock.monotonic())
            if len(at) < 4:
                raise StatusError(409, "Conflict", "changed")

        queue.add("a")
        async with beside(run_workers(queue, sync)):
            await clock.sleep(100)
            assert at == [0, 1, 3, 7]
            assert queue.requeues("a") == 0

    virtual.run(main)


def test_a_sync_can_ask_to_be_called_again() -> None:
    async def main(clock: VirtualClock) -> None:
        queue: WorkQueue[str] = WorkQueue(clock)
        at: list[float] = []

        async def sync(key: str) -> float | None:
            at.append(clock.monotonic())
            return 10 if len(at) < 3 else None

        queue.add("a")
        async with beside(run_workers(queue, sync)):
            await clock.sleep(100)
        assert at == [0, 10, 20]

    virtual.run(main)


def test_a_failed_sync_is_one_line_with_object_error_and_next_try(caplog: pytest.LogCaptureFixture) -> None:
    async def main(clock: VirtualClock) -> None:
        queue: WorkQueue[tuple[str, str]] = WorkQueue(clock, pauses=Doubling(1000, 1000), owner="job")
        errors = {
            ("ns", "a"): StatusError(409, "Conflict", "changed"),
            ("ns", "b"): StaleCache("pods", 1, 2),
            ("ns", "c"): KeyError("x"),
            ("", "d"): StatusError(403, "Forbidden", "pods is forbidden"),
        }

        async def sync(key: tuple[str, str]) -> None:
            raise errors[key]

        for key in errors:
            queue.add(key)
        async with beside(run_workers(queue, sync)):
            await clock.sleep(1)

    with caplog.at_level(logging.DEBUG, "longshore.machinery.queues.workers"):
        virtual.run(main)
    own = [r for r in caplog.records if r.name == "longshore.machinery.queues.workers"]
    assert [(r.levelname, r.getMessage()) for r in own] == [
        ("INFO", "job: ns/a: changed; trying again in 1e+03 s (failure 1)"),
        (
            "DEBUG",
            "job: ns/b: read version: 1 is not as new as written version: 2 for group resource pods; "
            "trying again in 1e+03 s (failure 1)",
        ),
        ("ERROR", "job: ns/c: unexpected error: 'x'; trying again in 1e+03 s (failure 1)"),
        ("WARNING", "job: d: pods is forbidden; trying again in 1e+03 s (failure 1)"),
    ]
    assert [bool(r.exc_info) for r in own] == [False, False, True, False]


def test_conflicts_without_an_end_are_told(caplog: pytest.LogCaptureFixture) -> None:
    async def main(clock: VirtualClock) -> None:
        queue: WorkQueue[str] = WorkQueue(clock, pauses=Doubling(1, 1))

        async def sync(key: str) -> None:
            raise StatusError(409, "Conflict", "changed")

        queue.add("a")
        async with beside(run_workers(queue, sync)):
            await clock.sleep(4.5)

    with caplog.at_level(logging.DEBUG, "longshore.machinery.queues.workers"):
        virtual.run(main)
    own = [r for r in caplog.records if r.name == "longshore.machinery.queues.workers"]
    assert [r.levelname for r in own] == ["INFO", "INFO", "INFO", "WARNING", "WARNING"]


def test_of_many_that_fail_so_many_a_second_are_tried_again_and_those_that_wait_are_not_counted() -> None:
    async def main(clock: VirtualClock) -> None:
        turns = RetryLimiter(clock, rate=10.0, burst=5)
        queue: WorkQueue[str] = WorkQueue(clock, pauses=Doubling(0.1, 0.1), turns=turns)
        seen: list[tuple[str, float]] = []

        async def sync(key: str) -> None:
            seen.append((key, round(clock.monotonic(), 3)))
            if key == "waits":
                raise TryAgain("not yet")
            if len(seen) <= 11:
                raise StatusError(403, "Forbidden", "no")

        for number in range(10):
            queue.add(str(number))
        queue.add("waits")
        async with beside(run_workers(queue, sync)):
            await clock.sleep(0.95)
        again = [at for key, at in seen[11:] if key != "waits"]
        assert again == [0.1] * 6 + [0.2, 0.3, 0.4, 0.5]
        assert sum(key == "waits" for key, _ in seen) == 10

    virtual.run(main)


def test_keys_that_need_no_waiting_do_not_hold_up_the_others() -> None:
    async def main(clock: VirtualClock) -> None:
        queue: WorkQueue[int] = WorkQueue(clock)
        for key in range(1000):
            queue.add(key)
        done = 0

        async def sync(key: int) -> None:
            nonlocal done
            done += 1

        async with beside(run_workers(queue, sync)):
            for _ in range(10):
                await clock.sleep(0)
            assert done < 20

    virtual.run(main)


def test_workers_go_home_when_the_queue_was_shut_down() -> None:
    async def main(clock: VirtualClock) -> None:
        queue: WorkQueue[str] = WorkQueue(clock)
        seen: list[str] = []

        async def sync(key: str) -> None:
            seen.append(key)

        queue.add("a")
        queue.shut_down()
        await run_workers(queue, sync, count=2)
        assert seen == ["a"]

    virtual.run(main)


def test_what_belongs_to_one_object_is_done_in_order_and_other_objects_beside_it() -> None:
    async def main(clock: VirtualClock) -> None:
        queues = OrderedQueues[tuple[str, int]](lambda: WorkQueue(clock), 4, lambda request: request[0])
        done: list[tuple[str, int]] = []

        async def sync(request: tuple[str, int]) -> None:
            await clock.sleep(clock.rng.random())
            done.append(request)

        names = [f"job-{n}" for n in range(10)]
        for number in range(5):
            for name in names:
                queues.queue_of((name, number)).add((name, number))
        async with beside(queues.run(sync)):
            await clock.sleep(60)
        for name in names:
            assert [number for who, number in done if who == name] == list(range(5))
        assert [who for who, _ in done] != sorted(who for who, _ in done)

    virtual.run(main)


def test_an_object_has_the_same_queue_in_every_process() -> None:
    async def main(clock: VirtualClock) -> None:
        queues: OrderedQueues[str] = OrderedQueues(lambda: WorkQueue(clock), 5, lambda key: key)
        found = {name: queues.queues.index(queues.queue_of(name)) for name in ("ns/a", "ns/b", "ns/c")}
        assert found == {"ns/a": 3, "ns/b": 1, "ns/c": 3}

    virtual.run(main)


def test_a_cancelled_worker_gives_its_key_back() -> None:
    async def main(clock: VirtualClock) -> None:
        queue: WorkQueue[str] = WorkQueue(clock)

        async def sync(key: str) -> None:
            await asyncio.Event().wait()

        queue.add("a")
        async with beside(run_workers(queue, sync)):
            await clock.sleep(1)
            queue.add("a")
            assert len(queue) == 0
        assert await queue.get() == "a"

    virtual.run(main)
