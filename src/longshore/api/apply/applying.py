"""Server-side apply: merges a configuration into an object and settles who owns what.

A conflict is a field of the configuration that another manager owns and whose value would change.
Without `force` it refuses the whole configuration; with it, the field changes hands. Equal values are
owned together. Fields the manager applied before and does not now are removed when no one else has
them. Applying what is there already changes nothing, time stamp included.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from typing import Any, Final

from longshore.api import errors, field
from longshore.api.apply import compare, entries, fieldset, managed, shape_check
from longshore.api.apply.compare import Untypable
from longshore.api.apply.dropped_fields import pruned
from longshore.api.apply.merge import merged
from longshore.api.apply.owned import fields_of
from longshore.api.apply.reconcile import fitted
from longshore.api.shape import FieldSet, MapShape, Shape
from longshore.api.types import Obj

LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
_BEFORE_FIRST_APPLY: Final = "before-first-apply"
_MAX_ANNOTATION_BYTES: Final = 256 * 1024  # bytes of all keys and values, Kubernetes' own limit
_UNOWNED: Final[FieldSet] = {
    "f:apiVersion": {},
    "f:kind": {},
    "f:metadata": {".": {}, **{f"f:{name}": {} for name in compare.UNOWNED_METADATA}},
}

Conflicts = list[tuple[Obj, FieldSet]]


def apply(
    live: Obj | None,
    applied: Obj,
    *,
    manager: str,
    force: bool,
    api_version: str,
    shape: Shape,
    now: str,
    subresource: str = "",
    versions: Collection[str] = (),
) -> Obj:
    """The object after `manager` applied a configuration to it, managedFields written.

    `live` is the stored object, None when there is none yet; `applied` has passed `shape_check.problem_of`
    and may carry apiVersion and kind, which the result does not. The result is not decoded yet: it
    has the configuration's values as they were sent. Raises the 409 of a conflict.
    """
    assert isinstance(shape, MapShape)
    config = {k: v for k, v in applied.items() if k not in ("apiVersion", "kind")}
    base = _without_managers(live) if live is not None else shape.zero
    skip = shape.resets.get(subresource, {})
    known = fitted(_known(live, base, shape, api_version, now, skip), shape)
    me = (manager, "Apply", "", subresource)
    others = [e for e in known if entries.identity(e) != me]
    mine = next((e for e in known if entries.identity(e) == me), None)

    claim = fieldset.without(fields_of(config, shape), skip)
    result = merged(base, config, shape)
    if mine is not None and fieldset.difference(mine["fieldsV1"], claim):
        claims = [claim, *(e["fieldsV1"] for e in others)]
        result = pruned(result, shape, mine["fieldsV1"], claims)
    same = result == base
    changed, gone = ({}, {}) if same else compare.change_of(shape, base, result, skip)
    if not force:
        conflicts = _conflicts(others, changed)
        if conflicts and manager == "kubectl":
            conflicts = _not_last_applied(conflicts, live, shape, api_version)
        if conflicts:
            raise conflict(conflicts)
    kept = managed.surviving(others, changed, gone, api_version, versions)
    claim = fieldset.in_order(fieldset.difference(claim, _UNOWNED))
    if claim:
        time = (mine or {}).get("time") or "" if same else now
        kept = [*kept, entries.made(manager, "Apply", api_version, claim, time, subresource)]
    out = {**result, "metadata": dict(result.get("metadata") or {})}
    if kept:
        out["metadata"]["managedFields"] = entries.ordered(kept)
    if manager == "kubectl":
        _renew_last_applied(out["metadata"], applied)
    return out


def conflict(conflicts: Conflicts) -> errors.StatusError:
    """The 409 that names every field in the way and who owns it."""
    found = sorted(conflicts, key=lambda c: entries.identity_text(c[0]))
    named = [(entries.shown(e), fieldset.text(p)) for e, fields in found for p in fieldset.paths(fields)]
    causes = [
        {"reason": "FieldManagerConflict", "message": f"conflict with {who}", "field": path}
        for who, path in named
    ]
    if len(named) == 1:
        who, path = named[0]
        message = f"Apply failed with 1 conflict: conflict with {who}: {path}"
    else:
        lines: list[str] = []
        for entry, fields in found:
            lines.append(f"conflicts with {entries.shown(entry)}:")
            lines += [f"- {fieldset.text(p)}" for p in fieldset.paths(fields)]
        message = f"Apply failed with {len(named)} conflicts: " + "\n".join(lines)
    return errors.StatusError(409, "Conflict", message, details={"causes": causes})


def _without_managers(live: Obj) -> Obj:
    meta = live.get("metadata", {})
    return {**live, "metadata": {k: v for k, v in meta.items() if k != "managedFields"}}


def _known(
    live: Obj | None, base: Obj, shape: MapShape, api_version: str, now: str, skip: FieldSet
) -> Sequence[Obj]:
    """The entries so far. An object nobody is recorded for belongs to its unknown past as a whole."""
    if live is None:
        return ()
    known: Sequence[Obj] = live["metadata"].get("managedFields") or ()
    if known:
        return known
    changed, _ = compare.change_of(shape, shape.zero, base, skip)
    fields = fieldset.in_order(changed)
    return [entries.made(_BEFORE_FIRST_APPLY, "Update", api_version, fields, now, "")] if fields else ()


def _conflicts(others: Sequence[Obj], changed: FieldSet) -> Conflicts:
    found = ((e, fieldset.intersection(e["fieldsV1"], changed)) for e in others)
    return [(e, fields) for e, fields in found if fields]


def _not_last_applied(conflicts: Conflicts, live: Obj | None, shape: MapShape, api_version: str) -> Conflicts:
    """The conflicts less those over fields that kubectl itself set when it still applied on its side."""
    allowed = _last_applied_fields(live, shape, api_version)
    found = ((e, fieldset.difference(fields, allowed)) for e, fields in conflicts)
    return [(e, fields) for e, fields in found if fields]


def _last_applied_fields(live: Obj | None, shape: MapShape, api_version: str) -> FieldSet:
    text = ((live or {}).get("metadata", {}).get("annotations") or {}).get(LAST_APPLIED)
    try:
        last: Any = json.loads(text or "null")
    except ValueError:
        return {}
    if (
        not isinstance(last, dict)
        or last.get("apiVersion") != api_version
        or shape_check.problem_of(last, shape)
    ):
        return {}
    last = {k: v for k, v in last.items() if k not in ("apiVersion", "kind")}
    try:
        changed, gone = compare.change_of(shape, last, live or {}, {})
        fields = fields_of(last, shape)
    except Untypable:
        return {}
    return fieldset.difference(fieldset.difference(fields, changed), gone)


def _renew_last_applied(meta: Obj, applied: Obj) -> None:
    """kubectl keeps its annotation in step with what it applies, so that both ways can be mixed."""
    annotations = meta.get("annotations") or {}
    if not annotations.get(LAST_APPLIED):
        return
    sent = dict(applied)
    own = sent.get("metadata")
    if isinstance(own, dict) and isinstance(own.get("annotations"), dict):
        left = {k: v for k, v in own["annotations"].items() if k != LAST_APPLIED}
        sent["metadata"] = {**own, "annotations": left}
    annotations = {**annotations, LAST_APPLIED: _sorted_json(sent) + "\n"}
    if sum(len(k.encode()) + len(v.encode()) for k, v in annotations.items()) > _MAX_ANNOTATION_BYTES:
        del annotations[LAST_APPLIED]
    meta["annotations"] = annotations


def _sorted_json(value: Any) -> str:
    def ordered(part: Any) -> Any:
        if isinstance(part, dict):
            return {k: ordered(part[k]) for k in sorted(part)}
        return [ordered(v) for v in part] if isinstance(part, list) else part

    return field.json_text(ordered(value))
