"""Owner references as the collector reads them, and the little it keeps of every object."""

from __future__ import annotations

from typing import Final, NamedTuple

from longshore.api.types import Obj

FOREGROUND: Final = "foregroundDeletion"
"""The finalizer of an owner that waits for its dependents to be deleted."""
ORPHAN: Final = "orphan"
"""The finalizer of an owner that waits for its dependents to be let go."""

_KEPT: Final = (
    "name",
    "namespace",
    "uid",
    "resourceVersion",
    "ownerReferences",
    "finalizers",
    "deletionTimestamp",
)


class Reference(NamedTuple):
    """One owner, as a dependent names it. The name is meant in the dependent's namespace."""

    api_version: str
    kind: str
    name: str
    uid: str
    blocks: bool = False
    """Whether the owner's foreground deletion waits for the dependent."""


class Identity(NamedTuple):
    """An object as a reference would name it, in the namespace where it is looked for."""

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str

    def __str__(self) -> str:
        """The identity in the form of upstream's events."""
        where = f"namespace: {self.namespace}, name: {self.name}, uid: {self.uid}"
        return f"[{self.api_version}/{self.kind}, {where}]"


def slim(obj: Obj) -> Obj:
    """The object cut down to what a collector needs, so that a hundred thousand of them fit."""
    meta = obj["metadata"]
    return {"metadata": {key: meta[key] for key in _KEPT if key in meta}}


def references(meta: Obj) -> tuple[Reference, ...]:
    """Every owner that this metadata names."""
    return tuple(
        Reference(
            ref["apiVersion"], ref["kind"], ref["name"], ref["uid"], bool(ref.get("blockOwnerDeletion"))
        )
        for ref in meta.get("ownerReferences") or ()
    )


def deleting(meta: Obj) -> bool:
    return "deletionTimestamp" in meta


def in_foreground(meta: Obj) -> bool:
    """Whether the object stays until the dependents that block it are gone."""
    return deleting(meta) and FOREGROUND in (meta.get("finalizers") or ())


def orphaning(meta: Obj) -> bool:
    """Whether the object stays until its dependents are let go."""
    return deleting(meta) and ORPHAN in (meta.get("finalizers") or ())
