"""Keeps a copy of one resource's objects and tells when one changed: list, watch, and start over.

Survives everything short of cancellation: a forgotten version (410) lists again, an error or a lost
connection waits a little longer each time. Says which object changed, never how: controllers read state.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from longshore.api.errors import StatusError
from longshore.api.types import Obj
from longshore.client import Client, Unreachable, What

Key = tuple[str, str]
"""Namespace and name."""

_FIRST_PAUSE, _LONGEST_PAUSE = 0.2, 30.0
log = logging.getLogger(__name__)


def key_of(obj: Obj) -> Key:
    meta = obj["metadata"]
    return meta.get("namespace") or "", meta["name"]


class Mirror:
    """`objects` is the state as last seen; `on_change` is called after each change of it."""

    def __init__(
        self, client: Client, what: What, on_change: Callable[[Key], None], *, fields: str = ""
    ) -> None:
        self.objects: dict[Key, Obj] = {}
        self.filled = asyncio.Event()
        """Set once the first list is in."""
        self._client, self._what, self._fields = client, what, fields
        self._on_change = on_change

    async def run(self) -> None:
        """Follows the resource until cancelled."""
        pause = _FIRST_PAUSE
        while True:
            try:
                version = await self._list()
                pause = _FIRST_PAUSE
                await self._watch(version)
            except StatusError as err:
                if err.code == 410:
                    continue
                log.warning("cannot follow %s: %s", self._what, err)
            except Unreachable as err:
                log.warning("cannot follow %s: %s", self._what, err)
            await asyncio.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE)

    async def _list(self) -> str:
        found = await self._client.list(self._what, fields=self._fields)
        before, self.objects = self.objects, {key_of(obj): obj for obj in found.items}
        self.filled.set()
        for key in before.keys() | self.objects.keys():
            if before.get(key) != self.objects.get(key):
                self._on_change(key)
        return found.resource_version

    async def _watch(self, version: str) -> None:
        """Goes on from watch to watch; returns by raising."""
        while True:
            async with self._client.watch(
                self._what, fields=self._fields, resource_version=version
            ) as events:
                async for event in events:
                    version = event.resource_version
                    if event.type == "BOOKMARK":
                        continue
                    key = key_of(event.object)
                    if event.type == "DELETED":
                        self.objects.pop(key, None)
                    else:
                        self.objects[key] = event.object
                    self._on_change(key)
