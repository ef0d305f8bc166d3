"""A program with threads runs in virtual time, one thread at a time."""

from __future__ import annotations

import asyncio
import importlib

import pytest

from longshore.machinery.time import virtual
from longshore.machinery.time.virtual import VirtualClock
from simulation.kits import strands, virtual_modules


def test_threads_sleep_and_wake_each_other_without_real_time() -> None:
    said: list[tuple[str, float]] = []

    async def main(clock: VirtualClock) -> None:
        with virtual_modules.instead(clock):
            time, threading = importlib.import_module("time"), importlib.import_module("threading")
        bell = threading.Event()

        def sleeper() -> None:
            time.sleep(3600)
            said.append(("rings", time.monotonic()))
            bell.set()

        def work() -> None:
            threading.Thread(target=sleeper, daemon=True).start()
            said.append(("not yet" if not bell.wait(60) else "too early", time.monotonic()))
            bell.wait()
            said.append(("heard", time.monotonic()))

        await strands.run(work)

    virtual.run(main)
    assert said == [("not yet", 60.0), ("rings", 3600.0), ("heard", 3600.0)]


def test_an_error_is_raised_where_the_thread_was_started() -> None:
    async def main(clock: VirtualClock) -> None:
        def work() -> None:
            strands.wait_for(asyncio.sleep(1))
            raise LookupError("nobody there")

        with pytest.raises(LookupError, match="nobody there"):
            await strands.run(work)

    virtual.run(main)


def test_a_thread_that_waits_for_ever_ends_when_it_is_cancelled() -> None:
    ended: list[bool] = []

    async def main(clock: VirtualClock) -> None:
        def work() -> None:
            try:
                strands.wait_for(asyncio.Event().wait())
            finally:
                ended.append(True)

        task = asyncio.create_task(strands.run(work))
        await clock.sleep(5)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    virtual.run(main)
    assert ended == [True]
