"""Sets of field paths, kept in the very form the API shows them: `fieldsV1`.

A set is a tree of dicts. A key is one step of a path: `f:<field>`, `k:{"name":"c"}` (list item by its keys),
`v:<value>` (item of a set), `i:<index>`. A node that is empty, or has the key `.`, stands for a path that is
itself in the set; the node's other keys are the paths below it. The empty root is the empty set. Nothing has
to be converted to read or write managedFields. Sets share parts: nodes are frozen, and every function returns
new nodes or the given ones.

`difference` and `intersection` take paths one by one: removing a path leaves the paths below it.
`without` removes whole branches.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Final

from longshore.api import field
from longshore.api.shape import FieldSet
from longshore.api.types import encode

LEAF: Final[FieldSet] = {}
"""A path that is in the set with nothing below it. Shared: never write to it."""
SELF: Final = "."
_MAX_REMEMBERED_BYTES: Final = 1 << 14
_MAX_REMEMBERED_STEPS: Final = 64
"""Nodes with more steps are not cached."""


def union(a: FieldSet, b: FieldSet) -> FieldSet:
    """All paths of both sets; in order if `a` is."""
    if not a or not b:
        return a or in_order(b)
    return _union(a, b)


def difference(a: FieldSet, b: FieldSet) -> FieldSet:
    """The paths of `a` that are not in `b`; `a` itself when there are no others."""
    return _difference(a, b) or {} if a and b else a


def renewed(a: FieldSet, changed: FieldSet, gone: FieldSet) -> FieldSet | None:
    """The paths of `a` and of `changed`, without those of `gone`, in order; None if no path of `changed` is
    left."""
    if gone:
        a, changed = difference(a, gone), difference(changed, gone)
    return union(a, changed) if changed else None


def intersection(a: FieldSet, b: FieldSet) -> FieldSet:
    """The paths in both sets."""
    return _intersection(a, b) or {} if a and b else {}


def without(a: FieldSet, b: FieldSet) -> FieldSet:
    """The paths of `a` that are neither in `b` nor below a path of `b`."""
    return _without(a, b) or {} if a and b else a


def has(a: FieldSet, path: tuple[str, ...]) -> bool:
    """Whether this very path is in the set."""
    node = a
    for step in path:
        found = node.get(step)
        if found is None:
            return False
        node = found
    return bool(path) and is_member(node)


def is_member(node: FieldSet) -> bool:
    """Whether the path a node stands for is itself in the set."""
    return not node or SELF in node


def in_order(a: FieldSet) -> FieldSet:
    """The set with the keys of every node in Kubernetes' order: `.` first, then fields by name, then items.
    Upstream stores this text, and its tests compare it. Returns `a` itself if it is in order."""
    order = _order_of(a) if len(a) > 1 else None
    out: FieldSet | None = None if order is None else {step: a[step] for step in order}
    for step, below in a.items():
        if below and (sorted_ := _list_in_order(below) or in_order(below)) is not below:
            if out is None:
                out = dict(a)
            out[step] = sorted_
    return a if out is None else out


def _list_in_order(node: FieldSet) -> FieldSet | None:
    """The node, in order, of a list of several items with keys; None for any other node. Most objects have
    equal conditions and containers, so such nodes are cached by their JSON and shared."""
    if len(node) > 2 and next(reversed(node))[0] == "k":
        raw = encode(node)
        return _remembered(raw) if len(raw) <= _MAX_REMEMBERED_BYTES else _read_in_order(raw)
    return None


def _read_in_order(raw: bytes) -> FieldSet:
    node: FieldSet = json.loads(raw)
    return {step: in_order(node[step]) for step in _order_of(node) or node}


_remembered: Final = lru_cache(maxsize=1024)(_read_in_order)


def paths(a: FieldSet) -> Iterator[tuple[str, ...]]:
    """Every path in Kubernetes' order: at each level, first paths that end there, then longer ones."""
    return _paths(a, ())


def text(path: tuple[str, ...]) -> str:
    """A path as messages show it: `.spec.containers[name="main"].image`."""
    return "".join(map(step_text, path))


def step_text(step: str) -> str:
    kind, rest = step[:2], step[2:]
    if kind == "f:":
        return "." + rest
    if kind == "i:":
        return f"[{rest}]"
    value = json.loads(rest)
    if kind == "v:":
        return f"[={_shown(value)}]"
    return "[" + ",".join(f"{k}={_shown(value[k])}" for k in sorted(value)) + "]"


def parsed(raw: Any) -> FieldSet:
    """A set that a client wrote, in canonical form. ValueError when it is not one.

    Steps of an unknown kind are left out, as by upstream: a later version may know them.
    """
    if raw is None:
        return {}
    if not isinstance(raw, dict):
        raise ValueError("a set of fields is a JSON object")
    out: FieldSet = {}
    for step, below in raw.items():
        if step == SELF:
            continue
        key = _parsed_step(step)
        if key is not None:
            out[key] = _parsed_node(below)
    return out


def _parsed_node(raw: Any) -> FieldSet:
    children = parsed(raw)
    if not raw or (SELF in raw and not children):
        return LEAF
    return {SELF: LEAF, **children} if SELF in raw else children or LEAF


def _parsed_step(step: str) -> str | None:
    kind, rest = step[:2], step[2:]
    if len(step) < 2 or step[1] != ":":
        raise ValueError(f"missing colon: {step}")
    if kind == "f:":
        return step
    if kind == "i:":
        return f"i:{int(rest)}"
    if kind == "v:":
        return "v:" + field.json_text(json.loads(rest))
    if kind == "k:":
        keys = json.loads(rest)
        if not isinstance(keys, dict) or not keys:
            raise ValueError("a key is a JSON object with at least one member")
        return "k:" + field.json_text({k: keys[k] for k in sorted(keys)})
    return None


def _union(a: FieldSet, b: FieldSet) -> FieldSet:
    if a is b:
        return a
    if not a or not b:
        other = a or in_order(b)
        return other if is_member(other) else {SELF: LEAF, **other}
    out = a
    for step, below in b.items():
        known = a.get(step)
        if not below and known is not None and not known:
            continue
        joined = in_order(below) if known is None else _union(known, below)
        if joined is not known:
            if out is a:
                out = dict(a)
            out[step] = joined
    if len(out) > len(a) and (order := _order_of(out)) is not None:
        return {step: out[step] for step in order}
    return out


def _difference(a: FieldSet, b: FieldSet) -> FieldSet | None:
    """The difference of two nodes: None if nothing is left, `a` itself if nothing was removed."""
    if a is b:
        return None
    if not a:
        return None if is_member(b) else a
    if not b:
        return _not_itself(a)
    out = a
    for step, minus in b.items():
        known = a.get(step)
        if known is None:
            continue
        if known:
            left = _difference(known, minus)
            if left is known:
                continue
        elif minus and SELF not in minus:
            continue
        else:
            left = None
        out = _replaced(dict(a) if out is a else out, step, left)
    if out is a:
        return a
    if len(out) > 1:
        return out
    return _tidy(out)


def _replaced(own: FieldSet, step: str, left: FieldSet | None) -> FieldSet:
    """Puts `left` at this step of the caller's own set. If `left` is None, removes the step."""
    if left is None:
        del own[step]
    else:
        own[step] = left
    return own


def _not_itself(a: FieldSet) -> FieldSet | None:
    if SELF not in a:
        return a
    return {k: v for k, v in a.items() if k != SELF} or None


def _tidy(node: FieldSet) -> FieldSet | None:
    if not node:
        return None
    return LEAF if len(node) == 1 and SELF in node else node


def _intersection(a: FieldSet, b: FieldSet) -> FieldSet | None:
    if a is b:
        return a
    if not a or not b:
        return LEAF if is_member(a) and is_member(b) else None
    out: FieldSet = {}
    for step, below in a.items():
        other = b.get(step)
        if other is not None and (both := _intersection(below, other)) is not None:
            out[step] = both
    return _tidy(out)


def _without(a: FieldSet, b: FieldSet) -> FieldSet | None:
    if is_member(b):
        return None
    out = a
    for step, minus in b.items():
        known = a.get(step)
        if known is None:
            continue
        left = _without(known, minus)
        if left is known:
            continue
        out = _replaced(dict(a) if out is a else out, step, left)
    return out if out is a else _tidy(out)


def _order_of(node: FieldSet) -> tuple[str, ...] | None:
    """The sorted steps of a node with several; None if they are sorted already."""
    steps = tuple(node)
    if len(steps) == 2 and SELF in node:
        return None if steps[0] == SELF else (SELF, steps[0])
    return _known_order(steps) if len(steps) <= _MAX_REMEMBERED_STEPS else _in_order(steps)


def _in_order(steps: tuple[str, ...]) -> tuple[str, ...] | None:
    found = tuple(sorted(steps, key=_order))
    return None if found == steps else found


_known_order: Final = lru_cache(maxsize=4096)(_in_order)
"""Cached, since the same few maps and lists are written again and again."""
forget: Final = _known_order.cache_clear
"""Clears the cache, which may hold long names from a large body."""


_KINDS: Final = {"f": 0, "k": 1, "v": 2, "i": 3}


def _order(step: str) -> tuple[Any, ...]:
    """The sort key of a step: the node itself, then fields, keys, values, indexes, each by content."""
    kind, rest = step[0], step[2:]
    if kind == "f":
        return (0, rest)
    if kind == SELF:
        return (-1,)
    value = json.loads(rest)
    if kind == "k":
        return (1, tuple((k, _rank(v)) for k, v in sorted(value.items())))
    return (_KINDS[kind], _rank(value))


def _rank(value: Any) -> tuple[int, Any]:
    """The sort key of a value: numbers, strings, booleans, null. Only values of one kind are compared."""
    if isinstance(value, bool):
        return (2, value)
    if isinstance(value, int | float):
        return (0, value)
    if isinstance(value, str):
        return (1, value)
    return (3, str(value))


def _paths(node: FieldSet, prefix: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    steps = sorted((s for s in node if s != SELF), key=_order)
    for step in steps:
        if is_member(node[step]):
            yield (*prefix, step)
    for step in steps:
        yield from _paths(node[step], (*prefix, step))


def _shown(value: Any) -> str:
    return field.quoted(value) if isinstance(value, str) else field.json_text(value)
