"""The API itself: REST semantics over a store, without HTTP.

`Api` holds what every verb needs and is the one entry for both engines of the client layer: the HTTP
server renders its answers, LocalClient uses them as they are. Every method first authorizes the call.

An Api is made of its `ApiParts`. A plane that runs beside it hands in `PlaneParts`, and a node `NodeParts`:
both start later than the server and can be replaced.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

import msgspec

from longshore.api import codec, identifiers, shape
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
from longshore.apiserver.documents.own_group import MadeDocument, MadeDocuments
from longshore.apiserver.request.call import Call
from longshore.apiserver.rest import create, delete, get, patch, update, watch
from longshore.apiserver.rest.list import list_
from longshore.apiserver.rest.paging import Ages
from longshore.apiserver.rest.watch import Stream
from longshore.apiserver.shortcuts.placed_pods import PlacedPods, Placer
from longshore.apiserver.shortcuts.shortcut import Shortcuts
from longshore.apiserver.subresources import dispatch

if TYPE_CHECKING:
    import random

    from longshore.api.clock import Clock
    from longshore.apiserver.access.browser_sessions import BrowserSessions
    from longshore.apiserver.access.tokens import Tokens
    from longshore.apiserver.metrics import Collector
    from longshore.apiserver.subresources.node_access import NodeDoor
    from longshore.store import Key, Staged, Store

_WATCH_MINUTES: Final = (30.0, 60.0)  # upstream's range for watches without timeoutSeconds

Page = Callable[[str], Obj | None]
"""Finds the document at the rest of a path; None if there is none."""

OnDelete = Callable[[Call, Obj], None]
"""Takes the call and the object before its deletion."""


class ApiParts(msgspec.Struct, frozen=True):
    """The parameters of an Api."""

    store: Store
    clock: Clock
    rng: random.Random
    shortcuts: bool = True
    """Whether shortcuts that change only the speed are taken: see `apiserver/shortcuts`."""
    tokens: Tokens | None = None
    """Checks bearer tokens; None accepts none."""
    browser_sessions: BrowserSessions | None = None
    """The sessions of the dashboard; None if no dashboard is served."""
    documents: tuple[MadeDocument, ...] = ()
    """Resources whose documents are made on request."""
    pages: Mapping[str, Page] = {}
    """Documents that are served beside the API, by the beginning of their paths."""
    quiet_watches: bool = False
    """Whether watches by parts of this process have no timeout and no periodic bookmarks. On a virtual clock
    those would be most of the events of a simulated month."""
    owns_fields: bool = True
    """Whether managedFields record the owners of fields. A simulation has no reader of them."""
    judges_statuses: bool = True
    """Whether a status is validated before it is stored. A simulation trusts its controllers and nodes."""
    volcano: bool = True
    """Whether clients find Volcano's kinds."""
    client_clock: Clock | None = None
    """The clock by which requests of clients time out; None for `clock`, which may stand still in a test."""


class PlaneParts(msgspec.Struct, frozen=True):
    """The additions of the plane that runs beside an Api."""

    documents: tuple[MadeDocument, ...] = ()
    on_delete: OnDelete | None = None
    """Called for each object whose deletion begins."""
    collectors: tuple[Collector, ...] = ()
    """Metrics that are shown with the server's own."""


class NodeParts(msgspec.Struct, frozen=True):
    """The additions of the node that runs beside an Api."""

    door: NodeDoor
    """Access to the node's containers, for logs, exec, attach and port-forward."""
    pages: Mapping[str, Page] = {}


class Api:
    """Kubernetes' REST API over one store."""

    def __init__(self, parts: ApiParts) -> None:
        self.parts, self.store, self.clock = parts, parts.store, parts.clock
        self.client_clock = parts.client_clock or parts.clock
        self.tokens, self.browser_sessions = parts.tokens, parts.browser_sessions
        self.quiet_watches = parts.quiet_watches
        self.owns_fields, self.judges_statuses = parts.owns_fields, parts.judges_statuses
        self.shortcuts = Shortcuts(on=parts.shortcuts)
        self.placed_pods: PlacedPods | None = None
        """Stages new pods, if a scheduler gives them their node at once."""
        self.catalog = Catalog(parts.store, volcano=parts.volcano)
        self.authorizer = authz.Authorizer(parts.store)
        self.page_ages = Ages()
        self.has_uncleared = asyncio.Event()
        """Set when a definition is being deleted and `crd/clearing` has to delete its objects."""
        self._rng = parts.rng
        self._now = (0, "")
        self.plane = PlaneParts()
        self.node: NodeParts | None = None
        self.made = MadeDocuments(parts.documents)
        """The documents of the server, its plane and its node."""

    def use_plane(self, plane: PlaneParts) -> None:
        """Replaces the additions of the previous plane by those of this one."""
        self.plane = plane
        self._collect_documents()

    def use_node(self, node: NodeParts | None) -> None:
        """Replaces the additions of the previous node by those of this one."""
        self.node = node
        self._collect_documents()

    def place_by(self, placer: Placer | None) -> None:
        """Has this scheduler place new pods as they are stored; with None they are stored without a node."""
        self.placed_pods = PlacedPods(self, placer) if placer is not None and self.shortcuts.on else None

    def _collect_documents(self) -> None:
        measured = resource_usage.documents(self) if self.node is not None else ()
        self.made = MadeDocuments((*self.parts.documents, *self.plane.documents, *measured))

    @property
    def door(self) -> NodeDoor | None:
        """Access to the node of this longshore; None without a node."""
        return self.node.door if self.node is not None else None

    @property
    def pages(self) -> Mapping[str, Page]:
        """Documents beside the API, by the beginning of their paths."""
        return {**self.parts.pages, **self.node.pages} if self.node is not None else self.parts.pages

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
        return identifiers.uid_from_bits(self._rng.getrandbits(identifiers.UID_BITS))

    def suffix(self) -> str:
        """Five random characters for a generated name."""
        return identifiers.suffix_from_bits(self._rng.getrandbits(identifiers.SUFFIX_BITS))

    def watch_timeout(self) -> float:
        """How long a watch without timeoutSeconds lives."""
        low, high = _WATCH_MINUTES
        return 60 * self._rng.uniform(low, high)

    def shape(self, resource: Resource) -> shape.Shape:
        """The type of a resource's objects, for server-side apply."""
        strategy = resource.strategy
        if isinstance(strategy, StructuralStrategy):
            return strategy.kind.schema.shape
        return shape.shape_of(resource)

    def empty(self, resource: Resource) -> Obj:
        """An object of this kind with nothing set, as bookmarks carry it."""
        return codec.from_value({}, resource.message).obj if resource.message else {}

    # ---- the verbs

    def read(self, call: Call) -> Found | Later:
        """Answers a GET of an object, collection or subresource; `Later` if the answer has to wait."""
        self.authorizer.check(call)
        if (make := self.made.maker(call.resource)) is not None:
            return Later(lambda: make(call))
        if call.subresource and call.subresource != "status":
            return dispatch.read(self, call)
        return list_(self, call) if call.verb == "list" else get.get(self, call)

    def write(self, call: Call) -> Rendered | LinkAnswer | Later:
        """Carries out a write, but not `deletecollection`, until it would wait. The caller must not show the
        answer before the last of its `staged` writes is durable, nor a conflict before `store.drained`."""
        self.authorizer.check(call)
        resource = call.resource
        if (make := self.made.maker(resource)) is not None:
            return Later(lambda: make(call))
        answer = self.carry_out(call)
        is_plain = resource.style == "builtin" and resource.storage != DEFINITIONS
        return answer if is_plain else self.followed_up(call, answer)

    def carry_out(self, call: Call) -> Rendered | LinkAnswer:
        """Carries out the verb itself: the part of `write` after authorization and before `followed_up`."""
        scaled = call.subresource == "scale"
        match call.verb:
            case "create":
                return _create(self, call)
            case "update":
                return scale.update(self, call) if scaled else update.update(self, call)
            case "patch":
                return scale.patch(self, call) if scaled else patch.patch(self, call)
        return delete.delete(self, call)

    def stage_new(self, key: Key, obj: Obj, *, joined: bool) -> Staged:
        """Stages a new object."""
        placed = self.placed_pods
        return (self.store if placed is None else placed).stage(key, obj, joined=joined)

    def followed_up(self, call: Call, answer: Rendered | LinkAnswer) -> Rendered | LinkAnswer:
        """Stages the consequences of a write to a definition, and returns the answer with them."""
        if _has_consequences(call):
            assert not isinstance(answer, LinkAnswer), "only pods can be connected to"
            lifecycle.follow_up(self, call, answer)
        return answer

    # ---- the verbs, for callers that wait

    async def found(self, call: Call) -> Found:
        """The answer of `read`; waits for it if needed."""
        answer = self.read(call)
        return await answer.work() if isinstance(answer, Later) else answer

    async def list(self, call: Call) -> ListAnswer:
        """The answer of `read` for a collection."""
        answer = await self.found(call)
        assert isinstance(answer, ListAnswer)
        return answer

    async def accepted(self, call: Call) -> Found:
        """The answer of `write`, which may not be durable yet."""
        try:
            if call.verb == "deletecollection":
                return await self.delete_collection(call)
            answer = self.write(call)
        except StatusError as err:
            raise await self.readable(err) from err.__cause__
        return await answer.work() if isinstance(answer, Later) else answer

    async def written(self, call: Call) -> Found:
        """The answer of `write`, once it may be shown: every write behind it is in the journal."""
        answer = await self.accepted(call)
        if isinstance(answer, Answer | DocumentAnswer) and answer.staged:
            await answer.staged[-1].done()
        return answer

    async def readable(self, refusal: StatusError) -> StatusError:
        """The refusal, once it may be shown: a conflict, when the conflicting object can be read. Else a
        client of this process that reads and retries at once would meet the conflict for ever."""
        if refusal.code == 409:
            await self.store.drained()
        return refusal

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
