"""Bookmarks: each minute, and two seconds before a watch ends, so that the next one begins where it ended."""

from __future__ import annotations

import pytest

from longshore.api.kinds import table
from longshore.apiserver.api import Api, ApiParts
from longshore.apiserver.request.call import Call
from longshore.machinery.time import virtual
from longshore.machinery.time.virtual import VirtualClock
from longshore.store import Store


@pytest.mark.parametrize(
    ("timeout", "moments"),
    [(1, [0]), (30, [28]), (62, [60]), (90, [60, 88]), (121, [60, 119]), (300, [60, 120, 180, 240, 298])],
)
def test_the_last_bookmark_comes_shortly_before_the_end(timeout: int, moments: list[int]) -> None:
    async def play(clock: VirtualClock) -> None:
        store = Store.open(None)
        resource = table.find("", "v1", "configmaps")
        assert resource is not None
        query = {"resourceVersion": ["1"], "allowWatchBookmarks": ["true"], "timeoutSeconds": [str(timeout)]}
        call = Call(resource, "watch", "default", query=query)
        stream = await Api(ApiParts(store, clock, clock.rng)).watch(call)
        seen = [(round(clock.monotonic()), change.type) async for changes in stream for change in changes]
        assert seen == [(moment, "BOOKMARK") for moment in moments]
        assert round(clock.monotonic()) == timeout
        await store.close()

    virtual.run(play)
