"""A client whose first look at each resource is an old one, as an API server that lags behind may answer."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from longshore.api import errors
from longshore.client import Client
from longshore.client.ask import Ask, Page
from longshore.client.source import Watching
from longshore.machinery.informers.reflector import named
from longshore.store import Store
from longshore.testing.crashing import OneByOne

_OLD_REVISIONS = 30
"""How many changes such a look may lack."""


class OldLooks(OneByOne):
    """Refuses the first stream of initial events, and answers the list that follows from some changes ago."""

    def __init__(self, client: Client, store: Store, rng: random.Random) -> None:
        super().__init__(client)
        self._store, self._rng = store, rng
        self._refused: set[tuple[str, str]] = set()
        self._looking: set[tuple[str, str]] = set()
        self._answered: set[tuple[str, str]] = set()

    @asynccontextmanager
    async def _events(self, ask: Ask) -> AsyncIterator[Watching]:
        if "sendInitialEvents" in ask.query and named(ask.resource) not in self._refused:
            self._refused.add(named(ask.resource))
            raise errors.bad_request("initial events are not to be had here")
        async with self._client._events(ask) as events:
            yield events

    async def _page(self, ask: Ask) -> Page:
        key = named(ask.resource)
        is_list = ask.verb == "list" and key in self._refused
        if is_list and ask.query == {"limit": "1"}:
            self._looking.add(key)  # an informer asks for the version before it lists
        elif is_list and key in self._looking and key not in self._answered:
            self._answered.add(key)
            newest = self._store.revision
            revision = self._rng.randint(max(self._store.oldest, newest - _OLD_REVISIONS), newest)
            ask.query |= {"resourceVersion": str(revision), "resourceVersionMatch": "Exact"}
        return await super()._page(ask)
