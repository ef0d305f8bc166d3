"""A watch with a selector has to look at every object. Of many it looks at some in each turn of the loop, and
misses nothing of what happens meanwhile."""

from __future__ import annotations

import asyncio

import pytest

from longshore.apiserver.rest.list import SLICE_ENTRIES

pytestmark = pytest.mark.anyio
MANY = 3 * SLICE_ENTRIES
FIRST = f"c{0:04}"
FROM_THE_BEGINNING = {"resourceVersion": "1"}
WITH_INITIAL_EVENTS = {
    "sendInitialEvents": "true",
    "resourceVersionMatch": "NotOlderThan",
    "allowWatchBookmarks": "true",
}


async def _fill(server) -> None:
    for n in range(MANY):
        await server.create("configmaps", {"metadata": {"name": f"c{n:04}"}})


@pytest.mark.parametrize("how", [{}, WITH_INITIAL_EVENTS, FROM_THE_BEGINNING])
async def test_others_have_their_turns_while_it_looks(server, how):
    await _fill(server)
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    counting = asyncio.create_task(count())
    stream = await server.api.watch(
        server.call("configmaps", "watch", fieldSelector=f"metadata.name=c{MANY - 1:04}", **how)
    )
    found = await anext(stream)
    counting.cancel()
    await stream.aclose()
    assert (found[0].type, found[0].entry.key.name) == ("ADDED", f"c{MANY - 1:04}")
    assert turns >= MANY // SLICE_ENTRIES - 1


async def test_a_change_while_it_looks_comes_behind_the_first_events(server):
    await _fill(server)
    stream = await server.api.watch(
        server.call("configmaps", "watch", fieldSelector=f"metadata.name={FIRST}", **WITH_INITIAL_EVENTS)
    )
    first = asyncio.ensure_future(anext(stream))
    await asyncio.sleep(0)
    assert not first.done()
    await server.patch("configmaps", FIRST, {"data": {"a": "b"}})
    found = [*await first, *await anext(stream)]
    await stream.aclose()
    assert [change.type for change in found] == ["ADDED", "BOOKMARK", "MODIFIED"]
    assert "data" not in found[0].entry.obj
    assert found[2].entry.obj["data"] == {"a": "b"}
    assert int(found[1].metadata["resourceVersion"]) < found[2].revision
