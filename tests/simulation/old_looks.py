"""A client whose first look at each resource is an old one, as an API server that lags behind may answer."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from longshore.api import errors
from longshore.client import What
from longshore.client.ask import Ask, Page, given, known
from longshore.client.local import LocalClient
from longshore.machinery.informers.reflector import named
from longshore.store import Store

_OLD_REVISIONS = 30
"""How many changes such a look may lack."""


class OldLooks:
    """Refuses the first stream of initial events, and answers the list that follows from some changes ago."""

    def __init__(self, client: LocalClient, store: Store, rng: random.Random) -> None:
        self._client, self._store, self._rng = client, store, rng
        self._refused: set[tuple[str, str]] = set()
        self._answered: set[tuple[str, str]] = set()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    @asynccontextmanager
    async def watch(self, what: What, *arguments: Any, **options: Any) -> AsyncIterator[Any]:
        if options.get("initial_events") and named(what) not in self._refused:
            self._refused.add(named(what))
            raise errors.bad_request("initial events are not to be had here")
        async with self._client.watch(what, *arguments, **options) as events:
            yield events

    async def pages(self, what: What, namespace: str = "", **options: Any) -> AsyncIterator[Page]:
        key = named(what)
        if key not in self._refused or key in self._answered:
            async for page in self._client.pages(what, namespace, **options):
                yield page
            return
        self._answered.add(key)
        newest = self._store.revision
        revision = self._rng.randint(max(self._store.oldest, newest - _OLD_REVISIONS), newest)
        resource = known(what) or await self._client.resource(what)
        query = given(labelSelector=options.get("labels", ""), fieldSelector=options.get("fields", ""))
        query |= {"resourceVersion": str(revision), "resourceVersionMatch": "Exact"}
        yield await self._client._page(Ask("list", resource, namespace, query=query))
