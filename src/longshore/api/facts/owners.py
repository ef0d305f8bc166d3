"""Reads and makes references to the owners of an object.

An object belongs to at most one controller, by UID.
"""

from __future__ import annotations

from longshore.api.facts.kinds import Kind
from longshore.api.types import Obj


def controller_of(obj: Obj) -> Obj | None:
    """The reference to the one owner that controls `obj`."""
    for ref in obj["metadata"].get("ownerReferences") or ():
        if ref.get("controller"):
            owner: Obj = ref
            return owner
    return None


def is_controlled_by(obj: Obj, owner: Obj) -> bool:
    """Whether this owner controls `obj`, compared by uid and not by name."""
    ref = controller_of(obj)
    return ref is not None and ref["uid"] == owner["metadata"]["uid"]


def object_ref(obj: Obj, kind: Kind) -> Obj:
    """A reference to `obj` for a status in its namespace, such as `status.active`. The reference has the
    resourceVersion of `obj`, which is never refreshed."""
    meta = obj["metadata"]
    return {
        "kind": kind[1],
        "namespace": meta["namespace"],
        "name": meta["name"],
        "uid": meta["uid"],
        "apiVersion": kind[0],
        "resourceVersion": meta["resourceVersion"],
    }


def controller_ref(owner: Obj, kind: Kind) -> Obj:
    """A reference that makes `owner` the controller of the object that has it."""
    meta = owner["metadata"]
    return {
        "apiVersion": kind[0],
        "kind": kind[1],
        "name": meta["name"],
        "uid": meta["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


def owner_key(namespace: str, kind: str, name: str, uid: str) -> str:
    """The key of `owner_index` for the objects that this owner controls."""
    return f"{namespace}/{kind}/{name}/{uid}"


def owner_index(obj: Obj) -> tuple[str]:
    """An indexer: by controller (`owner_key`), or by namespace alone for objects without one."""
    namespace = obj["metadata"].get("namespace") or ""
    ref = controller_of(obj)
    return (namespace if ref is None else owner_key(namespace, ref["kind"], ref["name"], ref["uid"]),)
