"""Keeps metadata.managedFields of objects that are created, replaced or patched.

Fields that changed move to the writer's own Update entry and leave all others; entries without fields
vanish; a time stamp moves only with its entry's writer. Objects that have no entries (they were reset)
stay without until someone applies. Conflicts are no matter here: see `applying.py`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from longshore.api.apply import compare, entries, fieldset
from longshore.api.apply.compare import Untypable
from longshore.api.apply.reconcile import fitted
from longshore.api.shape import FieldSet, MapShape, Shape
from longshore.api.types import Obj


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

    `new` is decoded and defaulted, but no hook and no admission has touched it: what these add has no
    owner. `versions` are further API versions of the kind; entries of unknown versions are dropped.
    `given` are the fields of whole parts that are new, by name, where they are known already.
    `only` names the one part in which the objects differ, but for fields nobody owns.
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
        _write(meta, known)
        return
    if old is None and not known:
        own = entries.made(manager, "Update", api_version, changed, now, subresource)
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
    kept = surviving(known, changed, gone, api_version, versions)
    own = fieldset.difference(changed, gone)
    if not own:
        return kept
    mine = entries.made(manager, "Update", api_version, own, now, subresource)
    me = entries.identity(mine)
    others = []
    for entry in kept:
        if entries.identity(entry) == me:
            mine["fieldsV1"] = fieldset.union(own, entry["fieldsV1"])
        else:
            others.append(entry)
    return entries.ordered(entries.capped([*others, mine]))


def surviving(
    known: Sequence[Obj],
    changed: FieldSet,
    gone: FieldSet,
    api_version: str,
    versions: Collection[str] = (),
) -> Sequence[Obj]:
    """The entries without the fields that someone else changed or removed; `known` itself if all stay."""
    out: list[Obj] = []
    same = True
    for entry in known:
        if entry["apiVersion"] != api_version and entry["apiVersion"] not in versions:
            same = False
            continue
        fields = entry["fieldsV1"]
        left = fieldset.difference(fieldset.difference(fields, changed), gone)
        if left is fields and fields:
            out.append(entry)
            continue
        same = False
        if left:
            out.append({**entry, "fieldsV1": left})
    return known if same else out


def only_times_differ(new: Obj, old: Obj) -> bool:
    """Whether two objects are the same but for time stamps in managedFields: such a write changes nothing."""
    if new.keys() != old.keys() or any(new[k] != old[k] for k in new if k != "metadata"):
        return False
    a, b = new.get("metadata", {}), old.get("metadata", {})
    if a.keys() != b.keys() or any(a[k] != b[k] for k in a if k != "managedFields"):
        return False
    return _timeless(a.get("managedFields", ())) == _timeless(b.get("managedFields", ()))


def _timeless(found: Sequence[Obj]) -> list[Obj]:
    bare = [{k: v for k, v in e.items() if k != "time"} for e in found]
    return sorted(bare, key=lambda e: entries.identity(e))


def _known(sent: Any, old: Obj | None, subresource: str) -> Sequence[Obj]:
    """The entries a write starts from: the request's if it names any, else the stored ones."""
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
