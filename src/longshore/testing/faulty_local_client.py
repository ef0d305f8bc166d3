"""The client of a cluster's own controllers, which faults may strike. Without any it is the plain one."""

from __future__ import annotations

import builtins
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from longshore.api.errors import StatusError
from longshore.api.types import Obj
from longshore.client.ask import Ask, Page
from longshore.client.client import Client
from longshore.client.local import LocalClient
from longshore.client.protocol import WatchEvent

if TYPE_CHECKING:
    from longshore.apiserver.api import Api
    from longshore.client.errors import Unreachable
    from longshore.machinery.time.clock import Clock
    from longshore.testing.injected_faults import Faults


class FaultyLocalClient(LocalClient):
    """While faults wait, each write is waited for and none is made together with others."""

    def __init__(self, api: Api, clock: Clock, faults: Faults) -> None:
        super().__init__(api)
        self._clock, self._faults = clock, faults

    async def _one(self, ask: Ask) -> Obj:
        if self._faults.waiting:
            await self._struck(ask)
        return await super()._one(ask)

    async def _page(self, ask: Ask) -> Page:
        if self._faults.waiting:
            await self._struck(ask)
        return await super()._page(ask)

    async def _slowly(self, asks: Sequence[Ask]) -> builtins.list[Obj | StatusError | Unreachable]:
        if self._faults.waiting:
            return await Client._slowly(self, asks)
        return await super()._slowly(asks)

    async def _together(self, asks: Sequence[Ask]) -> builtins.list[Obj | StatusError | Unreachable]:
        if self._faults.waiting:
            return await Client._together(self, asks)
        return await super()._together(asks)

    def pipelined(self) -> LocalClient:
        return self if self._faults.waiting else super().pipelined()

    @asynccontextmanager
    async def _events(self, ask: Ask) -> AsyncIterator[AsyncIterator[WatchEvent]]:
        if self._faults.waiting:
            await self._struck(ask)
        async with super()._events(ask) as events:
            yield events

    async def _struck(self, ask: Ask) -> None:
        delay, problem = self._faults.strike("controllers", ask.verb, ask.resource.plural, ask.subresource)
        if delay:
            await self._clock.sleep(delay)
        if problem is not None:
            raise problem
