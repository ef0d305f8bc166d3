"""`LocalClient`: the client protocol on the API object of this process. No HTTP, no copies.

Reads return the store's own frozen views, so a list of ten thousand pods costs a list of ten thousand
references. Every call passes the same checks and admission as a call over the network.
"""

from __future__ import annotations

import asyncio
import builtins
import copy
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from typing import TYPE_CHECKING, Final, TypeAlias

import msgspec

from longshore.api import errors
from longshore.api.errors import StatusError
from longshore.api.facts import kinds, settled_objects
from longshore.api.resources import Resource
from longshore.api.types import Obj
from longshore.apiserver.answer import Answer, DocumentAnswer, Found, Later, ListAnswer, LogAnswer, served
from longshore.apiserver.request import router
from longshore.apiserver.request.call import INTERNAL, Call, Query, User
from longshore.apiserver.rest.watch import Notice
from longshore.client.ask import Ask, Page, built_in, known
from longshore.client.client import Client
from longshore.client.projection import WHOLE, Projection
from longshore.client.protocol import Packed, PatchType, Request, Response, WatchEvent, What
from longshore.client.source import (
    Begin,
    Bookmark,
    Changed,
    Listed,
    ListEnded,
    Place,
    Taker,
    Watching,
)
from longshore.client.writes import Pace, Result, Write, batches
from longshore.store import Entry, Event, StoreError

if TYPE_CHECKING:
    from longshore.apiserver.api import Api
    from longshore.apiserver.http.begin import ApiFront
    from longshore.apiserver.rest.watch import Stream
    from longshore.store import Staged


_Sort: TypeAlias = tuple[int, str, str, str]
"""The key of a route: `id` of the row that a request names, verb, subresource, content type."""
_Route: TypeAlias = tuple[Resource, bool, Resource]
"""The row served, whether objects are passed without encoding, the row named (keeps its `id` valid)."""

_WRITES_PER_TURN: Final = 64
"""Writes that are made before the event loop gets to run other tasks."""
_PODS: Final = "pods"
_NO_QUERY: Final[Query] = {}
_WITH_ONE_OBJECT: Final = (Answer, DocumentAnswer)
_AS_VALUES: Final = ("", "status", "binding")
"""Subresources whose objects need not be encoded as a request body."""


class LocalClient(Client):
    """Talks to `api` as `user`. Runs on the API's event loop."""

    page_size = 0  # one consistent snapshot is at hand; pages would only cost
    has_aggregation = False

    def __init__(self, api: Api, *, manager: str = "longshore", user: User = INTERNAL) -> None:
        super().__init__(manager)
        self.api = api
        self._user = user
        self.writes_at_once = _WRITES_PER_TURN if api.shortcuts.on else 1
        self._is_in_order = False
        self._last: Staged | None = None
        """The last of the writes in order: when it is durable, all before it are."""
        self._front: ApiFront | None = None
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
        from longshore.apiserver.http.begin import ApiFront
        from longshore.client import in_process_request

        if self._front is None:
            self._front = ApiFront(self.api)
        return await in_process_request.answer(self._front, self._user, self.manager, request)

    @asynccontextmanager
    async def log(
        self, pod: str, namespace: str, query: Mapping[str, str]
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        resource = await self.resource(kinds.PODS)
        answer = await self.api.found(self._call(Ask("get", resource, namespace, pod, "log", dict(query))))
        assert isinstance(answer, LogAnswer), "pods/log answers with a log"
        if answer.text is None:  # the pod has no node yet
            yield aiter(_nothing())
            return
        async with aclosing(answer.text) as text:
            yield text

    async def close(self) -> None:
        """Does nothing: a local client holds no connection."""

    async def _one(self, ask: Ask) -> Obj:
        return await self._shown(await self._accepted(ask))

    async def write(self, writes: Sequence[Write], pace: Pace | None = None) -> builtins.list[Result]:
        """Waits once for all batches, without tasks: the API refuses a write before it becomes durable."""
        if not self.api.shortcuts.on:
            return await super().write(writes, pace)
        accepted: builtins.list[Answer | DocumentAnswer | StatusError] = []
        for some in batches(writes, accepted, pace):
            for write in some:
                try:
                    resource = known(write.what) or await self.resource(write.what)
                    ask = write.ask(resource, self._write_query(False, ""))
                    accepted.append(await self._accepted(ask))
                except StatusError as err:
                    accepted.append(err)
                if not len(accepted) % _WRITES_PER_TURN:
                    await asyncio.sleep(0)
        answers: builtins.list[Result] = []
        for answer in accepted:
            try:
                answers.append(answer if isinstance(answer, StatusError) else await self._shown(answer))
            except StatusError as err:
                answers.append(err)
        return answers

    async def _accepted(self, ask: Ask) -> Answer | DocumentAnswer:
        call = self._call(ask)
        try:
            answer = _one_of(await (self.api.found(call) if ask.verb == "get" else self.api.accepted(call)))
        except StoreError as err:
            raise errors.internal(str(err)) from err
        if answer.staged and self._is_in_order:
            self._last = answer.staged[-1]
        return answer

    async def _shown(self, answer: Answer | DocumentAnswer) -> Obj:
        """The object of an answer, once it is durable; a client that writes in order does not wait."""
        if answer.staged and not self._is_in_order:
            await _done(answer.staged[-1])
        return answer.view()

    def in_order(self) -> LocalClient:
        """The journal takes writes in the order in which they were made, and a failed write fails all later
        ones. So after a crash the first writes exist and the rest do not, as if each had been awaited."""
        if not self.api.shortcuts.on:
            return self
        client = copy.copy(self)
        client._is_in_order, client._last = True, None
        return client

    async def durable(self) -> None:
        if self._last is not None:
            await _done(self._last)

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
    async def _events(self, ask: Ask) -> AsyncIterator[Watching]:
        async with aclosing(LocalEvents(self.api, self._call(ask))) as events:
            yield events

    def _call(self, ask: Ask) -> Call:
        """The call that `ask` becomes. Refuses a request that the router of HTTP requests would refuse."""
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
        """The row for a request, and whether its object or patch is passed without encoding."""
        named, subresource = ask.resource, ask.subresource
        place = named.group, named.version, named.plural
        row = self.api.made.find(*place) or self.api.catalog.find(*place)
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
        if named.style == row.style == "builtin":  # other rows may change or be removed
            self._routes[sort] = route
        return route


class StoredEntry(msgspec.Struct, frozen=True, eq=False, gc=False):
    """An object as the store holds it. The store has its JSON anyway, so packing takes no memory."""

    resource: Resource
    entry: Entry

    @property
    def obj(self) -> Obj:
        return self.entry.obj

    @property
    def place(self) -> Place:
        return self.entry.key.place

    def read(self, reads: Projection) -> Obj:
        """The whole object if the store has it decoded, else the fields that are read. Beside a copy, the
        store decodes its own again for the next write: 1.29 instead of 1.04 ms a Job (bench/jobs.py)."""
        return self.entry.obj if reads is WHOLE or self.entry.is_decoded else reads.one(self.entry.raw)

    @property
    def facts(self) -> Obj:
        return settled_objects.facts_of(self.entry.raw) if self.resource.storage == _PODS else self.obj

    def packed(self, has_settled: bool) -> Packed | None:
        return self if has_settled else None


class ConvertedEntry(StoredEntry, frozen=True, eq=False, gc=False):
    """An object that is served in another form than it is stored."""

    @property
    def obj(self) -> Obj:
        return served(self.resource, self.entry.obj)

    def read(self, reads: Projection) -> Obj:
        return self.obj


def _sort_of(resource: Resource) -> type[StoredEntry]:
    return ConvertedEntry if resource.strategy.converts else StoredEntry


class LocalEvents(Watching):
    """The events of one watch. With shortcuts, a taker gets them directly, without waking an iterator, and as
    entries that are not unpacked."""

    def __init__(self, api: Api, call: Call) -> None:
        self._each_event = self._each()
        super().__init__(self._each_event)
        self._api, self._call = api, call
        self._stream: Stream | None = None

    async def aclose(self) -> None:
        await self._each_event.aclose()
        if self._stream is not None:
            await self._stream.aclose()  # without an iterator

    async def list_to(self, taker: Taker) -> bool:
        if not self._api.shortcuts.on:
            return await super().list_to(taker)
        self._stream = await self._api.watch(self._call)
        first = await anext(self._stream, None)
        end = first[-1] if first else None
        if first is None or not isinstance(end, Notice):
            return False
        if end.metadata is None:
            raise StatusError.from_status(end.status or {}, 500)
        taker(Begin())
        found = [event.entry for event in first if isinstance(event, Event)]
        resource = self._call.resource
        made = (
            _sort_of(resource) if found else StoredEntry
        )  # a kind without objects may be without a strategy
        taker(Listed([made(resource, entry) for entry in found]))
        taker(ListEnded(end.metadata["resourceVersion"]))
        return True

    async def hand_to(self, taker: Taker) -> None:
        if not self._api.shortcuts.on:
            return await super().hand_to(taker)
        resource = self._call.resource

        def take(events: Sequence[Event]) -> None:
            made = _sort_of(resource)
            changes = [(event.type, made(resource, event.entry)) for event in events]
            taker(Changed(changes, str(events[-1].revision)))

        stream = self._stream = self._stream or await self._api.watch(self._call)
        is_handed_over = False
        if stream.source is not None:
            stream.hand_to(take)
            is_handed_over = True
        async for batch in stream:
            if events := [event for event in batch if isinstance(event, Event)]:
                take(events)
            for notice in batch:
                if isinstance(notice, Notice):
                    if notice.metadata is None:
                        raise StatusError.from_status(notice.status or {}, 500)
                    taker(Bookmark(notice.metadata["resourceVersion"]))
            if not is_handed_over:
                stream.hand_to(take)
                is_handed_over = True

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


async def _nothing() -> AsyncGenerator[bytes, None]:
    return
    yield b""


async def _done(staged: Staged) -> None:
    try:
        await staged.done()
    except StoreError as err:
        raise errors.internal(str(err)) from err


def _by_value(ask: Ask, row: Resource) -> bool:
    """Whether the object or patch is passed without encoding. Everything else is encoded as a request first:
    applies, options, and objects that are posted but not stored."""
    if ask.verb == "patch":
        return ask.content_type != PatchType.APPLY.value
    return ask.verb == "update" or (ask.verb == "create" and "list" in row.verbs)


def _one_of(answer: Found | Later) -> Answer | DocumentAnswer:
    """An answer with one object: no log, and no connection to a pod, which goes over HTTP."""
    if isinstance(answer, _WITH_ONE_OBJECT):
        return answer
    raise errors.bad_request("connections to pods are made over HTTP, and logs are read with log()")
