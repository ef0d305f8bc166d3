"""A client whose lists and watches are written down beforehand. An exception in a script is raised."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from longshore.api.errors import StatusError
from longshore.api.types import Obj
from longshore.client import WatchEvent
from longshore.client.ask import Page
from longshore.client.source import Entry, Unpacked, Watching

GONE = StatusError(410, "Expired", "too old resource version")
NOT_OFFERED = StatusError(422, "Invalid", "sendInitialEvents is forbidden for watch")


def obj(name: str, version: int, uid: str = "", **meta: Any) -> Obj:
    fixed = {"name": name, "namespace": "ns", "uid": uid or f"uid-{name}", "resourceVersion": str(version)}
    return {"metadata": {**fixed, **meta}}


def added(name: str, version: int, uid: str = "", **meta: Any) -> WatchEvent:
    return WatchEvent("ADDED", obj(name, version, uid, **meta))


def modified(name: str, version: int, **meta: Any) -> WatchEvent:
    return WatchEvent("MODIFIED", obj(name, version, **meta))


def deleted(name: str, version: int, uid: str = "", **meta: Any) -> WatchEvent:
    return WatchEvent("DELETED", obj(name, version, uid, **meta))


def bookmark(version: int, *, ends: bool = False) -> WatchEvent:
    meta: Obj = {"resourceVersion": str(version)}
    if ends:
        meta["annotations"] = {"k8s.io/initial-events-end": "true"}
    return WatchEvent("BOOKMARK", {"metadata": meta})


class Scripted:
    """Each list and each `watch` takes the next script; a list may be one of pages. A number in a watch waits
    so many seconds.

    When the watches are used up, the next one waits for ever and `done` is set. With `streams` False,
    watches that ask for initial events are refused, as by servers that do not know them.
    """

    shared = None

    def __init__(self, lists: list[Any], watches: list[Any], *, streams: bool = False) -> None:
        self.lists, self.watches, self.streams = lists, watches, streams
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.done = asyncio.Event()
        self.newest = "0"

    @property
    def watched_from(self) -> list[str]:
        return [
            o["resource_version"] for verb, o in self.asked if verb == "watch" and "resource_version" in o
        ]

    def entry(self, resource: Any, obj: Obj) -> Entry:
        return Unpacked(obj)

    async def current_version(self, what: Any, namespace: str = "") -> str:
        return self.newest

    async def pages(self, what: Any, **options: Any) -> AsyncIterator[Page]:
        self.asked.append(("list", options))
        found = self.lists.pop(0)
        if isinstance(found, Exception):
            raise found
        for page in found if isinstance(found, list) else [Page(*found)]:
            yield page

    @asynccontextmanager
    async def watch(self, what: Any, **options: Any) -> AsyncIterator[Watching]:
        self.asked.append(("watch", options))
        if options.get("initial_events") and not self.streams:
            raise NOT_OFFERED
        yield Watching(self._events(self.watches.pop(0) if self.watches else None))

    async def _events(self, script: Sequence[Any] | None) -> AsyncIterator[WatchEvent]:
        if script is None:
            await asyncio.sleep(0)  # what was told so far is applied first
            await asyncio.sleep(0)
            self.done.set()
            await asyncio.Event().wait()
            return
        for step in script:
            if isinstance(step, Exception):
                raise step
            if isinstance(step, int | float):
                await asyncio.sleep(step)
            else:
                yield step
