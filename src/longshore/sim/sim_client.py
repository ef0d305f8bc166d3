"""A client for simulations: months pass in seconds, so what only costs is left out.

Events are heard (`heard`) and not stored. Watches never end and say nothing while nothing happens
(`Api.quiet_watches`): their bookmarks and renewals were most of what happens in an idle day.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from typing import Any

from longshore.api.errors import StatusError
from longshore.api.facts import kinds
from longshore.api.types import Obj
from longshore.apiserver.api import Api
from longshore.client import Unreachable, What
from longshore.client.local import LocalClient


class SimClient(LocalClient):
    """The client of all parts of a simulated plane. `heard` is told of every Event that one of them makes."""

    def __init__(self, api: Api, heard: Callable[[Obj], None]) -> None:
        super().__init__(api)
        api.quiet_watches = True
        self._heard = heard

    async def create(self, what: What, obj: Obj, *arguments: Any, **options: Any) -> Obj:
        if what == kinds.EVENTS:
            self._heard(obj)
            return obj
        return await super().create(what, obj, *arguments, **options)

    async def create_together(
        self, what: What, objs: Sequence[Obj], namespace: str = "", *, slowly: bool = False
    ) -> builtins.list[Obj | StatusError | Unreachable]:
        if what == kinds.EVENTS:
            for obj in objs:
                self._heard(obj)
            return [*objs]
        return await super().create_together(what, objs, namespace, slowly=slowly)

    async def patch(self, what: What, name: str, patch: Any, *arguments: Any, **options: Any) -> Obj:
        if what == kinds.EVENTS:  # one more of an Event that was heard
            return {"metadata": {"name": name}, **patch}
        return await super().patch(what, name, patch, *arguments, **options)
