"""Answers as bytes: JSON from the stored bytes where possible, YAML, protobuf, Table and partial forms."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING

from longshore.api.resources import Resource
from longshore.api.types import Obj, encode
from longshore.apiserver.answer import served_raw

if TYPE_CHECKING:
    from longshore.apiserver.answer import ListAnswer
    from longshore.store import Entry


@lru_cache(maxsize=1024)
def _prefix(kind: str, group_version: str) -> bytes:
    return b'{"kind":' + encode(kind) + b',"apiVersion":' + encode(group_version) + b","


def typed(kind: str, group_version: str, raw: bytes) -> bytes:
    """Puts kind and apiVersion in front of an object's JSON."""
    prefix = _prefix(kind, group_version)
    return prefix[:-1] + b"}" if raw == b"{}" else prefix + raw[1:]


def object_json(resource: Resource, raw: bytes) -> bytes:
    return typed(resource.kind, resource.group_version, raw)


def entry_json(resource: Resource, entry: Entry) -> bytes:
    return object_json(resource, served_raw(resource, entry))


def list_json(answer: ListAnswer) -> bytes:
    """A whole list as one line. Items carry no kind and apiVersion, except those of custom kinds."""
    resource = answer.resource
    items: Iterable[bytes]
    if resource.style == "custom":
        items = (entry_json(resource, e) for e in answer.entries)
    else:
        items = (served_raw(resource, e) for e in answer.entries)
    head = b'{"metadata":' + encode(answer.metadata()) + b',"items":['
    return typed(resource.list_kind, resource.group_version, head + b",".join(items) + b"]}\n")


def with_type(resource: Resource, obj: Obj) -> Obj:
    """The object as a document with kind and apiVersion first."""
    return {"kind": resource.kind, "apiVersion": resource.group_version, **obj}
