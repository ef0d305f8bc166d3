"""The API itself: REST semantics over a store, without HTTP.

`Api` holds what every verb needs (store, clock, random source, the resources served) and is the
one entry for both engines of the client layer: the HTTP server renders its answers, LocalClient
uses them as they are. Every method first authorizes the call.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from longshore.api import codec, shape, uid
from longshore.api.errors import StatusError
from longshore.api.kinds.structural import StructuralStrategy
from longshore.api.resources import Resource
from longshore.api.time import rfc3339
from longshore.api.types import Obj
from longshore.apiserver.access import authz
from longshore.apiserver.answer import Answer, DocumentAnswer, Found, Later, LinkAnswer, ListAnswer, Rendered
from longshore.apiserver.catalog import DEFINITIONS, Catalog
from longshore.apiserver.crd import lifecycle, scale
from longshore.apiserver.documents import resource_usage
from longshore.apiserver.documents.own_group import GROUP as OWN_GROUP
from longshore.apiserver.documents.own_group import OwnGroup
from longshore.apiserver.request.call import Call
from longshore.apiserver.rest import create, delete, get, patch, update, watch
from longshore.apiserver.rest.list import list_
from longshore.apiserver.rest.watch import Stream
from longshore.apiserver.shortcuts.room import Room
from longshore.apiserver.subresources import dispatch

if TYPE_CHECKING:
    import random

    from longshore.api.clock import Clock
    from longshore.apiserver.access.browser_sessions import BrowserSessions
    from longshore.apiserver.access.tokens import Tokens
    from longshore.apiserver.metrics import Collector
    from longshore.apiserver.subresources.node_access import NodeDoor
    from longshore.store import Store

_SUFFIX_ALPHABET: Final = "bcdfghjklmnpqrstvwxz2456789"  # no vowels, so that no words appear
_SUFFIX_PAIRS: Final = [a + b for b in _SUFFIX_ALPHABET for a in _SUFFIX_ALPHABET]
_WATCH_MINUTES: Final = (30.0, 60.0)  # upstream's range for watches without timeoutSeconds

Page = Callable[[str], Obj | None]
"""From the rest of a path to the document there; None where there is none."""

OnDelete = Callable[[Call, Obj], None]
"""Takes the call and the object as it was."""


class Api:
    """Kubernetes' REST API over one store."""

    def __init__(
        self,
        store: Store,
        *,
        clock: Clock,
        rng: random.Random,
        shortcuts: bool = True,
    ) -> None:
        """`shortcuts` are ways to spare work that nobody notices but by the clock: see the room of that
        name."""
        self.store = store
        self.clock = clock
        self.shortcuts = Room(on=shortcuts)
        self.catalog = Catalog(store)
        self.authorizer = authz.Authorizer(store)
        self.tokens: Tokens | None = None
        self.browser_sessions: BrowserSessions | None = None
        """The sessions of the dashboard; None where none is served."""
        self.door: NodeDoor | None = None
        """To the node of this longshore, for logs, exec, attach and port-forward; None without one."""
        self.pages: dict[str, Page] = {}
        """Documents of others that are served beside the API, by the beginning of their paths."""
        self.on_delete: OnDelete | None = None
        """Is told of each object that somebody begins to delete."""
        self.has_uncleared = asyncio.Event()
        """Set while a definition is going whose objects `crd/clearing` has to delete."""
        self.quiet_watches = False
        """Whether watches of this process's own parts neither end nor get bookmarks by time. On a virtual
        clock these would be most of what happens in a month."""
        self.owns_fields = True
        """Whether managedFields say who owns a field. Nobody asks in a simulation."""
        self.judges_statuses = True
        """Whether a status is judged before it is stored. Only controllers write one in a simulation."""
        self.own = OwnGroup()
        """Documents of others that are served as resources of longshore.dev."""
        self.collectors: list[Collector] = []
        """Metrics of other parts, shown with the server's own."""
        self._rng = rng
        self._now = (0, "")

    # ---- what the verbs ask for

    def now(self) -> str:
        """The time as API objects carry it: RFC 3339, whole seconds, UTC."""
        second = int(self.clock.timestamp())
        if second != self._now[0]:
            self._now = (second, rfc3339.from_seconds(second))
        return self._now[1]

    def seconds(self) -> int:
        """The time in whole seconds since 1970."""
        return int(self.clock.timestamp())

    def instant(self) -> datetime:
        """The time with its fraction."""
        return datetime.fromtimestamp(self.clock.timestamp(), UTC)

    def new_uid(self) -> str:
        """A random UUID (version 4)."""
        return uid.from_bits(self._rng.getrandbits(uid.BITS))

    def suffix(self) -> str:
        """Five random characters for a generated name."""
        number, pairs = self._rng.getrandbits(64), len(_SUFFIX_PAIRS)
        first, second = _SUFFIX_PAIRS[number % pairs], _SUFFIX_PAIRS[number // pairs % pairs]
        return first + second + _SUFFIX_ALPHABET[number // (pairs * pairs) % len(_SUFFIX_ALPHABET)]

    def watch_timeout(self) -> float:
        """How long a watch without timeoutSeconds lives."""
        low, high = _WATCH_MINUTES
        return 60 * self._rng.uniform(low, high)

    def shape(self, resource: Resource) -> shape.Shape:
        """The type of a resource's objects, for server-side apply."""
        strategy = resource.strategy
        return strategy.schema.shape if isinstance(strategy, StructuralStrategy) else shape.shape_of(resource)

    def empty(self, resource: Resource) -> Obj:
        """An object of this kind with nothing set, as bookmarks carry it."""
        return codec.from_value({}, resource.message).obj if resource.message else {}

    # ---- the verbs

    def read(self, call: Call) -> Found | Later:
        """GET of an object, a collection or a subresource: what there is now, or what must be waited for."""
        self.authorizer.check(call)
        if call.resource.group == resource_usage.GROUP:
            return Later(lambda: resource_usage.answer(self, call))
        if call.resource.group == OWN_GROUP and self.own.serves(call.resource):
            return Later(lambda: self.own.answer(call))
        if call.subresource and call.subresource != "status":
            return dispatch.read(self, call)
        return list_(self, call) if call.verb == "list" else get.get(self, call)

    def write(self, call: Call) -> Rendered | LinkAnswer | Later:
        """Carries out any other verb but `deletecollection` until it would wait. The caller must not show
        the answer before the last of its `staged` writes is durable, nor a conflict before `store.settled`.
        """
        self.authorizer.check(call)
        resource = call.resource
        if resource.group == OWN_GROUP and self.own.serves(resource):
            return Later(lambda: self.own.answer(call))
        answer = self.carry_out(call)
        is_plain = resource.style == "builtin" and resource.storage != DEFINITIONS
        return answer if is_plain else self.followed_up(call, answer)

    def carry_out(self, call: Call) -> Rendered | LinkAnswer:
        """The part of `write` between the question whether it is allowed and its consequences."""
        scaled = call.subresource == "scale"
        match call.verb:
            case "create":
                return _create(self, call)
            case "update":
                return scale.update(self, call) if scaled else update.update(self, call)
            case "patch":
                return scale.patch(self, call) if scaled else patch.patch(self, call)
        return delete.delete(self, call)

    def followed_up(self, call: Call, answer: Rendered | LinkAnswer) -> Rendered | LinkAnswer:
        """The answer with the consequences that a write to a definition has."""
        if _has_consequences(call):
            assert not isinstance(answer, LinkAnswer), "only pods can be connected to"
            lifecycle.follow_up(self, call, answer)
        return answer

    # ---- the same for who waits

    async def found(self, call: Call) -> Found:
        """The answer of `read`, waited for if it has to be."""
        answer = self.read(call)
        return await answer.work() if isinstance(answer, Later) else answer

    async def list(self, call: Call) -> ListAnswer:
        """The answer of `read` for a collection."""
        answer = await self.found(call)
        assert isinstance(answer, ListAnswer)
        return answer

    async def written(self, call: Call) -> Found:
        """The answer of `write`, once it may be shown: every write behind it is in the journal.

        A conflict is told once what it is about can be read: a client of this process that reads and tries
        again at once would else meet it for ever.
        """
        try:
            if call.verb == "deletecollection":
                return await self.delete_collection(call)
            answer = self.write(call)
        except StatusError as err:
            if err.code == 409:
                await self.store.settled()
            raise
        if isinstance(answer, Later):
            return await answer.work()
        if not isinstance(answer, LinkAnswer) and answer.staged:
            await answer.staged[-1].done()
        return answer

    async def delete_collection(self, call: Call) -> ListAnswer:
        """The answer of a deletecollection, once it may be shown."""
        self.authorizer.check(call)
        return await delete.delete_collection(
            self, call, lifecycle.follow_up if _has_consequences(call) else None
        )

    async def watch(self, call: Call) -> Stream:
        """Raises StatusError at once for a bad request, else returns the stream."""
        self.authorizer.check(call)
        return await watch.watch(self, call)


def _has_consequences(call: Call) -> bool:
    """Whether a write may concern a definition of custom resources."""
    return call.resource.style == "custom" or call.resource.storage == DEFINITIONS


def _create(api: Api, call: Call) -> Answer | DocumentAnswer | LinkAnswer:
    if call.subresource:
        return dispatch.create(api, call)
    special = dispatch.special_create(api, call)
    return special if special is not None else create.create(api, call)
