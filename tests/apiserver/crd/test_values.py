"""Values against schemas: every rule, in the words of Kubernetes' validator."""

from __future__ import annotations

from typing import Any

import pytest

from longshore.api.structural import validate
from longshore.api.structural.node import compiled


def told(value: Any, schema: dict[str, Any], old: Any = None) -> list[str]:
    """What is said of `spec: value`."""
    node = compiled({"type": "object", "properties": {"x": schema}})
    if old is None:
        return [str(e) for e in validate.problems({"x": value}, node)]
    return [str(e) for e in validate.problems({"x": value}, node, {"x": old})]


@pytest.mark.parametrize(
    ("value", "schema", "texts"),
    [
        (5, {"type": "string"}, ['x: Invalid value: "integer": x in body must be of type string: "integer"']),
        (
            "5",
            {"type": "integer"},
            ['x: Invalid value: "string": x in body must be of type integer: "string"'],
        ),
        (
            1.5,
            {"type": "integer"},
            [
                'x: Invalid value: "number": x in body must be of type integer: "number"',
                '<nil>: Invalid value: "": Checked value must be of type integer (default format) in x',
            ],
        ),
        (
            True,
            {"type": "number"},
            ['x: Invalid value: "boolean": x in body must be of type number: "boolean"'],
        ),
        ([], {"type": "object"}, ['x: Invalid value: "array": x in body must be of type object: "array"']),
        ({}, {"type": "array"}, ['x: Invalid value: "object": x in body must be of type array: "object"']),
        (None, {"type": "string"}, ['x: Invalid value: "null": x in body must be of type string: "null"']),
        (
            1.5,
            {"type": "integer", "format": "int32"},
            [
                'x: Invalid value: "float64": x in body must be of type int32: "float64"',
                '<nil>: Invalid value: "": Checked value must be of type integer with format int32 in x',
            ],
        ),
        (
            True,
            {"x-kubernetes-int-or-string": True},
            ['x: Invalid value: "boolean": x in body must be of type integer,string: "boolean"'],
        ),
        (
            2**31,
            {"type": "integer", "format": "int32"},
            ['<nil>: Invalid value: "": Checked value must be of type integer with format int32 in x'],
        ),
        (
            2**63,
            {"type": "integer"},
            [
                'x: Invalid value: "number": x in body must be of type integer: "number"',
                '<nil>: Invalid value: "": Checked value must be of type integer (default format) in x',
            ],
        ),
        (
            0,
            {"type": "integer", "minimum": 1},
            ["x: Invalid value: 0: x in body should be greater than or equal to 1"],
        ),
        (
            1,
            {"type": "integer", "minimum": 1, "exclusiveMinimum": True},
            ["x: Invalid value: 1: x in body should be greater than 1"],
        ),
        (
            2.5,
            {"type": "number", "maximum": 2},
            ["x: Invalid value: 2.5: x in body should be less than or equal to 2"],
        ),
        (
            2,
            {"type": "integer", "maximum": 2, "exclusiveMaximum": True},
            ["x: Invalid value: 2: x in body should be less than 2"],
        ),
        (
            7,
            {"type": "integer", "multipleOf": 5},
            ["x: Invalid value: 7: x in body should be a multiple of 5"],
        ),
        ("abcd", {"type": "string", "maxLength": 3}, ["x: Too long: may not be more than 3 bytes"]),
        (
            "",
            {"type": "string", "minLength": 1},
            ['x: Invalid value: "": x in body should be at least 1 chars long'],
        ),
        (
            "A",
            {"type": "string", "pattern": "^[a-z]$"},
            ["x: Invalid value: \"A\": x in body should match '^[a-z]$'"],
        ),
        (
            "a\n",
            {"type": "string", "pattern": "^a$"},
            ["x: Invalid value: \"a\\n\": x in body should match '^a$'"],
        ),
        (
            "now",
            {"type": "string", "format": "date-time"},
            ['x: Invalid value: "now": x in body must be of type date-time: "now"'],
        ),
        (
            "c",
            {"type": "string", "enum": ["a", "b"]},
            ['x: Unsupported value: "c": supported values: "a", "b"'],
        ),
        (3, {"type": "integer", "enum": [1, 2]}, ['x: Unsupported value: 3: supported values: "1", "2"']),
        (
            [],
            {"type": "array", "items": {"type": "string"}, "minItems": 1},
            ["x: Invalid value: 0: x in body should have at least 1 items"],
        ),
        (
            ["a", "b"],
            {"type": "array", "items": {"type": "string"}, "maxItems": 1},
            ["x: Too many: 2: must have at most 1 items"],
        ),
        (
            ["a", 1],
            {"type": "array", "items": {"type": "string"}},
            ['x[1]: Invalid value: "integer": x[1] in body must be of type string: "integer"'],
        ),
        (
            {},
            {"type": "object", "minProperties": 1, "additionalProperties": {"type": "string"}},
            ["x: Invalid value: 0: x in body should have at least 1 properties"],
        ),
        (
            {"a": "", "b": ""},
            {"type": "object", "maxProperties": 1, "additionalProperties": {"type": "string"}},
            ["x: Too many: 2: must have at most 1 items"],
        ),
        ({}, {"type": "object", "required": ["a"]}, ["x.a: Required value"]),
        (
            {"k": 1},
            {"type": "object", "additionalProperties": {"type": "string"}},
            ['x.k: Invalid value: "integer": x.k in body must be of type string: "integer"'],
        ),
    ],
)
def test_a_broken_rule_is_told(value: Any, schema: dict[str, Any], texts: list[str]) -> None:
    assert told(value, schema) == texts


@pytest.mark.parametrize(
    ("value", "schema"),
    [
        (1.0, {"type": "integer"}),
        (1, {"type": "number"}),
        (None, {"type": "string", "nullable": True}),
        ("5", {"x-kubernetes-int-or-string": True}),
        (5, {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]}),
        ("2024-02-29T12:00:00.5+01:00", {"type": "string", "format": "date-time"}),
        ("whatever", {"type": "string", "format": "no-such-format"}),
        ("ünï", {"type": "string", "maxLength": 3}),
        ({"any": ["thing"]}, {"x-kubernetes-preserve-unknown-fields": True}),
        (0.3, {"type": "number", "multipleOf": 0.1}),
    ],
)
def test_a_value_that_keeps_the_rules_is_fine(value: Any, schema: dict[str, Any]) -> None:
    assert told(value, schema) == []


def test_one_of_wants_exactly_one() -> None:
    properties = {"a": {"type": "string"}, "b": {"type": "string"}}
    schema = {"type": "object", "properties": properties, "oneOf": [{"required": ["a"]}, {"required": ["b"]}]}
    assert told({"a": ""}, schema) == []
    assert told({}, schema) == [
        '<nil>: Invalid value: "": "x" must validate one and only one schema (oneOf). Found none valid',
        "x.a: Required value",
    ]
    assert told({"a": "", "b": ""}, schema) == [
        '<nil>: Invalid value: "": "x" must validate one and only one schema (oneOf). '
        "Found 2 valid alternatives"
    ]


def test_any_of_tells_of_the_alternative_that_fits_best() -> None:
    schema = {
        "type": "object",
        "properties": {"kind": {"type": "string"}, "n": {"type": "integer"}},
        "anyOf": [
            {"required": ["z"]},
            {"properties": {"kind": {"enum": ["a"]}, "n": {"minimum": 5}}},
        ],
    }
    assert told({"kind": "a", "n": 7}, schema) == []
    assert told({"kind": "a", "n": 1}, schema) == [
        '<nil>: Invalid value: "": "x" must validate at least one schema (anyOf)',
        "x.n: Invalid value: 1: x.n in body should be greater than or equal to 5",
    ]


def test_all_of_and_not() -> None:
    both = {"type": "integer", "allOf": [{"minimum": 1}, {"maximum": 3}]}
    assert told(2, both) == []
    assert told(5, both) == [
        "x: Invalid value: 5: x in body should be less than or equal to 3",
        '<nil>: Invalid value: "": "x" must validate all the schemas (allOf)',
    ]
    assert told(5, {"type": "integer", "not": {"minimum": 3}}) == [
        '<nil>: Invalid value: "": "x" must not validate the schema (not)'
    ]


def test_what_an_update_leaves_alone_is_not_complained_of() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"type": "string", "maxLength": 1}, "b": {"type": "string", "maxLength": 1}},
    }
    assert told({"a": "xx", "b": "y"}, schema, old={"a": "xx"}) == []
    assert told({"a": "xx", "b": "yy"}, schema, old={"a": "xx", "b": "y"}) == [
        "x.b: Too long: may not be more than 1 bytes"
    ]


def test_items_of_a_map_list_are_known_by_their_keys() -> None:
    items = {
        "type": "object",
        "properties": {"k": {"type": "string"}, "v": {"type": "string", "maxLength": 1}},
    }
    atomic = {"type": "array", "items": items}
    keyed = atomic | {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]}
    new, old = [{"k": "b"}, {"k": "a", "v": "xx"}], [{"k": "a", "v": "xx"}]
    assert told(new, keyed, old) == []
    assert told(new, atomic, old) == ["x[1].v: Too long: may not be more than 1 bytes"]
