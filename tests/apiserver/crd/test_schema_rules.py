"""Which schemas a definition may have."""

from __future__ import annotations

from typing import Any

import pytest

from longshore.api.structural import rules, structure


def problems(spec: dict[str, Any], *, status: bool = False) -> list[str]:
    schema = {"type": "object", "properties": {"spec": spec}}
    found = [*rules.problems(schema, "root", status=status), *structure.problems(schema, "root")]
    return [str(e).removeprefix("root.properties[spec]") for e in found]


def whole(schema: dict[str, Any], *, status: bool = False) -> list[str]:
    return [
        str(e) for e in [*rules.problems(schema, "root", status=status), *structure.problems(schema, "root")]
    ]


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ({}, ".type: Required value: must not be empty for specified object fields"),
        ({"type": "array"}, ".items: Required value: must be specified"),
        (
            {"type": "array", "items": {}},
            ".items.type: Required value: must not be empty for specified array items",
        ),
        (
            {"type": "text"},
            '.type: Unsupported value: "text": supported values: "array", "boolean", "integer", "number", '
            '"object", "string"',
        ),
        ({"type": "string", "$ref": "#/x"}, ".$ref: Forbidden: $ref is not supported"),
        (
            {"type": "object", "patternProperties": {"a": {"type": "string"}}},
            ".patternProperties: Forbidden: patternProperties is not supported",
        ),
        (
            {"type": "array", "items": {"type": "string"}, "uniqueItems": True},
            ".uniqueItems: Forbidden: uniqueItems cannot be set to true since the runtime complexity becomes "
            "quadratic",
        ),
        (
            {
                "type": "object",
                "properties": {"a": {"type": "string"}},
                "additionalProperties": {"type": "string"},
            },
            ".additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive",
        ),
        (
            {"type": "string", "anyOf": [{"type": "string"}]},
            ".anyOf[0].type: Forbidden: must be empty to be structural",
        ),
        (
            {"type": "string", "pattern": "("},
            '.pattern: Invalid value: "(": must be a valid regular expression, but isn\'t: '
            "error parsing regexp: missing closing ): `(`",
        ),
        (
            {"type": "string", "pattern": "a(?=b)"},
            '.pattern: Invalid value: "a(?=b)": must be a valid regular expression, but isn\'t: '
            "error parsing regexp: invalid or unsupported Perl syntax: `(?=`",
        ),
        (
            {"type": "array", "items": {"type": "object"}, "x-kubernetes-list-type": "map"},
            ".x-kubernetes-list-map-keys: Required value: must not be empty if x-kubernetes-list-type is map",
        ),
        (
            {
                "type": "array",
                "items": {"type": "object", "properties": {"a": {"type": "string"}}},
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["a"],
            },
            ".items.properties[a].default: Required value: this property is in x-kubernetes-list-map-keys, "
            "so it must have a default or be a required property",
        ),
        (
            {"type": "array", "items": {"type": "object"}, "x-kubernetes-list-type": "set"},
            ".items.x-kubernetes-map-type: Invalid value: null: must be atomic as item of a list with "
            "x-kubernetes-list-type=set",
        ),
        (
            {"type": "string", "x-kubernetes-list-type": "atomic"},
            '.type: Invalid value: "string": must be array if x-kubernetes-list-type is specified',
        ),
        (
            {"type": "string", "x-kubernetes-embedded-resource": True},
            '.type: Invalid value: "string": must be object if x-kubernetes-embedded-resource is true',
        ),
        (
            {"type": "object", "x-kubernetes-preserve-unknown-fields": False},
            ".x-kubernetes-preserve-unknown-fields: Invalid value: false: must be true or undefined",
        ),
        (
            {"type": "integer", "default": "x"},
            '.default: Invalid value: "string":  in body must be of type integer: "string"',
        ),
        (
            {"type": "object", "properties": {"a": {"type": "string"}}, "default": {"b": 1}},
            '.default: Invalid value: {"b":1}: must not have unknown fields',
        ),
    ],
)
def test_a_schema_is_refused_in_kubernetes_words(spec: dict[str, Any], text: str) -> None:
    assert text in problems(spec)


@pytest.mark.parametrize(
    "spec",
    [
        {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        {"x-kubernetes-preserve-unknown-fields": True},
        {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]},
        {
            "x-kubernetes-int-or-string": True,
            "allOf": [{"anyOf": [{"type": "integer"}, {"type": "string"}]}, {"minimum": 1}],
        },
        {"type": "object", "additionalProperties": {"type": "string"}},
        {"type": "object", "additionalProperties": True},
        {"type": "string", "pattern": r"^\p{Greek}+$"},
        {
            "type": "object",
            "x-kubernetes-embedded-resource": True,
            "x-kubernetes-preserve-unknown-fields": True,
        },
        {"type": "string", "x-kubernetes-validations": [{"rule": "true"}]},
    ],
)
def test_a_schema_that_keeps_the_rules_is_fine(spec: dict[str, Any]) -> None:
    assert problems(spec) == []


def test_the_root_is_an_object_whose_metadata_is_given() -> None:
    assert whole({"type": "string"}) == ['root.type: Invalid value: "string": must be object at the root']
    named = {
        "type": "object",
        "properties": {"metadata": {"type": "object", "properties": {"name": {"type": "string"}}}},
    }
    assert whole(named) == []
    labelled = {"type": "object", "properties": {"metadata": {"type": "object", "required": ["labels"]}}}
    assert whole(labelled) == [
        "root.properties[metadata]: Forbidden: must not specify anything other than name and generateName, "
        "but metadata is implicitly specified"
    ]
    assert "root.nullable: Forbidden: nullable cannot be true at the root" in whole(
        {"type": "object", "nullable": True}
    )


def test_logic_at_the_root_does_not_go_with_a_status_of_its_own() -> None:
    schema = {"type": "object", "anyOf": [{"required": ["spec"]}]}
    assert whole(schema) == []
    assert (
        "fields are allowed at the root of the schema if the status subresource is enabled"
        in whole(schema, status=True)[0]
    )


def test_fields_that_logic_at_the_root_speaks_of_are_specified_outside_of_it() -> None:
    assert whole({"type": "object", "oneOf": [{"properties": {"a": {"minimum": 1}}}]}) == [
        "root.properties[a]: Required value: because it is defined in root.oneOf[0].properties[a]"
    ]
