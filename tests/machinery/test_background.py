"""Errands run in the background, in tasks that are kept."""

from __future__ import annotations

import asyncio
import logging

import pytest

from longshore.machinery.background import Background

pytestmark = pytest.mark.anyio


async def _turns() -> None:
    """A few turns of the loop, in which whatever waits for nothing gets done."""
    for _ in range(5):
        await asyncio.sleep(0)


async def test_errands_run_side_by_side() -> None:
    background, gate, done = Background(), asyncio.Event(), []

    async def errand(number: int) -> None:
        await gate.wait()
        done.append(number)

    for number in range(5):
        background.spawn(errand(number))
    await asyncio.sleep(0)
    gate.set()
    await _turns()
    assert done == [0, 1, 2, 3, 4]
    await asyncio.gather(*background.cancel(), return_exceptions=True)


async def test_a_hand_that_is_free_does_the_next_errand() -> None:
    background, tasks = Background(), set()

    async def errand() -> None:
        tasks.add(asyncio.current_task())

    for _ in range(3):
        background.spawn(errand())
        await _turns()
    assert len(tasks) == 1
    await asyncio.gather(*background.cancel(), return_exceptions=True)


async def test_what_an_errand_raises_is_logged_and_its_hand_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    background, done = Background(), []

    async def bad() -> None:
        raise RuntimeError("no such road")

    async def good() -> None:
        done.append(1)

    with caplog.at_level(logging.ERROR):
        background.spawn(bad())
        await _turns()
        background.spawn(good())
        await _turns()
    assert "no such road" in caplog.text
    assert done == [1]
    await asyncio.gather(*background.cancel(), return_exceptions=True)


async def test_cancelling_ends_what_is_under_way_and_what_has_not_begun() -> None:
    background, ended = Background(), []

    async def errand(name: str) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(name)

    async def nothing() -> None: ...

    background.spawn(nothing())
    await _turns()
    background.spawn(errand("free hand"))  # given to a hand that waits, and cancelled before it could begin
    await asyncio.gather(*background.cancel(), return_exceptions=True)
    background.spawn(errand("new hand"))
    await asyncio.gather(*background.cancel(), return_exceptions=True)
    assert ended == []
    background.spawn(errand("under way"))
    await _turns()
    await asyncio.gather(*background.cancel(), return_exceptions=True)
    assert ended == ["under way"]


async def test_a_burst_leaves_no_more_hands_than_are_kept() -> None:
    background, gate, done = Background(), asyncio.Event(), 0

    async def errand() -> None:
        nonlocal done
        await gate.wait()
        done += 1

    for _ in range(200):
        background.spawn(errand())
    await _turns()
    gate.set()
    await _turns()
    assert done == 200
    assert len(background.cancel()) == 64
    await asyncio.sleep(0)
