"""Keeps metadata.managedFields of objects that are created, replaced or patched.

Fields that changed move to the writer's own Update entry and leave all others; entries without fields are
removed; an entry's time changes only when its own manager writes. Objects without entries (they were reset)
get none until the next apply. Updates have no conflicts; see `applying.py`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from longshore.api.apply import compare, entries, fieldset
from longshore.api.apply.compare import Untypable
from longshore.api.apply.fieldset import LEAF
from longshore.api.shape import FieldSet, ListShape, MapShape, Shape
from longshore.api.types import Obj, is_same


def after_update(
    new: Obj,
    old: Obj | None,
    *,
    manager: str,
    api_version: str,
    shape: Shape,
    now: str,
    subresource: str = "",
    versions: Collection[str] = (),
    given: Mapping[str, FieldSet] | None = None,
    only: str = "",
) -> None:
    """Writes new's managedFields. `old` is the stored object, or None when `new` is being created.

    `new` is decoded and defaulted, before hooks and admission: fields that these add have no owner.
    `versions` are further API versions of the kind; entries of unknown versions are dropped. `given` has the
    fields of whole new parts, by name, if they are known already. `only` names the one part in which the
    objects differ, apart from fields without owners.
    """
    assert isinstance(shape, MapShape)
    meta = new.setdefault("metadata", {})
    known = _known(meta.get("managedFields"), old, subresource)
    if old is not None and not known:
        meta.pop("managedFields", None)
        return
    known = fitted(known, shape)
    skip = shape.resets.get(subresource, {})
    try:
        changed, gone = compare.change_of(shape, shape.zero if old is None else old, new, skip, given, only)
    except Untypable:
        _write(meta, [entry for entry in known if entry["fieldsV1"]])
        return
    if old is None and not known:
        fields = fieldset.in_order(changed)
        own = entries.made(manager, "Update", api_version, fields, now, subresource)
        _write(meta, [own] if changed else [])
        return
    _write(meta, moved(known, changed, gone, manager, api_version, now, subresource, versions))


def moved(
    known: Sequence[Obj],
    changed: FieldSet,
    gone: FieldSet,
    manager: str,
    api_version: str,
    now: str,
    subresource: str,
    versions: Collection[str] = (),
) -> Sequence[Obj]:
    """The entries after a write by `manager` that set `changed` and removed `gone`."""
    if not changed:
        return surviving(known, changed, gone, api_version, versions)
    mine: FieldSet = fieldset.LEAF
    found: list[Obj] = []
    for entry in known:
        version, get = entry["apiVersion"], entry.get
        if version != api_version and version not in versions:
            continue
        # Whether it has the identity of the writer's own (`entries.identity`), asked without a call.
        if (
            get("manager", "") == manager
            and get("subresource", "") == subresource
            and entry["operation"] == "Update"
            and version == api_version
        ):
            mine = entry["fieldsV1"]
        elif (left := _left(entry, changed, gone)) is not None:
            found.append(left)
    fields = fieldset.renewed(mine, changed, gone)
    if fields is None:
        return surviving(known, changed, gone, api_version, versions)
    found.append(entries.made(manager, "Update", api_version, fields, now, subresource))
    return entries.ordered(entries.capped(found))


def surviving(
    known: Sequence[Obj],
    changed: FieldSet,
    gone: FieldSet,
    api_version: str,
    versions: Collection[str] = (),
) -> Sequence[Obj]:
    """The entries without the fields that another manager changed or removed; `known` itself if all stay."""
    out: list[Obj] = []
    same = True
    for entry in known:
        left = None
        if entry["apiVersion"] == api_version or entry["apiVersion"] in versions:
            left = _left(entry, changed, gone)
        same = same and left is entry
        if left is not None:
            out.append(left)
    return known if same else out


def _left(entry: Obj, changed: FieldSet, gone: FieldSet) -> Obj | None:
    """An entry without the changed and removed fields: `entry` itself if it has none of them, None if nothing
    is left."""
    fields = entry["fieldsV1"]
    steps = fields.keys()
    if steps.isdisjoint(changed) and steps.isdisjoint(gone):
        # A write of the status takes no field from the manager that made the object.
        return entry if fields else None
    left = fieldset.difference(fieldset.difference(fields, changed), gone)
    if not left:
        return None
    return entry if left is fields else {**entry, "fieldsV1": left}


def only_times_differ(new: Obj, old: Obj) -> bool:
    """Whether two objects differ only in time stamps of managedFields. Such a write changes nothing."""
    if new.keys() != old.keys():
        return False
    for part, value in new.items():
        if value is not old[part] and part != "metadata" and value != old[part]:
            return False
    a, b = new.get("metadata", {}), old.get("metadata", {})
    if a.keys() != b.keys() or any(a[k] != b[k] for k in a if k != "managedFields"):
        return False
    found, before = a.get("managedFields", ()), b.get("managedFields", ())
    if found is not before and _timeless(found) != _timeless(before):
        return False
    return all(part == "metadata" or is_same(value, old[part]) for part, value in new.items())


def _timeless(found: Sequence[Obj]) -> list[Obj]:
    bare = [{k: v for k, v in e.items() if k != "time"} for e in found]
    return sorted(bare, key=lambda e: entries.identity(e))


def _known(sent: Any, old: Obj | None, subresource: str) -> Sequence[Obj]:
    """The entries before a write: the request's if it names any, else the stored ones."""
    stored: Sequence[Obj] = old["metadata"].get("managedFields") or () if old is not None else ()
    if subresource or sent is None or sent is stored:
        return stored
    if entries.resets(sent):
        return ()
    if sent == stored:
        return stored
    return entries.read(sent) or stored


def _write(meta: Obj, found: Sequence[Obj]) -> None:
    if found:
        meta["managedFields"] = found if isinstance(found, list) else list(found)
    else:
        meta.pop("managedFields", None)


# ---- Fits recorded fields to a shape that has changed since: what became one leaf is owned as one.
#
# Only users' own kinds change their shape. A field that was one leaf and now has members needs nothing: its
# owner keeps the field itself and none of the members, as upstream has it.


def fitted(known: Sequence[Obj], shape: MapShape) -> Sequence[Obj]:
    """The entries with their fields fitted to the shape; `known` itself when all fit already."""
    if shape.lasts:
        return known
    out = []
    for entry in known:
        fields = _fitted(entry["fieldsV1"], shape) if entry["fieldsV1"] else entry["fieldsV1"]
        out.append(entry if fields is entry["fieldsV1"] else {**entry, "fieldsV1": fields})
    return out if any(a is not b for a, b in zip(out, known, strict=True)) else known


def _fitted(node: FieldSet, shape: Shape | None) -> FieldSet:
    """Fits a node that has others below it; a leaf fits any shape."""
    fields: Mapping[str, Shape] = {}
    if isinstance(shape, MapShape):
        if shape.atomic:
            return LEAF
        fields = shape.fields
    elif not isinstance(shape, ListShape):
        return node
    elif shape.type == "atomic":
        return LEAF
    out = node
    for step, below in node.items():
        if not below:
            continue
        fit = _fitted(below, fields.get(step[2:]) or shape.element)
        if fit is not below:
            if out is node:
                out = dict(node)
            out[step] = fit
    return out
