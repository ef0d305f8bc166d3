"""Writes that touch one part of an object, its metadata or its status, and leave the others as they are.

Most writes of a busy server are of this sort: a pod's status, a Job's status, a finalizer taken away. Reading
the whole object anew and checking what nobody touched would cost more than all the rest. The parts that stay
are shared with the stored object, so only kinds whose hooks do not write into them (`Strategy.keeps_parts`)
go this way. Whatever is unusual about a request is answered with None: the long way knows all the rules.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from longshore.api import schema
from longshore.api.codec import compiled
from longshore.api.patch import merge_patch, strategic
from longshore.api.patch.strategic_lists import DELETE_PREFIX, PatchError
from longshore.api.resources import Resource
from longshore.api.types import Obj, copy_of
from longshore.apiserver.request.patch_body import MERGE_PATCH, STRATEGIC_MERGE_PATCH

Part: TypeAlias = Literal["finalizers", "metadata", "status"]
"""`finalizers`: metadata that has some of these no more and is else as it was."""
_METADATA: Final = "meta/v1.ObjectMeta"


class Changed(NamedTuple):
    """An object of which one part is new. Its metadata is its own, which every write changes."""

    obj: Obj
    part: Part
    before: Obj
    """What it was, as its resource serves it."""


def patched(resource: Resource, current: Obj, media_type: str, patch: Any) -> Changed | None:
    """The object after a merge patch or strategic merge patch of one part; `patch` is not changed."""
    if not resource.strategy.keeps_parts or type(patch) is not dict:
        return None
    part: Part = "metadata" if "metadata" in patch else "status"
    if len(patch) == 2 and patch.get("metadata") == {"uid": current["metadata"]["uid"]}:
        part = "status"  # of the very object that is meant
    elif len(patch) != 1:
        return None
    change = patch.get(part)
    if type(change) is not dict or "managedFields" in change:
        return None
    before = current.get(part) or {}
    if media_type == MERGE_PATCH:
        return _with(resource, current, part, merge_patch.merged(before, change))
    if media_type != STRATEGIC_MERGE_PATCH or not resource.message:
        return None
    if part == "metadata" and change.keys() == _STRIPS:
        left = _stripped(before, change[_STRIP])
        return None if left is None else Changed({**current, "metadata": left}, "finalizers", current)
    try:
        merged = strategic.merged(before, copy_of(change), _message(resource.message, part))
    except PatchError:
        return None
    return _with(resource, current, part, merged)


def _stripped(meta: Obj, gone: Any) -> Obj | None:
    """The metadata without these finalizers, as everything that waits for an object ends its waiting."""
    if type(gone) is not list or any(type(finalizer) is not str for finalizer in gone):
        return None
    left = [finalizer for finalizer in meta.get("finalizers") or () if finalizer not in gone]
    if left:
        return {**meta, "finalizers": left}
    return {key: value for key, value in meta.items() if key != "finalizers"}


_STRIP: Final = f"{DELETE_PREFIX}/finalizers"
_STRIPS: Final = {_STRIP}


def with_status(resource: Resource, current: Obj, status: Any) -> Changed | None:
    """The object with another status."""
    return _with(resource, current, "status", status) if resource.strategy.keeps_parts else None


def _with(resource: Resource, current: Obj, part: Part, value: Any) -> Changed | None:
    """The object with a new part, read and defaulted as its kind has it."""
    read = _read(resource, part, value)
    if read is None:
        return None
    new = {**current, part: read}
    if part == "status":
        new["metadata"] = dict(current["metadata"])
    resource.strategy.default_part(new, part)
    return Changed(new, part, current)


def _read(resource: Resource, part: Part, value: Any) -> Obj | None:
    """A new part as its kind has it; None where that takes more than a look at the part."""
    if resource.message:
        return compiled.from_value(value, _message(resource.message, part))
    if part == "metadata":
        return compiled.from_value(value, _METADATA)
    return resource.strategy.part(part, value) if type(value) is dict else None


def only_fewer_finalizers(new: Obj, old: Obj) -> bool:
    """Whether the metadata is the same but for finalizers that are gone: nothing to check about that."""
    before = old.get("finalizers") or ()
    return all(finalizer in before for finalizer in new.get("finalizers") or ()) and (
        {**new, **_IRRELEVANT} == {**old, **_IRRELEVANT}
    )


_IRRELEVANT: Final[Obj] = dict.fromkeys(("finalizers", "managedFields", "resourceVersion"))


@cache
def _message(of: str, part: str) -> str:
    return schema.message(of).fields[part].type.name
