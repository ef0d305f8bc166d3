"""Watchers that outlive the server: each resumes behind the last change it saw and keeps the history."""

from __future__ import annotations

import asyncio
import json

from support.http_calls import CUT_OFF, Calls, lines
from up.crash.whole_objects import Kind


class Follower:
    """One watch of one kind, over all restarts. Notices a change told twice or out of order at once."""

    def __init__(self, kind: Kind, since: int) -> None:
        self.kind = kind
        self.last = since
        self.told: dict[int, tuple[str, int, bool]] = {}
        """Name, number and whether it was a deletion, by revision."""
        self.state: dict[str, int] = {}
        self._moved = asyncio.Event()

    async def follow(self, http: Calls) -> None:
        """Watches until the server is gone."""
        path = f"{self.kind.path}?watch=true&resourceVersion={self.last}&timeoutSeconds=3600"
        try:
            async with http.stream(path) as response:
                assert response.reader.code == 200, await response.read_all()
                async for line in lines(response):  # the kill may have cut the last one short
                    self._take(json.loads(line))
        except CUT_OFF:
            return

    async def reaches(self, revision: int) -> None:
        """Returns once this revision was told."""
        async with asyncio.timeout(20):
            while self.last < revision:
                self._moved.clear()
                await self._moved.wait()

    def _take(self, event: dict[str, object]) -> None:
        obj = event["object"]
        assert isinstance(obj, dict)
        assert event["type"] in ("ADDED", "MODIFIED", "DELETED"), event
        name, revision = obj["metadata"]["name"], int(obj["metadata"]["resourceVersion"])
        assert revision > self.last, f"revision {revision} told after {self.last}"
        was_there = name in self.state
        assert was_there == (event["type"] != "ADDED"), f"a change is missing before {event}"
        number = self.kind.number(obj)
        if event["type"] == "DELETED":
            del self.state[name]
        else:
            self.state[name] = number
        self.told[revision] = name, number, event["type"] == "DELETED"
        self.last = revision
        self._moved.set()
