"""What a client gets when it asks for a state the server no longer remembers."""

from __future__ import annotations

import pytest

from longshore.api.errors import StatusError
from longshore.apiserver.rest import paging
from longshore.store.memory_limits import Limits

pytestmark = pytest.mark.anyio


async def _forgetful(make_server, writes: int = 40):
    """A server that remembers five changes and has had many more."""
    server = await make_server(Limits(window_events=5))
    for i in range(writes):
        await server.create("configmaps", {"metadata": {"name": f"c{i:02}"}})
    return server


async def test_a_watch_from_a_forgotten_revision_is_one_error_event_and_the_end(make_server):
    server = await _forgetful(make_server)
    stream = await server.api.watch(server.call("configmaps", "watch", resourceVersion="2"))
    batches = [batch async for batch in stream]
    assert len(batches) == 1
    (change,) = batches[0]
    assert change.type == "ERROR"
    assert change.status["code"] == 410
    assert change.status["reason"] == "Expired"
    assert change.status["message"] == f"too old resource version: 2 ({server.store.oldest - 1})"


async def test_a_list_at_a_forgotten_revision_is_expired(make_server):
    server = await _forgetful(make_server)
    with pytest.raises(StatusError) as refused:
        await server.names("configmaps", resourceVersion="2", resourceVersionMatch="Exact")
    assert (refused.value.code, refused.value.reason) == (410, "Expired")
    assert refused.value.message == "The resourceVersion for the provided list is too old."


async def test_a_page_of_a_forgotten_snapshot_offers_an_inconsistent_way_on(make_server):
    server = await make_server(Limits(window_events=5))
    for i in range(6):
        await server.create("configmaps", {"metadata": {"name": f"c{i}"}})
    first = await server.api.list(server.call("configmaps", "list", limit="2"))
    assert [e.key.name for e in first.entries] == ["c0", "c1"]
    for i in range(20):
        await server.patch("configmaps", "c5", {"data": {"n": str(i)}})
    with pytest.raises(StatusError) as refused:
        await server.names("configmaps", limit="2", continue_=first.continue_)
    assert (refused.value.code, refused.value.reason) == (410, "Expired")
    on = refused.value.status()["metadata"]["continue"]
    assert await server.names("configmaps", limit="10", continue_=on) == ["c2", "c3", "c4", "c5"]


async def test_a_list_that_was_begun_long_ago_cannot_be_continued_as_of_then(make_server):
    server = await make_server()
    for i in range(4):
        await server.create("configmaps", {"metadata": {"name": f"c{i}"}})
    first = await server.api.list(server.call("configmaps", "list", limit="2"))
    server.clock.seconds += 2 * paging.MAX_PAGE_SECONDS
    assert await server.names("configmaps", limit="2", continue_=first.continue_) == ["c2", "c3"], (
        "nothing changed"
    )
    await server.delete("configmaps", "c3")
    server.clock.seconds += 20
    assert await server.names("configmaps", limit="2", continue_=first.continue_) == ["c2", "c3"]
    server.clock.seconds += paging.MAX_PAGE_SECONDS
    with pytest.raises(StatusError) as refused:
        await server.names("configmaps", limit="2", continue_=first.continue_)
    assert (refused.value.code, refused.value.reason) == (410, "Expired")
    on = refused.value.status()["metadata"]["continue"]
    assert await server.names("configmaps", limit="2", continue_=on) == ["c2"]


async def test_a_watch_within_the_window_replays_what_came_after(make_server):
    server = await _forgetful(make_server)
    since = server.store.revision - 2
    stream = await server.api.watch(server.call("configmaps", "watch", resourceVersion=str(since)))
    batch = await anext(stream)
    assert [c.entry.key.name for c in batch] == ["c38", "c39"]
    await stream.aclose()
