"""What schemas do to objects, as properties that hold for all of them."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from longshore.api.structural import kind_schema, prune, validate
from longshore.api.structural.node import Node, compiled
from longshore.api.types import copy_of

NAMES = st.sampled_from("abc")
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(-3, 3), st.sampled_from(["", "x", "yy"]))
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(NAMES, inner, max_size=3)),
    max_leaves=12,
)


def _scalar(draw: st.DrawFn) -> dict[str, Any]:
    kind, default = draw(st.sampled_from([("string", "d"), ("integer", 1), ("boolean", True), ("number", 2)]))
    out: dict[str, Any] = {"type": kind}
    if draw(st.booleans()):
        out["default"] = default
    if draw(st.booleans()):
        out["nullable"] = True
    return out


@st.composite
def schemas(draw: st.DrawFn, depth: int = 3) -> dict[str, Any]:
    """Any structural schema of objects, lists, maps and scalars."""
    kind = draw(st.sampled_from(["object", "map", "array", "scalar", "free"])) if depth else "scalar"
    match kind:
        case "object":
            out: dict[str, Any] = {"type": "object"}
            out["properties"] = draw(st.dictionaries(NAMES, schemas(depth - 1), max_size=3))
            if draw(st.booleans()):
                out["x-kubernetes-preserve-unknown-fields"] = True
            return out
        case "map":
            return {"type": "object", "additionalProperties": draw(schemas(depth - 1))}
        case "array":
            return {"type": "array", "items": draw(schemas(depth - 1))}
        case "free":
            return {"x-kubernetes-preserve-unknown-fields": True}
    return _scalar(draw)


def fitted(value: Any, node: Node) -> Any:
    own = copy_of(value)
    if isinstance(own, dict | list):
        prune.prune(own, node)
    kind_schema.fill(own, node)
    return own


quick = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@quick
@given(schemas(), VALUES)
def test_fitting_twice_is_fitting_once(schema: dict[str, Any], value: Any) -> None:
    node = compiled(schema)
    once = fitted(value, node)
    assert fitted(once, node) == once


@quick
@given(schemas(), VALUES)
def test_a_pruned_object_has_no_unknown_fields(schema: dict[str, Any], value: Any) -> None:
    node = compiled(schema)
    own = copy_of(value)
    if isinstance(own, dict | list):
        prune.prune(own, node)
        assert prune.prune(own, node) == []


@quick
@given(schemas(), VALUES)
def test_a_valid_object_stays_valid(schema: dict[str, Any], value: Any) -> None:
    node = compiled(schema)
    if not validate.problems(value, node):
        assert validate.problems(fitted(value, node), node) == []


@quick
@given(schemas(), VALUES)
def test_nothing_is_said_of_an_object_that_does_not_change(schema: dict[str, Any], value: Any) -> None:
    node = compiled({"type": "object", "properties": {"a": schema}})
    assert validate.problems({"a": value}, node, {"a": value}) == []


def test_unknown_fields_are_told_by_their_paths() -> None:
    items = {"type": "array", "items": {"type": "object", "properties": {"a": {"type": "string"}}}}
    node = compiled({"type": "object", "properties": {"list": items}})
    value = {"list": [{"a": "x", "z": 1}, {"y": {"deep": 1}}], "other": {}}
    assert prune.prune(value, node) == ["list[0].z", "list[1].y", "other"]
    assert value == {"list": [{"a": "x"}, {}]}


def test_fields_a_part_knows_are_pruned_even_if_it_keeps_others() -> None:
    known = {"type": "object", "properties": {"a": {"type": "string"}}}
    node = compiled(
        {"type": "object", "x-kubernetes-preserve-unknown-fields": True, "properties": {"known": known}}
    )
    value = {"known": {"a": "x", "b": 1}, "free": {"b": 1}}
    assert prune.prune(value, node) == ["known.b"]
    assert value == {"known": {"a": "x"}, "free": {"b": 1}}


def test_a_default_gets_the_defaults_inside_it() -> None:
    inner = {"type": "object", "default": {}, "properties": {"b": {"type": "integer", "default": 5}}}
    value: dict[str, Any] = {}
    kind_schema.fill(value, compiled({"type": "object", "properties": {"a": inner}}))
    assert value == {"a": {"b": 5}}


def test_null_is_a_value_where_it_is_allowed() -> None:
    properties = {
        "kept": {"type": "string", "nullable": True, "default": "d"},
        "filled": {"type": "string", "default": "d"},
        "dropped": {"type": "string"},
    }
    node = compiled({"type": "object", "properties": properties})
    assert fitted(dict.fromkeys(properties), node) == {"kept": None, "filled": "d"}


def test_a_number_without_a_fraction_becomes_an_integer_where_a_number_may_stand() -> None:
    node = compiled(
        {
            "type": "object",
            "properties": {
                "count": {"type": "integer"},
                "share": {"type": "number"},
                "port": {"x-kubernetes-int-or-string": True},
                "sizes": {"type": "array", "items": {"type": "integer"}},
                "name": {"type": "string"},
                "free": {"x-kubernetes-preserve-unknown-fields": True},
            },
        }
    )
    sent = {"count": -0.0, "share": 2.0, "port": 80.0, "sizes": [1.0, 1.5, 2.0**53], "name": 1.0}
    prune.prune(sent, node)
    assert repr(sent) == repr({"count": 0, "share": 2, "port": 80, "sizes": [1, 1.5, 2.0**53], "name": 1.0})
    free = {"free": {"a": [-0.0, {"b": 2.0}], "c": 1.5}}
    prune.prune(free, node)
    assert repr(free) == repr({"free": {"a": [0, {"b": 2}], "c": 1.5}})
