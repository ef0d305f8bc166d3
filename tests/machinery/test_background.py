"""Errands run in the background; what they raise is logged."""

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


async def test_what_an_errand_raises_is_logged_and_others_go_on(caplog: pytest.LogCaptureFixture) -> None:
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

    background.spawn(errand("not begun"))
    await asyncio.gather(*background.cancel(), return_exceptions=True)
    assert ended == []
    background.spawn(errand("under way"))
    await _turns()
    await asyncio.gather(*background.cancel(), return_exceptions=True)
    assert ended == ["under way"]
