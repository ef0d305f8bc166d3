"""The values of the client protocol: names of resources, requests, and answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from typing import Protocol, TypeAlias

import msgspec

from longshore.api.resources import Resource
from longshore.api.strategy import Propagation
from longshore.api.types import Obj

What: TypeAlias = Resource | tuple[str, str]
"""A row, or the apiVersion with the kind or the plural."""

Only: TypeAlias = Callable[[str], bool]
"""Whether objects of a namespace are wanted. Cluster-scoped objects always are."""


class Packed(Protocol):
    """An object in a form that takes less room."""

    @property
    def obj(self) -> Obj:
        """The object, unpacked. Do not change it."""

    @property
    def facts(self) -> Obj:
        """The object, or the parts of it that are read without unpacking it
        (`api/facts/settled_objects.py`)."""


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
        """The version from which a new watch misses nothing."""
        version: str = self.object["metadata"]["resourceVersion"]
        return version

    @property
    def ends_initial_events(self) -> bool:
        """Whether everything that existed when the watch began has now been sent."""
        marks = self.object["metadata"].get("annotations") or {}
        return self.type == "BOOKMARK" and marks.get("k8s.io/initial-events-end") == "true"


class DeleteOptions(msgspec.Struct, frozen=True):
    """Options of a deletion. Without `propagation` the server decides: by default it orphans a Job's pods."""

    propagation: Propagation | None = None
    grace_period_seconds: int | None = None
    uid: str | None = None
    """Delete only the object with this uid. If the name has another uid, the server answers a conflict."""
    resource_version: str | None = None
    dry_run: bool = False


class Request(msgspec.Struct, frozen=True):
    """A request to any path."""

    method: str
    path: str
    query: Mapping[str, str] = {}
    body: bytes = b""
    headers: Mapping[str, str] = {}


class Response(msgspec.Struct, frozen=True):
    """An answer as it came, with any status code. Header names are in lower case."""

    code: int
    headers: Mapping[str, str]
    body: bytes
