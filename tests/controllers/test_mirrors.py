"""A mirror follows a resource through everything a server can do to it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from longshore.api.errors import StatusError
from longshore.client import ObjectList, Unreachable, WatchEvent
from longshore.controllers import mirror
from longshore.controllers.mirror import Mirror

pytestmark = pytest.mark.anyio


def obj(name: str, version: int) -> dict[str, Any]:
    return {"metadata": {"name": name, "resourceVersion": str(version)}}


class Scripted:
    """A client whose lists and watches are written down beforehand. An exception in a script is raised."""

    def __init__(self, lists: list[Any], watches: list[list[Any]]) -> None:
        self.lists, self.watches = lists, watches
        self.watched_from: list[str] = []
        self.done = asyncio.Event()

    async def list(self, what: Any, namespace: str = "", **options: Any) -> ObjectList:
        found = self.lists.pop(0)
        if isinstance(found, Exception):
            raise found
        return ObjectList(*found)

    @asynccontextmanager
    async def watch(self, what: Any, **options: Any) -> AsyncIterator[AsyncIterator[WatchEvent]]:
        self.watched_from.append(options["resource_version"])
        yield self._events(self.watches.pop(0) if self.watches else None)

    async def _events(self, script: list[Any] | None) -> AsyncIterator[WatchEvent]:
        if script is None:
            self.done.set()
            await asyncio.Event().wait()
            return
        for event in script:
            if isinstance(event, Exception):
                raise event
            yield event


async def followed(client: Scripted, monkeypatch: pytest.MonkeyPatch) -> tuple[set[str], list[str]]:
    """Names the mirror has in the end, and those it reported on the way."""
    monkeypatch.setattr(mirror, "_FIRST_PAUSE", 0.001)
    changes: list[str] = []
    made = Mirror(client, ("v1", "configmaps"), lambda key: changes.append(key[1]))  # type: ignore[arg-type]
    running = asyncio.create_task(made.run())
    await asyncio.wait_for(client.done.wait(), 5)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    return {name for _, name in made.objects}, changes


async def test_it_lists_and_then_follows_from_there(monkeypatch: pytest.MonkeyPatch) -> None:
    events = [
        WatchEvent("ADDED", obj("b", 6)),
        WatchEvent("BOOKMARK", {"metadata": {"resourceVersion": "8"}}),
        WatchEvent("DELETED", obj("a", 9)),
    ]
    client = Scripted([([obj("a", 3)], "5")], [events])
    assert await followed(client, monkeypatch) == ({"b"}, ["a", "b", "a"])
    assert client.watched_from == ["5", "9"]


async def test_a_watch_that_ends_goes_on_from_its_last_event(monkeypatch: pytest.MonkeyPatch) -> None:
    bookmark = WatchEvent("BOOKMARK", {"metadata": {"resourceVersion": "7"}})
    client = Scripted([([], "5")], [[bookmark], []])
    await followed(client, monkeypatch)
    assert client.watched_from == ["5", "7", "7"]


async def test_a_forgotten_version_lists_again_and_reports_what_differs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gone = StatusError(410, "Expired", "too old resource version")
    lists = [([obj("a", 1), obj("b", 2)], "5"), ([obj("b", 2), obj("c", 8)], "9")]
    client = Scripted(lists, [[gone]])
    names, changes = await followed(client, monkeypatch)
    assert names == {"b", "c"}
    assert sorted(changes) == ["a", "a", "b", "c"]
    assert client.watched_from == ["5", "9"]


@pytest.mark.parametrize("error", [StatusError(500, "InternalError", "broken"), Unreachable("it is away")])
async def test_errors_of_any_kind_are_survived(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    client = Scripted([error, ([obj("a", 1)], "5"), error, ([obj("a", 1)], "6")], [[error]])
    names, changes = await followed(client, monkeypatch)
    assert names == {"a"}
    assert changes == ["a"]
    assert client.watched_from == ["5", "6"]
