"""The protocol of a client of the API, in words that hold for both engines.

Objects are plain JSON (`api.types.Obj`) and frozen by agreement: copy before you change. They come without
`apiVersion` and `kind`, which are those of the resource asked for; a write may leave them out too. Any other
answer (a `Status`, a `TokenRequest`) comes unchanged.

A resource is named by a row of the table (`api.resources.Resource`) or by `(apiVersion, kind)` or
`(apiVersion, plural)`: `("batch/v1", "Job")`. `namespace` is empty for cluster-scoped resources and for lists
and watches over all namespaces.

Raises `api.errors.StatusError` for every error the server answered, `client.Unreachable` when there was no
answer, and its subclass `client.TimedOut` when the answer did not come in time.
"""

from __future__ import annotations

import builtins
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from enum import Enum
from typing import Any, Protocol, TypeAlias

import msgspec

from longshore.api.errors import StatusError
from longshore.api.resources import Resource
from longshore.api.strategy import Propagation
from longshore.api.types import Obj
from longshore.client.errors import Unreachable

What: TypeAlias = Resource | tuple[str, str]
"""A row, or the apiVersion with the kind or the plural."""


class PatchType(Enum):
    """The kind of a patch, by its media type."""

    JSON = "application/json-patch+json"
    MERGE = "application/merge-patch+json"
    STRATEGIC = "application/strategic-merge-patch+json"
    APPLY = "application/apply-patch+yaml"


class ObjectList(msgspec.Struct, frozen=True):
    """All objects of one consistent moment. Watching from `resource_version` misses nothing after it."""

    items: list[Obj]
    resource_version: str


class WatchEvent(msgspec.Struct, frozen=True):
    """`type` is ADDED, MODIFIED, DELETED or BOOKMARK; an ERROR is raised as `StatusError` instead."""

    type: str
    object: Obj

    @property
    def resource_version(self) -> str:
        """Where a new watch may go on without missing anything."""
        version: str = self.object["metadata"]["resourceVersion"]
        return version

    @property
    def ends_initial_events(self) -> bool:
        """Whether everything that existed when the watch began has now been sent."""
        marks = self.object["metadata"].get("annotations") or {}
        return self.type == "BOOKMARK" and marks.get("k8s.io/initial-events-end") == "true"


class DeleteOptions(msgspec.Struct, frozen=True):
    """Options of a deletion. With no `propagation` the server's default counts, which orphans a Job's
    pods.
    """

    propagation: Propagation | None = None
    grace_period_seconds: int | None = None
    uid: str | None = None
    """Delete only the object of this uid; another one of the same name answers a conflict."""
    resource_version: str | None = None
    dry_run: bool = False


class Response(msgspec.Struct, frozen=True):
    """An answer as it came, with any status code. Header names are in lower case."""

    code: int
    headers: Mapping[str, str]
    body: bytes


class Client(Protocol):
    """One way to talk to the API. Close it when done, or use it as an async context manager."""

    async def resource(self, what: What) -> Resource:
        """The row `what` names. LookupError if the server serves no such thing."""

    async def resources(self) -> builtins.list[Resource]:
        """Every resource the server serves now, custom ones included, in discovery's order."""

    async def get(
        self, what: What, name: str, namespace: str = "", *, subresource: str = "", resource_version: str = ""
    ) -> Obj:
        """One object. With `resource_version` it is not older than that; "0" accepts any."""

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

    def watch(
        self,
        what: What,
        namespace: str = "",
        *,
        labels: str = "",
        fields: str = "",
        resource_version: str = "",
        bookmarks: bool = True,
        initial_events: bool = False,
        timeout: int | None = None,
    ) -> AbstractAsyncContextManager[AsyncIterator[WatchEvent]]:
        """Changes after `resource_version`, as `async with client.watch(...) as events: async for ...`.

        Ends without an error when the server ends it (after `timeout` seconds, or earlier): watch again
        from the last `event.resource_version`. A StatusError of code 410 means that the server has
        forgotten that version: list again. `initial_events` sends the existing objects first, then a
        bookmark.
        """

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

    async def create_together(
        self, what: What, objs: Sequence[Obj], namespace: str = "", *, slowly: bool = False
    ) -> builtins.list[Obj | StatusError | Unreachable]:
        """Creates `objs` side by side. Answers each object as created, or in its place the error `create`
        would have raised.

        With `slowly` the batches grow from one to two to four; after a batch with a refusal no other
        begins, and there are fewer answers than `objs`.
        """

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
        """Replaces the object. An object that carries a resourceVersion replaces only that version (else
        409).
        """

    async def update_status(
        self, what: What, obj: Obj, namespace: str = "", *, dry_run: bool = False, manager: str = ""
    ) -> Obj:
        """`update` of the status subresource: writes the status, keeps the stored spec."""

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

    async def delete(
        self, what: What, name: str, namespace: str = "", options: DeleteOptions | None = None
    ) -> Obj | None:
        """Deletes an object. None means it is gone. An object is the last state of one that waits for its
        finalizers or grace period, or of a pod, which the server answers in either case.
        """

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

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: bytes = b"",
        headers: Mapping[str, str] | None = None,
    ) -> Response:
        """A request to any other path, without retries. Never raises StatusError: the caller reads the
        code.
        """

    async def close(self) -> None: ...

    async def __aenter__(self) -> Client: ...

    async def __aexit__(self, *exc: object) -> None: ...
