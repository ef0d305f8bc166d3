"""Owner references as the collector reads them, and the part of each object's metadata that it keeps."""

from __future__ import annotations

from typing import Final, NamedTuple

from longshore.api.types import Obj
from longshore.client.projection import Projection

FOREGROUND: Final = "foregroundDeletion"
"""The finalizer of an owner that waits for its dependents to be deleted."""
ORPHAN: Final = "orphan"
"""The finalizer of an owner that waits until the owner references of its dependents are removed."""

READS: Final = Projection()
"""All that the collector reads of an object, of any kind: 100,000 of them must fit in memory."""


class Reference(NamedTuple):
    """One owner in a dependent's ownerReferences. A namespaced owner is in the dependent's namespace."""

    api_version: str
    kind: str
    name: str
    uid: str
    blocks: bool = False
    """Whether the owner's foreground deletion waits for the dependent."""


class Identity(NamedTuple):
    """The coordinates of an object: the fields of a reference, and the namespace where it is looked up."""

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str

    def __str__(self) -> str:
        """Formats the identity as upstream's events do."""
        where = f"namespace: {self.namespace}, name: {self.name}, uid: {self.uid}"
        return f"[{self.api_version}/{self.kind}, {where}]"


def references(meta: Obj) -> tuple[Reference, ...]:
    """Returns every owner that this metadata names."""
    return tuple(
        Reference(
            ref["apiVersion"], ref["kind"], ref["name"], ref["uid"], bool(ref.get("blockOwnerDeletion"))
        )
        for ref in meta.get("ownerReferences") or ()
    )


def deleting(meta: Obj) -> bool:
    return "deletionTimestamp" in meta


def in_foreground(meta: Obj) -> bool:
    """Whether the object is being deleted and waits for its blocking dependents to be deleted."""
    return deleting(meta) and FOREGROUND in (meta.get("finalizers") or ())


def orphaning(meta: Obj) -> bool:
    """Whether the object is being deleted and waits for its dependents to be orphaned."""
    return deleting(meta) and ORPHAN in (meta.get("finalizers") or ())
