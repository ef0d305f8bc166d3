"""The verbs of `Client`, once, for both engines: which requests a verb makes and how its answers are read.

An engine only carries an `Ask` to the server and brings the answer back. Paging, writes made together and
the query of each verb are decided here, the words of a request in `ask.py`, so the engines cannot differ.
"""

from __future__ import annotations

import asyncio
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
from longshore.client.protocol import DeleteOptions, ObjectList, PatchType, Response, WatchEvent, What


class VerbClient(ABC):
    """Everything of `Client` except the way to the server."""

    page_size = 500
    """Objects a page, as kubectl and client-go ask for; 0 asks for all at once."""

    def __init__(self, manager: str = "longshore") -> None:
        """`manager` owns the fields this client writes, unless a call names another."""
        self.manager = manager

    @abstractmethod
    async def resource(self, what: What) -> Resource: ...

    @abstractmethod
    async def resources(self) -> builtins.list[Resource]: ...

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
    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: bytes = b"",
        headers: Mapping[str, str] | None = None,
    ) -> Response: ...

    @abstractmethod
    async def close(self) -> None: ...

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    async def get(
        self, what: What, name: str, namespace: str = "", *, subresource: str = "", resource_version: str = ""
    ) -> Obj:
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
        resource = known(what) or await self.resource(what)
        query = given(labelSelector=labels, fieldSelector=fields, resourceVersion=resource_version)
        if resource_version and resource_version != "0":
            query["resourceVersionMatch"] = "NotOlderThan"  # with a limit, the default would be Exact
        limit = {"limit": str(self.page_size)} if self.page_size else {}
        page = await self._page(Ask("list", resource, namespace, query=query | limit))
        items = page.items
        while page.more:
            following = given(labelSelector=labels, fieldSelector=fields) | limit
            following["continue"] = page.more
            try:
                page = await self._page(Ask("list", resource, namespace, query=following))
            except StatusError as err:
                if err.code != 410:
                    raise
                # The snapshot was forgotten between two pages: one large page cannot be torn.
                page = await self._page(Ask("list", resource, namespace, query=query))
                return ObjectList(page.items, page.resource_version)
            items += page.items
        return ObjectList(items, page.resource_version)

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
    ) -> AsyncIterator[AsyncIterator[WatchEvent]]:
        resource = known(what) or await self.resource(what)
        query = given(labelSelector=labels, fieldSelector=fields, resourceVersion=resource_version)
        query["watch"] = "true"
        if bookmarks or initial_events:
            query["allowWatchBookmarks"] = "true"
        if initial_events:
            query |= {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
        if timeout is not None:
            query["timeoutSeconds"] = str(timeout)
        async with self._events(Ask("watch", resource, namespace, query=query)) as events:
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
        resource = known(what) or await self.resource(what)
        query = self._write_query(dry_run, manager)
        ask = named("update", resource, name_in(obj), place_of(resource, obj, namespace), subresource, query)
        ask.value = typed(resource, obj, subresource)
        return await self._one(ask)

    def update_status(
        self, what: What, obj: Obj, namespace: str = "", *, dry_run: bool = False, manager: str = ""
    ) -> Coroutine[Any, Any, Obj]:
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
