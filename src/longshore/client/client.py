"""A client of the API, in words that hold for both engines, and its verbs, once for both.

Objects are plain JSON (`api.types.Obj`) and frozen by agreement: copy before you change. They come without
`apiVersion` and `kind`, which are those of the resource asked for; a write may leave them out too. Any other
answer (a `Status`, a `TokenRequest`) comes unchanged.

A resource is named by a row of the table (`api.resources.Resource`) or by `(apiVersion, kind)` or
`(apiVersion, plural)`: `("batch/v1", "Job")`. `namespace` is empty for cluster-scoped resources and for lists
and watches over all namespaces.

Raises `api.errors.StatusError` for every error the server answered, `client.Unreachable` when there was no
answer, and its subclass `client.TimedOut` when the answer did not come in time.

An engine only carries an `Ask` to the server and brings the answer back. Paging, writes made together and
the query of each verb are decided here, the words of a request in `ask.py`, so the engines cannot differ.
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
from longshore.client.errors import Unreachable
from longshore.client.protocol import (
    DeleteOptions,
    ObjectList,
    Only,
    Packed,
    PatchType,
    Request,
    Response,
    WatchEvent,
    What,
)


class Client(ABC):
    """One way to talk to the API. Close it when done, or use it as an async context manager.

    An engine adds the way to the server: the abstract methods.
    """

    page_size = 500
    """Objects a page, as kubectl and client-go ask for; 0 asks for all at once."""

    def __init__(self, manager: str = "longshore") -> None:
        """`manager` owns the fields this client writes, unless a call names another."""
        self.manager = manager

    @abstractmethod
    async def resource(self, what: What) -> Resource:
        """The row `what` names. LookupError if the server serves no such thing."""

    @abstractmethod
    async def resources(self) -> builtins.list[Resource]:
        """Every resource the server serves now, custom ones included, in discovery's order. Raises
        `PartlyDiscovered`, with the others, when some groups do not say what they serve."""

    @abstractmethod
    async def _one(self, ask: Ask) -> Obj:
        """The server's answer to any verb except list and watch."""

    async def _slowly(self, asks: Sequence[Ask]) -> builtins.list[Obj | StatusError | Unreachable]:
        answers: builtins.list[Obj | StatusError | Unreachable] = []
        size = 1
        while len(answers) < len(asks):
            some = await self._together(asks[len(answers) : len(answers) + size])
            answers += some
            if any(isinstance(answer, Exception) for answer in some):
                break
            size *= 2
        return answers

    async def _together(self, asks: Sequence[Ask]) -> builtins.list[Obj | StatusError | Unreachable]:
        """The answers of `_one` to several writes made at once, or the errors it raised."""
        if len(asks) == 1:  # needs no task
            try:
                return [await self._one(asks[0])]
            except (StatusError, Unreachable) as err:
                return [err]
        import asyncio  # 60 modules, which commands that speak plain HTTP do without

        answers: builtins.list[Obj | StatusError | Unreachable] = []
        for answer in await asyncio.gather(*map(self._one, asks), return_exceptions=True):
            if isinstance(answer, BaseException) and not isinstance(answer, StatusError | Unreachable):
                raise answer
            answers.append(answer)
        return answers

    @abstractmethod
    async def _page(self, ask: Ask) -> Page:
        """The answer to a list or deletecollection."""

    @abstractmethod
    def _events(self, ask: Ask) -> AbstractAsyncContextManager[AsyncIterator[WatchEvent]]:
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
        """A request to any other path, without retries. Raises no StatusError: the caller reads the code."""
        return await self._answer(Request(method, path, query or {}, body, headers or {}))

    @abstractmethod
    async def close(self) -> None: ...

    def packed(self, resource: Resource, obj: Obj) -> Packed | None:
        """A smaller thing that gives this object back, for a cache to hold; None where there is none."""
        return None

    def is_at_rest(self, resource: Resource, obj: Obj) -> bool:
        """Whether a cache may hold this object packed although something may still happen to it."""
        return False

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
        only: Only | None = None,
    ) -> AsyncIterator[Page]:
        """The pages of a list as they come. A page that is `anew` has everything: forget those before it.
        Objects in namespaces of which `only` says no may be left out."""
        resource = known(what) or await self.resource(what)
        query = given(labelSelector=labels, fieldSelector=fields, resourceVersion=resource_version)
        if resource_version and resource_version != "0":
            query["resourceVersionMatch"] = "NotOlderThan"  # with a limit, the default would be Exact
        limit = {"limit": str(self.page_size)} if self.page_size else {}
        page = await self._page(Ask("list", resource, namespace, query=query | limit, only=only))
        while True:
            yield page
            if not page.more:
                return
            following = given(labelSelector=labels, fieldSelector=fields) | limit | {"continue": page.more}
            try:
                page = await self._page(Ask("list", resource, namespace, query=following, only=only))
            except StatusError as err:
                if err.code != 410:
                    raise
                # The snapshot was forgotten between two pages: one large page cannot be torn.
                whole = await self._page(Ask("list", resource, namespace, query=query, only=only))
                page = Page(whole.items, whole.resource_version, anew=True)

    async def current_version(self, what: What, namespace: str = "") -> str:
        """The resourceVersion of a list made now: everything written before has one that is not larger."""
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
        only: Only | None = None,
    ) -> AsyncIterator[AsyncIterator[WatchEvent]]:
        """Changes after `resource_version`, as `async with client.watch(...) as events: async for ...`.

        Ends without an error when the server ends it (after `timeout` seconds, or earlier): watch again
        from the last `event.resource_version`. A StatusError of code 410 means that the server has
        forgotten that version: list again. `initial_events` sends the existing objects first, then a
        bookmark. Events of objects in namespaces of which `only` says no may come as bookmarks.
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
        async with self._events(Ask("watch", resource, namespace, query=query, only=only)) as events:
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

    async def create_together(
        self, what: What, objs: Sequence[Obj], namespace: str = "", *, slowly: bool = False
    ) -> builtins.list[Obj | StatusError | Unreachable]:
        """Creates `objs` side by side. Answers each object as created, or in its place the error `create`
        would have raised.

        With `slowly` the batches grow from one to two to four; after a batch with a refusal no other
        begins, and there are fewer answers than `objs`.
        """
        resource = known(what) or await self.resource(what)
        asks = []
        for obj in objs:
            place = place_of(resource, obj, namespace)
            ask = Ask("create", resource, place, query=self._write_query(False, ""))
            ask.value = typed(resource, obj, "")
            asks.append(ask)
        return await (self._slowly(asks) if slowly else self._together(asks))

    async def patch_together(
        self,
        what: What,
        names: Sequence[str],
        patch: Any,
        namespace: str = "",
        *,
        type: PatchType = PatchType.MERGE,
    ) -> builtins.list[Obj | StatusError | Unreachable]:
        """Changes the objects of these names in the same way, side by side. Answers as `create_together`."""
        resource = known(what) or await self.resource(what)
        asks = []
        for name in names:
            ask = named("patch", resource, name, namespace, "", self._write_query(False, ""))
            ask.value, ask.content_type = patch, type.value
            asks.append(ask)
        return await self._together(asks)

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
        """Replaces the object. One that carries a resourceVersion replaces only that version (else 409)."""
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
        """Deletes an object. None means it is gone. An object is the last state of one that waits for its
        finalizers or grace period, or of a pod, which the server answers in either case.
        """
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
        """Deletes every object that matches both selectors, one after the other, and answers them."""
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
