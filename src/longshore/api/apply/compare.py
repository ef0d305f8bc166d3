"""Finds the fields that differ between two objects: those that were set, and those that were removed.

Shapes are compiled to functions on first use, because this runs on every write: one dict lookup per field, no
paths, no work below parts that are equal. A new value is owned with everything in it, containers included. Of
a changed container only the changed members are owned.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from json.encoder import encode_basestring
from typing import Any, Final, NamedTuple, TypeAlias

from longshore.api import field
from longshore.api.apply.fieldset import LEAF, SELF
from longshore.api.shape import FieldSet, ListShape, MapShape, ScalarShape, Shape
from longshore.api.types import Obj

Change: TypeAlias = tuple[FieldSet | None, FieldSet | None]
"""The fields that were set and the fields that were removed, as nodes of field sets; None for no fields."""

NO_CHANGE: Final[Change] = (None, None)
_MISSING: Final = object()
_MAX_REMEMBERED_TEXTS: Final = 64


class Untypable(Exception):
    """A list has an item without the keys that tell items apart, so its fields have no names."""


class ComparePlan(NamedTuple):
    """The two functions of a shape: all fields of a value, and the difference of two values."""

    whole: Callable[[Any], FieldSet]
    change: Callable[[Any, Any], Change]
    steps: Steps | None = None
    """For a map with members: the path step and the plan of each member; the plan of a leaf is None."""


Steps: TypeAlias = Mapping[str, tuple[str, ComparePlan | None]]


def plan_of(shape: Shape) -> ComparePlan:
    """The compiled form of a shape."""
    found: ComparePlan | None = shape.plan
    if found is None:
        found = shape.plan = _compiled(shape)
    return found


def change_of(
    shape: MapShape,
    old: Obj,
    new: Obj,
    skip: FieldSet,
    given: Mapping[str, FieldSet] | None = None,
    only: str = "",
) -> tuple[FieldSet, FieldSet]:
    """The sets of fields that were set and that were removed between two whole objects.

    `skip` names fields to ignore: top-level fields, and single fields of metadata. Fields without owners
    (metadata's name, uid, version and so on) are always ignored. `given` has the fields of whole new parts,
    if the caller knows them; `only` names the one part that differs.
    """
    set_: FieldSet = {}
    gone: FieldSet = {}
    if old is new:
        return set_, gone
    steps = (shape.plan or plan_of(shape)).steps
    assert steps is not None, "no kind is a single leaf"
    every: Iterable[str]
    if only:
        every = (only,)
    else:
        every = new if len(new) >= len(old) and new.keys() >= old.keys() else {**new, **old}
    for key in every:
        step, plan = steps[key]
        if step in skip and not (skipped := skip[step]):
            continue
        if given is not None and key in given:
            set_[step] = given[key]
            continue
        before, after = old.get(key, _MISSING), new.get(key, _MISSING)
        if before is after or before == after:
            continue
        added: FieldSet | None
        removed: FieldSet | None
        if key == "metadata" and plan is not None and plan.steps is not None:
            hidden = _UNOWNED | skipped.keys() if step in skip else _UNOWNED
            added, removed = _metadata_change(plan.steps, before, after, hidden)
        elif before is _MISSING:
            added, removed = LEAF if plan is None else plan.whole(after), None
        elif after is _MISSING:
            added, removed = None, LEAF if plan is None else plan.whole(before)
        else:
            added, removed = (LEAF, None) if plan is None else plan.change(before, after)
        if added is not None:
            set_[step] = added
        if removed is not None:
            gone[step] = removed
    return set_, gone


UNOWNED_METADATA: Final = (
    "name", "namespace", "creationTimestamp", "selfLink", "uid", "clusterName", "generation",
    "managedFields", "resourceVersion",
)  # fmt: skip
_UNOWNED: Final = frozenset(f"f:{name}" for name in UNOWNED_METADATA)


def _metadata_change(steps: Steps, old: Any, new: Any, hidden: frozenset[str]) -> Change:
    old = {} if old is _MISSING or not old else old
    new = {} if new is _MISSING or not new else new
    set_: FieldSet = {}
    gone: FieldSet = {}
    for key, after in new.items():
        before = old.get(key, _MISSING)
        if before is after:
            continue
        step, plan = steps[key]
        if step in hidden or before == after:
            continue
        if before is _MISSING:
            set_[step] = LEAF if plan is None else plan.whole(after)
        elif plan is None:
            set_[step] = LEAF
        else:
            added, removed = plan.change(before, after)
            if added is not None:
                set_[step] = added
            if removed is not None:
                gone[step] = removed
    for key, before in old.items():
        if key not in new:
            step, plan = steps[key]
            if step not in hidden:
                gone[step] = LEAF if plan is None else plan.whole(before)
    return set_ or None, gone or None


def _compiled(shape: Shape) -> ComparePlan:
    if isinstance(shape, ScalarShape):
        return _LEAF_PLAN
    if isinstance(shape, MapShape):
        return _LEAF_PLAN if shape.atomic else _map_plan(shape)
    if isinstance(shape, ListShape):
        return _LEAF_PLAN if shape.type == "atomic" else _list_plan(shape)
    return ComparePlan(_untyped_whole, _untyped_change)


def _leaf_whole(value: Any) -> FieldSet:
    return LEAF


def _leaf_change(old: Any, new: Any) -> Change:
    return NO_CHANGE if old == new else (LEAF, None)


_LEAF_PLAN: Final = ComparePlan(_leaf_whole, _leaf_change)


class _Steps(dict[str, tuple[str, ComparePlan | None]]):
    """Field name to path step and plan, filled on first use; the plan of a leaf is None."""

    def __init__(self, shape: MapShape) -> None:
        super().__init__()
        self._shape = shape

    def __missing__(self, name: str) -> tuple[str, ComparePlan | None]:
        known = self._shape.fields.get(name)
        child = known or self._shape.element
        plan = plan_of(child) if child is not None else _LEAF_PLAN
        entry = ("f:" + name, None if plan is _LEAF_PLAN else plan)
        if known is not None:
            # Free keys (labels) are not remembered: a server sees any number of them.
            self[name] = entry
        return entry


def _map_plan(shape: MapShape) -> ComparePlan:
    steps = _Steps(shape)

    def whole(value: Any) -> FieldSet:
        if not value:
            return LEAF
        if type(value) is not dict:
            raise Untypable
        out: FieldSet = {SELF: LEAF}
        for name, inner in value.items():
            step, plan = steps[name]
            out[step] = LEAF if plan is None else plan.whole(inner)
        return out

    def change(old: Any, new: Any) -> Change:
        if not old:
            return _members_of(whole(new)) if new else _leaf_change(old, new)
        if type(old) is not dict or (new and type(new) is not dict):
            raise Untypable
        return _members_change(steps, old, new or {})

    return ComparePlan(whole, change, steps)


def _members_change(steps: Steps, old: Obj, new: Obj) -> Change:
    set_: FieldSet = {}
    gone: FieldSet = {}
    shared = 0
    for name, after in new.items():
        before = old.get(name, _MISSING)
        if before is _MISSING:
            step, plan = steps[name]
            set_[step] = LEAF if plan is None else plan.whole(after)
            continue
        shared += 1
        if before is after or before == after:
            continue
        step, plan = steps[name]
        if plan is None:
            set_[step] = LEAF
            continue
        added, removed = plan.change(before, after)
        if added is not None:
            set_[step] = added
        if removed is not None:
            gone[step] = removed
    if shared != len(old):
        for name, before in old.items():
            if name not in new:
                step, plan = steps[name]
                gone[step] = LEAF if plan is None else plan.whole(before)
    return set_ or None, gone or None


def _members_of(node: FieldSet) -> Change:
    """The change of a container that was empty: its members are new, and the container is not."""
    del node[SELF]
    return node, None


def item_step(shape: ListShape) -> Callable[[Any], str]:
    """A function that names a list's item by its keys or, in a set, by its value."""
    if shape.type == "set":
        return _value_step
    if len(shape.keys) == 1:
        return _one_key_step(shape.keys[0], shape.defaults.get(shape.keys[0], _MISSING))
    heads = [(k, "," * bool(i) + _string(k) + ":") for i, k in enumerate(shape.keys)]
    defaults = shape.defaults

    def by_keys(item: Any) -> str:
        if type(item) is not dict:
            raise Untypable
        out = "k:{"
        for key, head in heads:
            value = item.get(key, _MISSING)
            if value is _MISSING and (value := defaults.get(key, _MISSING)) is _MISSING:
                raise Untypable
            out += head + _json(value)
        return out + "}"

    return by_keys


def _value_step(item: Any) -> str:
    if type(item) is str:
        return "v:" + _string(item)
    if item is None or type(item) in (dict, list):
        raise Untypable
    return "v:" + _json(item)


def _one_key_step(key: str, default: Any) -> Callable[[Any], str]:
    head = "k:{" + _string(key) + ":"
    # Types of conditions and names of containers are few. Where there are many, the first ones are kept.
    texts: dict[str, str] = {}

    def by_key(item: Any) -> str:
        if type(item) is not dict:
            raise Untypable
        value = item.get(key, default)
        if value is _MISSING:
            raise Untypable
        if type(value) is not str:
            return head + _json(value) + "}"
        text = texts.get(value)
        if text is None:
            text = head + _string(value) + "}"
            if len(texts) < _MAX_REMEMBERED_TEXTS:
                texts[value] = text
        return text

    return by_key


def _json(value: Any) -> str:
    if type(value) is str:
        return _string(value)
    return str(value) if type(value) is int else field.json_text(value)


def _string(value: str) -> str:
    if "<" in value or ">" in value or "&" in value:
        return field.json_text(value)
    return encode_basestring(value)


def _list_plan(shape: ListShape) -> ComparePlan:
    step_of = item_step(shape)
    element = plan_of(shape.element)

    leaves = element is _LEAF_PLAN

    def indexed(items: list[Any]) -> dict[str, list[Any]]:
        out: dict[str, list[Any]] = {}
        for item in items:
            step = step_of(item)
            if step in out:
                out[step].append(item)
            else:
                out[step] = [item]
        return out

    def whole(value: Any) -> FieldSet:
        if not value:
            return LEAF
        if type(value) is not list:
            raise Untypable
        out: FieldSet = {SELF: LEAF}
        for item in value:
            step = step_of(item)
            out[step] = LEAF if leaves or step in out else element.whole(item)
        return out

    def change(old: Any, new: Any) -> Change:
        if not old:
            return _members_of(whole(new)) if new else _leaf_change(old, new)
        if type(old) is not list or (new and type(new) is not list):
            raise Untypable
        before, after = indexed(old), indexed(new or [])
        set_: FieldSet = {}
        gone: FieldSet = {}
        for step in {**before, **after}:
            mine, theirs = before.get(step, ()), after.get(step, ())
            if mine == theirs:
                continue
            added, removed = _items_change(element, mine, theirs)
            if added is not None:
                set_[step] = added
            if removed is not None:
                gone[step] = removed
        return set_ or None, gone or None

    return ComparePlan(whole, change)


def _items_change(element: ComparePlan, old: Any, new: Any) -> Change:
    """The change of items with one name. Several such items are one leaf: nothing distinguishes them."""
    if len(old) <= 1 and len(new) <= 1:
        if not old:
            return element.whole(new[0]), None
        return element.change(old[0], new[0]) if new else (None, element.whole(old[0]))
    if len(old) > 1 and len(new) > 1:
        return _leaf_change(old, new)
    if len(old) > 1:
        return (element.whole(new[0]) if new else None), LEAF
    return LEAF, (element.whole(old[0]) if old else None)


def _untyped_whole(value: Any) -> FieldSet:
    if type(value) is not dict or not value:
        return LEAF
    return {SELF: LEAF, **{"f:" + k: _untyped_whole(v) for k, v in value.items()}}


class _UntypedSteps(dict[str, tuple[str, ComparePlan | None]]):
    def __missing__(self, name: str) -> tuple[str, ComparePlan | None]:
        return "f:" + name, _UNTYPED_PLAN


def _untyped_change(old: Any, new: Any) -> Change:
    if old == new:
        return NO_CHANGE
    old_map, new_map = type(old) is dict and bool(old), type(new) is dict and bool(new)
    if not old_map and not new_map:
        return LEAF, None
    if (old_map or old is None or old == {}) and (new_map or new is None or new == {}):
        return _members_change(_UntypedSteps(), old or {}, new or {})
    # A map became another type, or the reverse: its members were removed or set, and the field changed.
    set_ = _untyped_whole(new) if new_map else LEAF
    gone = {k: v for k, v in _untyped_whole(old).items() if k != SELF} if old_map else None
    return set_, gone


_UNTYPED_PLAN: Final = ComparePlan(_untyped_whole, _untyped_change)
