"""The client of the API: the contract that both engines keep, and the verbs that they share.

Objects are plain JSON (`api.types.Obj`) and frozen by agreement: copy before you change. They come without
`apiVersion` and `kind`, which are those of the resource asked for; a write may leave them out too. Any other
answer (a `Status`, a `TokenRequest`) comes unchanged.

A resource is named by a row of the table (`api.resources.Resource`) or by `(apiVersion, kind)` or
`(apiVersion, plural)`: `("batch/v1", "Job")`. `namespace` is empty for cluster-scoped resources and for lists
and watches over all namespaces.

Raises `api.errors.StatusError` for every error the server answered, `client.Unreachable` when there was no
answer, and its subclass `client.TimedOut` when the answer did not come in time.

An engine only sends an `Ask` to the server and returns the answer. Paging, the pace of writes and the query
of each verb are decided here, the parts of a request in `ask.py`, so the engines cannot differ.
"""

from __future__ import annotations

import builtins
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Coroutine, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Self

from longshore.api.errors import StatusError
from longshore.api.resources import Resource
from longshore.api.types import Obj
from longshore.client.ask import Ask, Page, delete_body, given, known, name_in, named, place_of, typed
from longshore.client.projection import WHOLE, Projection
from longshore.client.protocol import (
    DeleteOptions,
    ObjectList,
    PatchType,
    Request,
    Response,
    What,
)
from longshore.client.source import Entry, Unpacked, Watching
from longshore.client.writes import Pace, Result, Write, batches, side_by_side


class Client(ABC):
    """One way to talk to the API. Close it when done, or use it as an async context manager.

    An engine implements the abstract methods, which send requests to the server.
    """

    page_size = 500
    """Objects per page, as in kubectl and client-go; 0 asks for all objects in one page."""
    writes_at_once = 1
    """The most writes that one `write` makes cheaper; 1 if single writes cost as much."""
    has_aggregation = True
    """Whether the server may serve kinds that come and go without a CustomResourceDefinition."""

    def __init__(self, manager: str = "longshore") -> None:
        """`manager` owns the fields this client writes, unless a call names another."""
        self.manager = manager

    @abstractmethod
    async def resource(self, what: What) -> Resource:
        """The row that `what` names. LookupError if the server serves no such thing."""

    @abstractmethod
    async def resources(self) -> builtins.list[Resource]:
        """Every resource the server serves now, custom ones included, in discovery's order. Raises
        `PartlyDiscovered`, which has the resources found, when the discovery of some groups fails."""

    @abstractmethod
    async def _one(self, ask: Ask) -> Obj:
        """The server's answer to any verb except list and watch."""

    @abstractmethod
    async def _page(self, ask: Ask) -> Page:
        """The answer to a list or deletecollection."""

    @abstractmethod
    def _events(self, ask: Ask) -> AbstractAsyncContextManager[Watching]:
        """The answer to a watch."""

    @abstractmethod
    async def _answer(self, request: Request) -> Response:
        """The answer to a request to any path, without retries."""

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: bytes = b"",
        headers: Mapping[str, str] | None = None,
    ) -> Response:
        """Sends a request to any path, without retries. Raises no StatusError: the caller reads the code."""
        return await self._answer(Request(method, path, query or {}, body, headers or {}))

    @abstractmethod
    def log(
        self, pod: str, namespace: str, query: Mapping[str, str]
    ) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """The log of a container as it arrives. `query` has the options of `pods/log`."""

    @abstractmethod
    async def close(self) -> None: ...

    def entry(self, resource: Resource, obj: Obj) -> Entry:
        """Wraps an object of a list or a watch in the form that a cache takes."""
        return Unpacked(obj)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    async def get(
        self, what: What, name: str, namespace: str = "", *, subresource: str = "", resource_version: str = ""
    ) -> Obj:
        """One object. With `resource_version` it is not older than that; "0" accepts any."""
        resource = known(what) or await self.resource(what)
        query = given(resourceVersion=resource_version)
        return await self._one(named("get", resource, name, namespace, subresource, query))

    async def list(
        self,
        what: What,
        namespace: str = "",
        *,
        labels: str = "",
        fields: str = "",
        resource_version: str = "",
    ) -> ObjectList:
        """All objects that match both selectors. Pages are fetched inside."""
        items: builtins.list[Obj] = []
        version = ""
        pages = self.pages(what, namespace, labels=labels, fields=fields, resource_version=resource_version)
        async for page in pages:
            if page.anew:
                items = []
            items += page.items
            version = page.resource_version
        return ObjectList(items, version)

    async def pages(
        self,
        what: What,
        namespace: str = "",
        *,
        labels: str = "",
        fields: str = "",
        resource_version: str = "",
        reads: Projection = WHOLE,
    ) -> AsyncIterator[Page]:
        """The pages of a list as they arrive. A page with `anew` has all objects and replaces earlier pages.
        The objects have the fields in `reads`, and may have more."""
        resource = known(what) or await self.resource(what)
        query = given(labelSelector=labels, fieldSelector=fields, resourceVersion=resource_version)
        if resource_version and resource_version != "0":
            query["resourceVersionMatch"] = "NotOlderThan"  # with a limit, the default would be Exact
        limit = {"limit": str(self.page_size)} if self.page_size else {}
        page = await self._page(Ask("list", resource, namespace, query=query | limit, reads=reads))
        while True:
            yield page
            if not page.more:
                return
            following = given(labelSelector=labels, fieldSelector=fields) | limit | {"continue": page.more}
            try:
                page = await self._page(Ask("list", resource, namespace, query=following, reads=reads))
            except StatusError as err:
                if err.code != 410:
                    raise
                # The snapshot was forgotten between two pages: one large page cannot be torn.
                whole = await self._page(Ask("list", resource, namespace, query=query, reads=reads))
                page = Page(whole.items, whole.resource_version, anew=True)

    async def current_version(self, what: What, namespace: str = "") -> str:
        """The resourceVersion of a list made now. Objects written before have no larger one."""
        resource = known(what) or await self.resource(what)
        page = await self._page(Ask("list", resource, namespace, query={"limit": "1"}))
        return page.resource_version

    @asynccontextmanager
    async def watch(
        self,
        what: What,
        namespace: str = "",
        *,
        labels: str = "",
        fields: str = "",
        resource_version: str = "",
        bookmarks: bool = True,
        initial_events: bool = False,
        timeout: int | None = None,  # noqa: ASYNC109 - ends the stream at the server, cancels nothing here
        reads: Projection = WHOLE,
    ) -> AsyncIterator[Watching]:
        """Changes after `resource_version`, as `async with client.watch(...) as events: async for ...`.

        Ends without an error when the server ends it (after `timeout` seconds, or earlier): watch again
        from the last `event.resource_version`. A StatusError of code 410 means that the server has
        forgotten that version: list again. `initial_events` sends the existing objects first, then a
        bookmark. The objects have the fields in `reads`, and may have more.
        """
        resource = known(what) or await self.resource(what)
        query = given(labelSelector=labels, fieldSelector=fields, resourceVersion=resource_version)
        query["watch"] = "true"
        if bookmarks or initial_events:
            query["allowWatchBookmarks"] = "true"
        if initial_events:
            query |= {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
        if timeout is not None:
            query["timeoutSeconds"] = str(timeout)
        async with self._events(Ask("watch", resource, namespace, query=query, reads=reads)) as events:
            yield events

    async def create(
        self,
        what: What,
        obj: Obj,
        namespace: str = "",
        *,
        name: str = "",
        subresource: str = "",
        dry_run: bool = False,
        strict: bool = False,
        manager: str = "",
    ) -> Obj:
        """Creates `obj`. `name` and `subresource` are for objects posted below another one, e.g. `eviction`.

        With `strict`, a field that the kind does not have is an error (400); else the server drops it.
        """
        resource = known(what) or await self.resource(what)
        namespace = place_of(resource, obj, namespace)
        query = self._write_query(dry_run, manager)
        if strict:
            query["fieldValidation"] = "Strict"
        if subresource:
            ask = named("create", resource, name or name_in(obj), namespace, subresource, query)
        else:
            ask = Ask("create", resource, namespace, query=query)
        ask.value = typed(resource, obj, subresource)
        return await self._one(ask)

    async def write(self, writes: Sequence[Write], pace: Pace | None = None) -> builtins.list[Result]:
        """Makes `writes` concurrently, or in batches at a `pace`, and returns their results in order. A
        failed write ends the batches after its own, so there may be fewer results than writes."""
        answers: builtins.list[Result] = []
        for some in batches(writes, answers, pace):
            answers += await side_by_side([write.by(self) for write in some])
        return answers

    def in_order(self) -> Client:
        """A client for one caller's writes that build upon each other. It may answer a write that is accepted
        but not durable yet. A write becomes durable only after all writes before it, and no other reader sees
        it earlier. Await `durable` before any other use of the answers than further writes."""
        return self

    async def durable(self) -> None:  # noqa: B027 - most engines answer what is durable already
        """Waits until every write that this client answered is durable. After an error, none may be."""

    async def update(
        self,
        what: What,
        obj: Obj,
        namespace: str = "",
        *,
        subresource: str = "",
        dry_run: bool = False,
        manager: str = "",
    ) -> Obj:
        """Replaces the object. If `obj` has a resourceVersion, replaces only that version (else 409)."""
        resource = known(what) or await self.resource(what)
        query = self._write_query(dry_run, manager)
        ask = named("update", resource, name_in(obj), place_of(resource, obj, namespace), subresource, query)
        ask.value = typed(resource, obj, subresource)
        return await self._one(ask)

    def update_status(
        self, what: What, obj: Obj, namespace: str = "", *, dry_run: bool = False, manager: str = ""
    ) -> Coroutine[Any, Any, Obj]:
        """`update` of the status subresource: writes the status, keeps the stored spec."""
        return self.update(what, obj, namespace, subresource="status", dry_run=dry_run, manager=manager)

    async def patch(
        self,
        what: What,
        name: str,
        patch: Any,
        namespace: str = "",
        *,
        type: PatchType = PatchType.MERGE,
        subresource: str = "",
        dry_run: bool = False,
        manager: str = "",
    ) -> Obj:
        """Changes parts of an object. `patch` is a list of operations for JSON, an object otherwise."""
        if type is PatchType.APPLY:
            raise ValueError("use apply() for a server-side apply: it needs a manager and may be forced")
        resource = known(what) or await self.resource(what)
        ask = named("patch", resource, name, namespace, subresource, self._write_query(dry_run, manager))
        ask.value, ask.content_type = patch, type.value
        return await self._one(ask)

    async def apply(
        self,
        what: What,
        obj: Obj,
        namespace: str = "",
        *,
        manager: str,
        force: bool = False,
        subresource: str = "",
        dry_run: bool = False,
    ) -> Obj:
        """Server-side apply: creates or changes the object so that `manager` owns the fields in `obj`."""
        resource = known(what) or await self.resource(what)
        query = self._write_query(dry_run, manager)
        if force:
            query["force"] = "true"
        ask = named("patch", resource, name_in(obj), place_of(resource, obj, namespace), subresource, query)
        whole = {"apiVersion": resource.group_version, "kind": resource.kind, **obj}
        ask.value, ask.content_type = whole, PatchType.APPLY.value
        return await self._one(ask)

    async def delete(
        self, what: What, name: str, namespace: str = "", options: DeleteOptions | None = None
    ) -> Obj | None:
        """Deletes an object. Returns None if it is gone, else its last state, while it waits for finalizers
        or a grace period. For a pod the server always returns the last state."""
        resource = known(what) or await self.resource(what)
        ask = named("delete", resource, name, namespace)
        ask.value = delete_body(options)
        answer = await self._one(ask)
        return None if answer.get("kind") == "Status" else answer

    async def delete_collection(
        self,
        what: What,
        namespace: str = "",
        options: DeleteOptions | None = None,
        *,
        labels: str = "",
        fields: str = "",
    ) -> builtins.list[Obj]:
        """Deletes every object that matches both selectors, one after the other, and returns them."""
        resource = known(what) or await self.resource(what)
        if resource.namespaced and not namespace:
            raise ValueError(f"deletecollection of {resource.qualified} needs a namespace")
        query = given(labelSelector=labels, fieldSelector=fields)
        ask = Ask("deletecollection", resource, namespace, query=query, value=delete_body(options))
        return (await self._page(ask)).items

    def _write_query(self, dry_run: bool, manager: str) -> dict[str, str]:
        manager = manager or self.manager
        query = {"fieldManager": manager} if manager else {}
        if dry_run:
            query["dryRun"] = "All"
        return query
