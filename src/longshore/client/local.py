"""`LocalClient`: the client protocol on the API object of this process. No HTTP, no copies.

Reads return the store's own frozen views, so a list of ten thousand pods costs a list of ten thousand
references. Every call passes the same checks and admission as a call over the network.
"""

from __future__ import annotations

import asyncio
import builtins
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import aclosing, asynccontextmanager
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from longshore.api import errors
from longshore.api.errors import StatusError
from longshore.api.facts import settled_pods
from longshore.api.resources import Resource
from longshore.api.types import Obj
from longshore.apiserver.answer import Answer, DocumentAnswer, Found, Later, ListAnswer, served
from longshore.apiserver.request import router
from longshore.apiserver.request.call import INTERNAL, Call, Query, User
from longshore.apiserver.rest.watch import Notice
from longshore.client.ask import Ask, Page, built_in
from longshore.client.client import Client
from longshore.client.in_process import FirstLook, Stored
from longshore.client.protocol import Packed, PatchType, Request, Response, WatchEvent, What
from longshore.store import Entry, Event, Key, StoreError

if TYPE_CHECKING:
    from longshore.apiserver.api import Api
    from longshore.apiserver.http.begin import FrontDoor
    from longshore.apiserver.rest.watch import Stream
    from longshore.client.errors import Unreachable
    from longshore.store import Staged


_Sort: TypeAlias = tuple[int, str, str, str]
"""Of requests that take one route: the identity of the row they name, verb, subresource, content type."""
_Route: TypeAlias = tuple[Resource, bool, Resource]
"""The row served, whether objects are handed over as they are, the row named (its identity must last)."""

_WRITES_PER_TURN: Final = 64
"""Writes that a pipeline makes before others in the event loop get their turn."""
_PODS: Final = "pods"
_MANY_OBJECTS: Final = 512
"""Fewer objects are unpacked one by one: small worlds go the same way with shortcuts and without."""
_NO_QUERY: Final[Query] = {}
_WITH_ONE_OBJECT: Final = (Answer, DocumentAnswer)
_AS_VALUES: Final = ("", "status", "binding")
"""Subresources that take objects as they are."""


class LocalClient(Client):
    """Talks to `api` as `user`. Runs on the API's event loop. Also an `in_process.InProcess`."""

    page_size = 0  # one consistent snapshot is at hand; pages would only cost

    def __init__(self, api: Api, *, manager: str = "longshore", user: User = INTERNAL) -> None:
        super().__init__(manager)
        self.api = api
        self._user = user
        self.creates_together = api.shortcuts.on
        self._front: FrontDoor | None = None
        self._routes: dict[_Sort, _Route] = {}

    async def resource(self, what: What) -> Resource:
        if isinstance(what, Resource):
            return what
        api_version, name = what
        known = built_in(api_version, name)
        if known is not None:
            return known
        for row in self.api.catalog.resources():
            if row.group_version == api_version and name in (row.kind, row.plural):
                return row
        raise LookupError(f"longshore has no {name!r} in {api_version}")

    async def resources(self) -> builtins.list[Resource]:
        return list(self.api.catalog.resources())

    async def _answer(self, request: Request) -> Response:
        from longshore.apiserver.http.begin import FrontDoor
        from longshore.client import in_process_request

        if self._front is None:
            self._front = FrontDoor(self.api)
        return await in_process_request.answer(self._front, self._user, self.manager, request)

    async def close(self) -> None:
        """Does nothing: a local client holds no connection."""

    def packed(self, resource: Resource, obj: Obj) -> Packed | None:
        """The entry of the store, which holds the JSON anyway: packed, an object takes no room at all."""
        meta = obj["metadata"]
        entry = self.api.store.get(Key(resource.storage, meta.get("namespace") or "", meta["name"]))
        if not self.api.shortcuts.on or entry is None or str(entry.revision) != meta["resourceVersion"]:
            return None
        # Whether an object is served in another form than it is stored in follows from the object.
        if not resource.strategy.converts or served(resource, entry.obj) is entry.obj:
            return entry
        return _Converted(resource, entry)

    async def _one(self, ask: Ask) -> Obj:
        call = self._call(ask)
        try:
            answer = await (self.api.found(call) if ask.verb == "get" else self.api.written(call))
        except StoreError as err:
            raise errors.internal(str(err)) from err
        return _one_of(answer).view()

    async def _slowly(self, asks: Sequence[Ask]) -> builtins.list[Obj | StatusError | Unreachable]:
        """Stages the writes in growing batches. The API refuses a write before it is durable, so all
        batches share one wait.
        """
        if not self.api.shortcuts.on:
            return await super()._slowly(asks)
        written: builtins.list[Answer | DocumentAnswer | StatusError] = []
        size = 1
        while len(written) < len(asks):
            some = [self._staged(ask) for ask in asks[len(written) : len(written) + size]]
            written += some
            if any(isinstance(answer, StatusError) for answer in some):
                break
            if size >= _WRITES_PER_TURN:
                await asyncio.sleep(0)
            size *= 2
        return await self._durable(written)

    async def _together(self, asks: Sequence[Ask]) -> builtins.list[Obj | StatusError | Unreachable]:
        """Stages all writes, then waits once, without a task for each."""
        if not self.api.shortcuts.on:
            return await super()._together(asks)
        return await self._durable([self._staged(ask) for ask in asks])

    def _staged(self, ask: Ask) -> Answer | DocumentAnswer | StatusError:
        try:
            return _one_of(self.api.write(self._call(ask)))
        except StatusError as err:
            return err
        except StoreError as err:
            return errors.internal(str(err))

    async def _durable(
        self, written: Sequence[Answer | DocumentAnswer | StatusError]
    ) -> builtins.list[Obj | StatusError | Unreachable]:
        answers: builtins.list[Obj | StatusError | Unreachable] = []
        for answer in written:
            if isinstance(answer, StatusError):
                if answer.code == 409:
                    await self.api.store.settled()
                answers.append(answer)
                continue
            try:
                if answer.staged:
                    await answer.staged[-1].done()
            except StoreError as err:
                answers.append(errors.internal(str(err)))
            else:
                answers.append(answer.view())
        return answers

    def pipelined(self) -> LocalClient:
        return Pipeline(self) if self.api.shortcuts.on else self

    async def settled(self) -> None:
        """Whatever this client answers is durable."""

    async def _page(self, ask: Ask) -> Page:
        call = self._call(ask)
        try:
            answer = await (self.api.list(call) if ask.verb == "list" else self.api.written(call))
        except StoreError as err:
            raise errors.internal(str(err)) from err
        assert isinstance(answer, ListAnswer)
        items = [served(call.resource, entry.obj) for entry in answer.entries]
        return Page(items, str(answer.revision), answer.continue_)

    @asynccontextmanager
    async def _events(self, ask: Ask) -> AsyncIterator[AsyncIterator[WatchEvent]]:
        async with aclosing(LocalEvents(self.api, self._call(ask))) as events:
            yield events

    def _call(self, ask: Ask) -> Call:
        """The call that a request for this would become. Refuses a request that the network's router would
        refuse.
        """
        sort = (id(ask.resource), ask.verb, ask.subresource, ask.content_type)
        row, as_value, _ = self._routes.get(sort) or self._route(ask, sort)
        value = ask.value
        return Call(
            row,
            ask.verb,
            ask.namespace,
            ask.name,
            ask.subresource,
            {key: (text,) for key, text in ask.query.items()} if ask.query else _NO_QUERY,
            self._user,
            self.manager,
            b"" if as_value else ask.body(),
            None if value is None else ask.content_type,
            value=value if as_value else None,
        )

    def _route(self, ask: Ask, sort: _Sort) -> _Route:
        """The row for a request, and whether its object or patch is handed over as it is."""
        named, subresource = ask.resource, ask.subresource
        row = self.api.catalog.find(named.group, named.version, named.plural)
        if row is None or (subresource and subresource not in row.subresources):
            raise router.missing()
        if ask.verb not in (row.subresources[subresource].verbs if subresource else row.verbs):
            raise errors.method_not_allowed()
        as_value = (
            self.api.shortcuts.on
            and (row.style == "builtin" or row.strategy.keeps_parts)
            and subresource in _AS_VALUES
            and _by_value(ask, row)
        )
        route = row, as_value, named
        if named.style == row.style == "builtin":  # others may change, or go
            self._routes[sort] = route
        return route


class _Converted(NamedTuple):
    """An entry that its resource serves in another form."""

    resource: Resource
    entry: Entry

    @property
    def obj(self) -> Obj:
        return served(self.resource, self.entry.obj)


def _packed(resource: Resource, entry: Entry) -> Packed:
    return _Converted(resource, entry) if resource.strategy.converts else entry


def _pod_facts(packed: Packed) -> Obj:
    assert isinstance(packed, Entry)  # pods are served as they are stored
    return settled_pods.facts_of(packed.raw)


class LocalEvents(AsyncIterator[WatchEvent]):
    """The events of one watch, one by one. Also `in_process.HandsOver` and `in_process.Shows`."""

    def __init__(self, api: Api, call: Call) -> None:
        self._api, self._call = api, call
        self._stream: Stream | None = None
        self._events = self._each()

    def __anext__(self) -> Awaitable[WatchEvent]:
        return self._events.__anext__()

    async def aclose(self) -> None:
        await self._events.aclose()
        if self._stream is not None:
            await self._stream.aclose()  # if nobody has iterated

    def hand_to(self, taker: Callable[[str, Obj], None]) -> bool:
        if not self._api.shortcuts.on:
            return True
        if self._stream is None or self._stream.source is None:
            return False
        resource = self._call.resource
        converts = resource.strategy.converts

        def take(changes: Sequence[Event]) -> None:
            for change in changes:
                obj = change.entry.obj
                taker(change.type, served(resource, obj) if converts else obj)

        self._stream.hand_to(take)
        return True

    async def first_look(self) -> FirstLook | None:
        resource = self._call.resource
        there = self._api.store.counts().get(resource.storage, 0)
        if not self._api.shortcuts.on or there < _MANY_OBJECTS:
            return None
        self._stream = await self._api.watch(self._call)
        first = await anext(self._stream, None)
        end = first[-1] if first else None
        if first is None or not isinstance(end, Notice):
            return None
        if end.metadata is None:
            raise StatusError.from_status(end.status or {}, 500)
        objects: builtins.list[Stored] = [
            (change.entry.key.place, _packed(resource, change.entry))
            for change in first
            if isinstance(change, Event)
        ]
        facts = _pod_facts if resource.storage == _PODS else None
        return FirstLook(objects, end.metadata["resourceVersion"], facts)

    async def _each(self) -> AsyncGenerator[WatchEvent, None]:
        if self._stream is None:
            self._stream = await self._api.watch(self._call)
        async with aclosing(self._stream) as stream:
            async for batch in stream:
                for change in batch:
                    if isinstance(change, Event):
                        yield WatchEvent(change.type, served(self._call.resource, change.entry.obj))
                    elif change.status is None:
                        yield WatchEvent(change.type, {"metadata": change.metadata})
                    else:
                        raise StatusError.from_status(change.status, 500)


class Pipeline(LocalClient):
    """The writes of `client`, without waiting for the journal between one and the next.

    The journal takes the writes in the order in which they were made, and a write that fails takes all
    later ones along. So a crash leaves what it would have left had each write been waited for: the first
    few of them.
    """

    def __init__(self, client: LocalClient) -> None:
        super().__init__(client.api, manager=client.manager, user=client._user)
        self._client = client
        self._last: Staged | None = None

    async def settled(self) -> None:
        if self._last is not None:
            try:
                await self._last.done()
            except StoreError as err:
                raise errors.internal(str(err)) from err

    async def _one(self, ask: Ask) -> Obj:
        if ask.verb == "get":
            return await self._client._one(ask)
        try:
            return self._written(ask)
        except StatusError as err:
            if err.code == 409:
                await self.api.store.settled()  # as for everybody: told when it can be read
            raise

    _slowly = Client._slowly

    async def _together(self, asks: Sequence[Ask]) -> builtins.list[Obj | StatusError | Unreachable]:
        answers: builtins.list[Obj | StatusError | Unreachable] = []
        for at, ask in enumerate(asks, 1):
            try:
                answers.append(await self._one(ask))
            except StatusError as err:
                answers.append(err)
            if not at % _WRITES_PER_TURN:
                await asyncio.sleep(0)
        return answers

    def _written(self, ask: Ask) -> Obj:
        try:
            answer = _one_of(self.api.write(self._client._call(ask)))
        except StoreError as err:
            raise errors.internal(str(err)) from err
        if answer.staged:
            self._last = answer.staged[-1]
        return answer.view()


def _by_value(ask: Ask, row: Resource) -> bool:
    """Whether the object or patch is handed over as it is. Everything else is written as a request first:
    applies, options, and objects that are posted but not stored.
    """
    if ask.verb == "patch":
        return ask.content_type != PatchType.APPLY.value
    return ask.verb == "update" or (ask.verb == "create" and "list" in row.verbs)


def _one_of(answer: Found | Later) -> Answer | DocumentAnswer:
    """An answer with one object. Logs and connections to pods are for HTTP."""
    if isinstance(answer, _WITH_ONE_OBJECT):
        return answer
    raise errors.bad_request("logs and connections to pods are read over HTTP")
