"""Keys that wait to be looked at."""

from __future__ import annotations

import asyncio

import pytest

from longshore.controllers.worklist import Worklist

pytestmark = pytest.mark.anyio


async def test_a_key_added_twice_is_handed_out_once() -> None:
    todo: Worklist[str] = Worklist()
    for key in ("a", "a", "b"):
        todo.add(key)
    assert {await todo.next(), await todo.next()} == {"a", "b"}
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(todo.next(), 0.01)


async def test_a_key_for_later_waits_and_one_for_now_overtakes_it() -> None:
    todo: Worklist[str] = Worklist()
    todo.add("later", 0.05)
    waiting = asyncio.create_task(todo.next())
    await asyncio.sleep(0)
    todo.add("now")
    assert await waiting == "now"
    assert await asyncio.wait_for(todo.next(), 1) == "later"


async def test_wanting_a_key_sooner_counts_and_wanting_it_later_does_not() -> None:
    todo: Worklist[str] = Worklist()
    todo.add("a", 60)
    todo.add("a", 0)
    todo.add("a", 60)
    assert await asyncio.wait_for(todo.next(), 1) == "a"


async def test_failures_in_a_row_wait_longer_until_one_goes_well() -> None:
    todo: Worklist[str] = Worklist()
    loop = asyncio.get_running_loop()

    async def waited() -> float:
        begun = loop.time()
        todo.failed("a")
        await todo.next()
        return loop.time() - begun

    first, second = await waited(), await waited()
    assert second > 1.5 * first
    todo.succeeded("a")
    assert await waited() < second
