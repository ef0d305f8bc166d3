"""Server-side apply: merges a configuration into an object and decides which manager owns which field.

A conflict is a field of the configuration that another manager owns and whose value would change. Without
`force` a conflict refuses the whole configuration; with it, the manager takes the field over. Managers that
apply equal values share the field. A field that the manager applied before and does not apply now is removed
unless another manager owns it. Applying equal values again changes nothing, not even the time.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from typing import Any, Final

from longshore.api import errors, field
from longshore.api.apply import compare, entries, fieldset, managed, shape_check
from longshore.api.apply.compare import Untypable, item_step
from longshore.api.apply.fieldset import LEAF, SELF, is_member
from longshore.api.apply.managed import fitted
from longshore.api.shape import FieldSet, ListShape, MapShape, Shape, UntypedShape
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
    """The 409 that names every conflicting field and its owner."""
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
    """The entries so far. If an object has none, an entry `before-first-apply` owns all its fields."""
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
    """The conflicts, except over fields that kubectl itself set by client-side apply."""
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
    """Updates kubectl's annotation with the applied object, so that both ways of applying can be mixed."""
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


# ---- Removes fields that an applier no longer applies, unless another manager owns them.
#
# An item goes when the applier's previous configuration had it, the new one has not, and no other
# manager claims it or anything in it.


def pruned(merged: Obj, shape: MapShape, last: FieldSet, claims: Iterable[FieldSet]) -> Obj:
    """`merged` without the abandoned part of `last`; `claims` are all managers' sets after this apply."""
    last = with_containers(last, shape)
    everything = with_containers(fields_of(merged, shape), shape)
    claimed: FieldSet = {}
    for claim in claims:
        claimed = fieldset.union(claimed, claim)
    claimed = with_containers(claimed, shape)
    left = with_containers(fields_of(removed(merged, shape, last), shape), shape)
    kept = fieldset.union(left, claimed)
    left = fields_of(removed(merged, shape, fieldset.difference(everything, kept)), shape)
    abandoned = fieldset.difference(everything, with_containers(left, shape))
    return removed(merged, shape, fieldset.intersection(abandoned, last))


def with_containers(fields: FieldSet, shape: Shape | None) -> FieldSet:
    """The set, and every named field that has members in the set."""
    out: FieldSet = {}
    for step, node in fields.items():
        if step == SELF or not node:
            out[step] = node
            continue
        child, named = _below(shape, step)
        inner = with_containers(node, child)
        out[step] = {SELF: LEAF, **inner} if named and SELF not in inner else inner
    return out


def _below(shape: Shape | None, step: str) -> tuple[Shape | None, bool]:
    """The shape below this step, and whether the step is a named field."""
    if isinstance(shape, MapShape) and step.startswith("f:"):
        known = shape.fields.get(step[2:])
        return known or shape.element, known is not None
    if isinstance(shape, ListShape):
        return shape.element, False
    return (shape if isinstance(shape, UntypedShape) else None), False


def removed(obj: Obj, shape: MapShape, gone: FieldSet) -> Obj:
    """The object without the fields in `gone`."""
    return (_without(obj, shape, gone) or {}) if gone else obj


def _without(value: Any, shape: Shape | None, gone: FieldSet) -> Any:
    if isinstance(shape, ListShape):
        return _list_without(value, shape, gone)
    if isinstance(shape, MapShape) and shape.atomic:
        return None
    if not isinstance(shape, MapShape | UntypedShape) or type(value) is not dict:
        return None if type(value) in (dict, list) else value
    out: Obj = {}
    for name, inner in value.items():
        step = "f:" + name
        node = gone.get(step)
        if node is None:
            out[name] = inner
        elif not is_member(node):
            out[name] = _without(inner, _below(shape, step)[0], node)
    return out or None


def _list_without(value: Any, shape: ListShape, gone: FieldSet) -> Any:
    if shape.type == "atomic" or not value:
        return None
    step_of = item_step(shape)
    out = []
    for item in value:
        node = gone.get(step_of(item))
        if node is None:
            out.append(item)
        elif not is_member(node):
            out.append(_without(item, shape.element, node))
    return out or None


# ---- Merges an applied configuration into the live object: its fields win, all others stay.
#
# Null does not delete here: it is a value like any other, and decoding drops it. `pruned` removes
# afterwards the fields that the applier has left out this time.


def merged(live: Any, applied: Any, shape: Shape) -> Any:
    """The live value with the applied one laid over it. Neither is changed; parts are shared."""
    if isinstance(shape, MapShape) and not shape.atomic:
        return _maps(live, applied, shape)
    if isinstance(shape, UntypedShape) and type(live) is dict and (applied is None or type(applied) is dict):
        return _maps(live, applied, shape)
    if isinstance(shape, ListShape) and shape.type != "atomic":
        return _lists(live, applied, shape)
    return applied


def _maps(live: Any, applied: Any, shape: MapShape | UntypedShape) -> Any:
    if not applied:
        return live or applied
    if not live:
        return applied
    out: Obj = dict(live)
    for name, value in applied.items():
        if name not in live:
            out[name] = value
            continue
        child = (shape.fields.get(name) or shape.element) if isinstance(shape, MapShape) else shape
        out[name] = merged(live[name], value, child) if child is not None else value
    return out


def _lists(live: Any, applied: Any, shape: ListShape) -> Any:
    """Merges lists. Applied items keep their order; live items stay before the next item of both lists."""
    if not applied:
        return live or applied
    if not live:
        return applied
    step_of = item_step(shape)
    wanted = {step_of(item): item for item in applied}
    steps = [step_of(item) for item in live]
    known: dict[str, Any] = {}
    for step, item in zip(steps, live, strict=True):
        # Of items that share their keys none can be merged into: the configuration replaces them all.
        known[step] = item if step not in known else None

    def laid_over(step: str) -> Any:
        base = known.get(step)
        return wanted[step] if base is None else merged(base, wanted[step], shape.element)

    order = list(wanted)
    common = iter([step for step in order if step in known])
    anchor, at, out = next(common, None), 0, []
    for step, item in zip(steps, live, strict=True):
        if step not in wanted:
            out.append(item)
        elif step == anchor:
            until = order.index(step, at) + 1
            out.extend(laid_over(s) for s in order[at:until])
            at, anchor = until, next(common, None)
    out.extend(laid_over(s) for s in order[at:])
    return out


# ---- The fields that an applied configuration owns.
#
# A named field with members is not claimed itself, only its members; list items and free map keys are
# claimed with their members; null and empty maps are claimed as they stand.


def fields_of(obj: Obj, shape: Shape) -> FieldSet:
    """The set of fields of a whole object. The object must be well-formed (see `shape_check.problem_of`)."""
    return _fields(obj, shape) or {}


def _fields(value: Any, shape: Shape) -> FieldSet | None:
    """The node of a value; None when it has no fields of its own (an empty list or map)."""
    if isinstance(shape, MapShape) and not shape.atomic:
        if type(value) is not dict:
            return None if value is None else LEAF
        return _map_fields(value, shape)
    if isinstance(shape, UntypedShape) and type(value) is dict:
        return _map_fields(value, shape)
    if isinstance(shape, ListShape) and shape.type != "atomic":
        return _list_fields(value, shape) if value else None
    return LEAF


def _map_fields(value: Obj, shape: MapShape | UntypedShape) -> FieldSet | None:
    out: FieldSet = {}
    for name, inner in value.items():
        known = shape.fields.get(name) if isinstance(shape, MapShape) else None
        child = known or (shape.element if isinstance(shape, MapShape) else shape)
        node = _fields(inner, child) if child is not None else LEAF
        if inner is None or inner == {} or known is None:
            node = _claimed(node)
        if node is not None:
            out["f:" + name] = node
    return out or None


def _list_fields(value: list[Any], shape: ListShape) -> FieldSet:
    step_of = item_step(shape)
    out: FieldSet = {}
    for item in value:
        step = step_of(item)
        out[step] = LEAF if step in out else _claimed(_fields(item, shape.element))
    return out


def _claimed(node: FieldSet | None) -> FieldSet:
    return {SELF: LEAF, **node} if node else LEAF
