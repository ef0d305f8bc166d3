"""PartialObjectMetadata: an object cut down to its metadata, for clients that need no more.

Works on single objects and on lists, and refuses to mix the two up, with Kubernetes' words.
"""

from __future__ import annotations

from collections.abc import Iterable

from longshore.api.errors import StatusError
from longshore.api.resources import Resource
from longshore.api.types import Obj

ITEM = "PartialObjectMetadata"
LIST = "PartialObjectMetadataList"


def item(obj: Obj, group_version: str) -> Obj:
    """One object's metadata. `group_version` is `meta.k8s.io/v1` or `meta.k8s.io/v1beta1`."""
    return {"kind": ITEM, "apiVersion": group_version, "metadata": obj["metadata"]}


def items(objs: Iterable[Obj], list_metadata: Obj, group_version: str) -> Obj:
    """The metadata of every object of a list."""
    return {
        "kind": LIST,
        "apiVersion": group_version,
        "metadata": list_metadata,
        "items": [item(obj, group_version) for obj in objs] or None,
    }


def check(transform: str, resource: Resource, *, is_list: bool) -> None:
    """Refuses (406) the list form for a single object and the single form for a list."""
    if transform == ITEM and is_list:
        why = f"you requested {ITEM}, but the requested object is a list ({_go_type(resource, is_list)})"
    elif transform == LIST and not is_list:
        why = f"you requested {LIST}, but the requested object is not a list ({_go_type(resource, is_list)})"
    else:
        return
    raise StatusError(406, "NotAcceptable", why)


def _go_type(resource: Resource, is_list: bool) -> str:
    """The Go type of the object, which Kubernetes' messages print."""
    if resource.style == "custom":
        return "*unstructured.UnstructuredList" if is_list else "*unstructured.Unstructured"
    # Objects of both event groups are core events inside Kubernetes.
    package = resource.storage_group.partition(".")[0] or "core"
    return f"*{package}.{resource.list_kind if is_list else resource.kind}"
