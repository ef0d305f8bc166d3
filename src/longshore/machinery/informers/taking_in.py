"""Reads what somebody new wants, beside the watch that goes on: those who were there before miss nothing.

An object may have changed on the watch since it was read, so one that is known newer stays as it is; one that
was deleted meanwhile is left out. The list is made after its scope was wanted; one that is older is refused.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable, Iterable

from longshore.api.types import Obj
from longshore.client import Client
from longshore.machinery.informers.reflector import OldList, Selection, revision_of
from longshore.machinery.informers.scopes import Covered, Scope, Scopes
from longshore.machinery.queues.backoff import Backoff
from longshore.machinery.time.clock import Clock

Taken = Callable[[Iterable[Obj], list[Covered]], None]
"""Hears of some objects, and of the scopes that are complete with them."""

log = logging.getLogger(__name__)


class TakingIn:
    """Stopped while everything is read: that look has all who came before it."""

    def __init__(
        self,
        client: Client,
        selection: Selection,
        scopes: Scopes,
        taken: Taken,
        *,
        clock: Clock,
        rng: random.Random,
    ) -> None:
        self._client, self._selection, self._scopes, self._taken = client, selection, scopes, taken
        self._clock, self._rng = clock, rng
        self._task: asyncio.Task[None] | None = None
        self._gone: set[str] = set()
        """UIDs of objects that were deleted since the list under way began."""

    @property
    def is_reading(self) -> bool:
        return self._task is not None

    def wake(self) -> None:
        """Begins to read if there is something unread, and goes on until there is not."""
        if self._task is None and self._scopes.unread():
            self._task = asyncio.create_task(self._run(), name=f"taking in {self._selection.what}")

    def stop(self) -> None:
        task, self._task = self._task, None
        if task is not None:
            task.cancel()

    def deleted(self, obj: Obj) -> None:
        """The watch told of this deletion."""
        self._gone.add(obj["metadata"].get("uid") or "")

    async def _run(self) -> None:
        pauses = Backoff(self._clock, self._rng)
        while unread := self._scopes.unread():
            try:
                await self._read(unread)
            except Exception as err:  # whatever it is: users wait for this, and nobody else would hear of it
                log.warning("cannot read %s for new users: %s", self._selection.what, err)
                await self._clock.sleep(pauses.next())
        self._task = None

    async def _read(self, scopes: list[Scope]) -> None:
        covered = self._scopes.covered(scopes)
        self._gone.clear()

        def only(namespace: str) -> bool:
            return any(scope.wants(namespace) for scope in scopes)

        selection = self._selection._asdict()
        what = selection.pop("what")
        newest = await self._client.current_version(what, selection["namespace"])
        async for page in self._client.pages(what, **selection, only=only):
            if revision_of(page.resource_version) < revision_of(newest):
                raise OldList(page.resource_version, newest)
            self._taken([obj for obj in page.items if self._is_wanted(obj, only)], [])
            await asyncio.sleep(0)  # others get their turn
        self._taken((), covered)

    def _is_wanted(self, obj: Obj, only: Callable[[str], bool]) -> bool:
        meta = obj["metadata"]
        return meta.get("uid") not in self._gone and only(meta.get("namespace") or "")
