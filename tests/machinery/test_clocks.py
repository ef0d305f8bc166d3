"""Time as a parameter: the machine's, and one that jumps."""

from __future__ import annotations

import asyncio
import socket
import threading
from datetime import UTC, datetime, timedelta
from functools import partial

import pytest

from longshore.machinery.time import virtual
from longshore.machinery.time.clock import Clock, RealClock
from longshore.machinery.time.virtual import VirtualClock

START = datetime(2026, 3, 29, 0, 30, tzinfo=UTC)


def test_a_month_passes_at_once() -> None:
    async def main(clock: VirtualClock) -> tuple[datetime, float]:
        await clock.sleep(30 * 86400)
        return clock.now(), clock.monotonic()

    now, elapsed = virtual.run(main, start=START)
    assert now == START + timedelta(days=30)
    assert elapsed == 30 * 86400


def test_timers_ring_in_order_each_at_its_own_time() -> None:
    async def main(clock: VirtualClock) -> list[tuple[str, float]]:
        rung: list[tuple[str, float]] = []

        def ring(name: str) -> None:
            rung.append((name, clock.monotonic()))

        for name, after in (("c", 3.5), ("a", 0.5), ("b", 3.25)):
            clock.call_later(after, partial(ring, name))
        clock.call_later(1, lambda: rung.append(("never", 0))).cancel()
        await clock.sleep(4)
        return rung

    assert virtual.run(main) == [("a", 0.5), ("b", 3.25), ("c", 3.5)]


def test_timers_of_one_moment_ring_in_the_order_in_which_they_were_set() -> None:
    async def main(clock: VirtualClock) -> list[int]:
        rung: list[int] = []
        for number in range(40):
            clock.call_later(5 if number % 2 else 5.1 - 0.1, partial(rung.append, number))
            clock.call_later(number % 7, lambda: None)  # so that the heap is of no order
        await clock.sleep(6)
        return rung

    assert virtual.run(main) == [*range(40)]


def test_a_timer_is_never_early_and_is_as_late_on_every_day() -> None:
    delays = [0.001, 0.1, 1 / 3, 0.7]

    async def main(clock: VirtualClock) -> list[list[float]]:
        late: list[list[float]] = []
        for day in range(400):
            await clock.sleep(day * 86_400 - clock.monotonic())
            late.append([])
            for delay in delays:
                begun = clock.monotonic()
                await clock.sleep(delay)
                late[-1].append(clock.monotonic() - begun - delay)
        return late

    found = virtual.run(main)
    assert all(0 <= each < 1e-7 for each in found[0])
    assert all(day == found[0] for day in found)


def test_after_a_hundred_years_a_microsecond_still_counts() -> None:
    async def main(clock: VirtualClock) -> float:
        await clock.sleep(100 * 365 * 86400)
        begun = clock.monotonic()
        for _ in range(100):
            await clock.sleep(0.001)
        return clock.monotonic() - begun

    assert virtual.run(main) == pytest.approx(0.1, abs=1e-4)


def test_time_stands_still_while_anybody_has_something_to_do() -> None:
    async def main(clock: VirtualClock) -> float:
        for _ in range(1000):
            await clock.sleep(0)
        return clock.monotonic()

    assert virtual.run(main) == 0


def test_asyncio_itself_lives_in_virtual_time() -> None:
    async def main(clock: VirtualClock) -> datetime:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(3600):
                await asyncio.Event().wait()
        return clock.now()

    assert virtual.run(main, start=START) == START + timedelta(hours=1)


def test_the_wall_clock_can_be_set_and_timers_do_not_notice() -> None:
    async def main(clock: VirtualClock) -> tuple[datetime, float, float]:
        sleeping = asyncio.create_task(clock.sleep(10))
        await clock.sleep(4)
        clock.jump(-3600)
        await sleeping
        return clock.now(), clock.monotonic(), clock.timestamp()

    now, elapsed, stamp = virtual.run(main, start=START)
    assert now == START + timedelta(seconds=10 - 3600)
    assert elapsed == 10
    assert stamp == now.timestamp()


def test_waiting_for_nothing_is_told_instead_of_done(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(virtual, "_STUCK_SECONDS", 0.01)

    async def main(clock: VirtualClock) -> None:
        await asyncio.Event().wait()

    with pytest.raises(virtual.Stuck, match="no timer is set"):
        virtual.run(main)


def test_a_thread_can_still_wake_the_loop() -> None:
    async def main(clock: VirtualClock) -> str:
        loop = asyncio.get_running_loop()
        done: asyncio.Future[str] = loop.create_future()
        threading.Thread(target=lambda: loop.call_soon_threadsafe(done.set_result, "hello")).start()
        return await done

    assert virtual.run(main) == "hello"


def test_the_end_of_a_run_waits_for_its_threads() -> None:
    ended: list[bool] = []

    def linger(until: threading.Event) -> None:
        ended.append(until.wait(0.2))

    async def main(clock: VirtualClock) -> None:
        asyncio.get_running_loop().run_in_executor(None, linger, threading.Event())

    virtual.run(main)
    assert ended == [False]


def test_a_start_without_a_time_zone_is_refused() -> None:
    async def main(clock: VirtualClock) -> None: ...

    with pytest.raises(ValueError, match="needs a time zone"):
        virtual.run(main, start=datetime(2026, 1, 1))


def test_the_same_seed_gives_the_same_run() -> None:
    async def main(clock: VirtualClock) -> list[tuple[int, float]]:
        trace: list[tuple[int, float]] = []

        async def walk(who: int) -> None:
            for _ in range(20):
                await clock.sleep(clock.rng.choice((0, 0.5, 1, clock.rng.random())))
                trace.append((who, clock.monotonic()))

        await asyncio.gather(*(walk(who) for who in range(10)))
        return trace

    assert virtual.run(main, seed=7) == virtual.run(main, seed=7)
    assert virtual.run(main, seed=7) != virtual.run(main, seed=8)


def test_the_machine_s_clock() -> None:
    async def main() -> None:
        clock: Clock = RealClock()
        assert abs(clock.now() - datetime.now(UTC)) < timedelta(seconds=5)
        assert clock.now().tzinfo is UTC
        begun, rung = clock.monotonic(), asyncio.Event()
        clock.call_later(0.001, rung.set)
        await rung.wait()
        await clock.sleep(0.001)
        assert clock.monotonic() > begun

    asyncio.run(main())


def test_however_short_a_pause_is_time_passes() -> None:
    """Else whoever looks again when a moment is left would look again for ever."""

    async def main(clock: VirtualClock) -> int:
        looked, end = 0, clock.monotonic() + 1e-3
        await clock.sleep(1e-3 - 1e-9)
        while clock.monotonic() < end:
            looked += 1
            await clock.sleep((end - clock.monotonic()) / 2)
        return looked

    assert virtual.run(main) < 10


def test_a_socket_is_heard_while_a_virtual_loop_is_busy() -> None:
    async def story(clock: VirtualClock) -> bytes:
        near, far = socket.socketpair()
        with near, far:
            near.setblocking(False)
            heard = asyncio.create_task(asyncio.get_running_loop().sock_recv(near, 9))
            await asyncio.sleep(0)
            far.send(b"hello")
            while not heard.done():  # noqa: ASYNC110 - the loop is to be busy
                await asyncio.sleep(0)
            return heard.result()

    assert virtual.run(story) == b"hello"
