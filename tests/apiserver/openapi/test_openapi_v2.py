"""The OpenAPI 2 document, as JSON and as the protobuf that old kubectl reads."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

from longshore.api.errors import StatusError
from longshore.api.kinds import table as kinds
from longshore.api.resources import Resource
from longshore.api.strategy import Strategy
from longshore.apiserver.documents.document import Document
from longshore.apiserver.openapi import Documents

PROTOBUF = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
DOCUMENTS = Documents(lambda: kinds.RESOURCES, dict)
WIDGETS = Resource("acme.io", "v1", "Widget", "widgets", "widget", True, Strategy(), style="custom")


def get(accept: str | None, documents: Documents = DOCUMENTS) -> Document:
    found = documents.find("/openapi/v2", accept)
    assert found is not None
    return found


@cache
def swagger(documents: Documents = DOCUMENTS) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(get("application/json", documents).body)
    return loaded


def fields(raw: bytes) -> Iterator[tuple[int, Any]]:
    """The fields of a protobuf message: number, and bytes or a whole number."""

    def varint(at: int) -> tuple[int, int]:
        value = shift = 0
        while True:
            value |= (raw[at] & 0x7F) << shift
            shift += 7
            at += 1
            if not raw[at - 1] & 0x80:
                return value, at

    at = 0
    while at < len(raw):
        tag, at = varint(at)
        if tag & 7 == 0:
            value, at = varint(at)
            yield tag >> 3, value
        elif tag & 7 == 1:
            yield tag >> 3, raw[at : at + 8]
            at += 8
        else:
            size, at = varint(at)
            yield tag >> 3, raw[at : at + size]
            at += size


def one(raw: bytes, number: int) -> Any:
    return next(value for n, value in fields(raw) if n == number)


def pairs(raw: bytes, number: int) -> dict[str, bytes]:
    """A map: name to value."""
    return {one(entry, 1).decode(): one(entry, 2) for n, entry in fields(raw) if n == number}


def test_every_definition_referred_to_is_there() -> None:
    found = swagger()
    text = json.dumps(found)
    named = {part.partition('"')[0] for part in text.split('"$ref": "#/definitions/')[1:]}
    assert named == found["definitions"].keys()


def test_references_may_carry_a_description_but_no_default() -> None:
    metadata = swagger()["definitions"]["io.k8s.api.batch.v1.Job"]["properties"]["metadata"]
    assert metadata == {
        "$ref": "#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
        "description": "Name, namespace, labels and what else every object has.",
    }


def test_the_body_of_a_write_is_its_first_parameter() -> None:
    post = swagger()["paths"]["/apis/batch/v1/namespaces/{namespace}/jobs"]["post"]
    assert post["parameters"][0] == {
        "name": "body",
        "in": "body",
        "schema": {"$ref": "#/definitions/io.k8s.api.batch.v1.Job"},
        "required": True,
    }
    assert "fieldValidation" in {p["name"] for p in post["parameters"]}


def test_a_custom_schema_loses_what_version_2_cannot_say() -> None:
    rows = (*kinds.RESOURCES, WIDGETS)
    own = {
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "nullable": True,
                "properties": {"a": {"type": "string"}},
            },
            "port": {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]},
            "list": {"type": "array", "items": {"type": "object", "oneOf": [{"required": ["x"]}]}},
        },
    }
    definitions = swagger(Documents(lambda: rows, lambda: {("acme.io", "v1", "Widget"): own}))["definitions"]
    properties = definitions["io.acme.v1.Widget"]["properties"]
    assert properties["spec"] == {}
    assert properties["port"] == {"x-kubernetes-int-or-string": True}
    assert properties["list"] == {"type": "array", "items": {"type": "object"}}


def test_protobuf_says_the_same_as_json() -> None:
    document = get(PROTOBUF)
    assert document.content_type == "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
    raw, want = document.body, swagger()
    assert one(raw, 1) == b"2.0"
    assert one(one(raw, 2), 2).decode() == want["info"]["version"]
    definitions = pairs(one(raw, 9), 1)
    assert definitions.keys() == want["definitions"].keys()
    paths = pairs(one(raw, 8), 2)
    assert paths.keys() == want["paths"].keys()


def test_a_definition_in_protobuf_has_its_parts() -> None:
    job = pairs(one(get(PROTOBUF).body, 9), 1)["io.k8s.api.batch.v1.CronJobSpec"]
    want = swagger()["definitions"]["io.k8s.api.batch.v1.CronJobSpec"]
    assert one(one(job, 22), 1) == b"object"
    assert [v.decode() for n, v in fields(job) if n == 19] == want["required"]
    properties = pairs(one(job, 25), 1)
    assert properties.keys() == want["properties"].keys()
    assert one(properties["jobTemplate"], 1).decode() == want["properties"]["jobTemplate"]["$ref"]
    assert one(properties["failedJobsHistoryLimit"], 2) == b"int32"


def test_extensions_travel_as_text() -> None:
    job = pairs(one(get(PROTOBUF).body, 9), 1)["io.k8s.api.batch.v1.Job"]
    extensions = {one(v, 1).decode(): one(one(v, 2), 2) for n, v in fields(job) if n == 31}
    assert json.loads(extensions["x-kubernetes-group-version-kind"]) == [
        {"group": "batch", "kind": "Job", "version": "v1"}
    ]


def test_a_patch_in_protobuf_has_its_query_parameters() -> None:
    paths = pairs(one(get(PROTOBUF).body, 8), 2)
    patch = one(paths["/apis/batch/v1/namespaces/{namespace}/jobs/{name}"], 8)
    names = set()
    for number, item in fields(patch):
        if number == 8:
            kind, inner = next(fields(one(item, 1)))
            names.add(one(inner, 2) if kind == 1 else one(one(inner, 3), 4))
    assert names == {b"body", b"dryRun", b"fieldManager", b"fieldValidation", b"force"}


@pytest.mark.parametrize("accept", [None, "*/*", "application/json, */*"])
def test_json_is_for_everyone_else(accept: str | None) -> None:
    assert get(accept).content_type == "application/json"


def test_an_unknown_form_is_refused_so_that_old_clients_try_elsewhere() -> None:
    with pytest.raises(StatusError) as refused:
        get("application/vnd.unknown")
    assert refused.value.code == 406


def test_a_kind_that_keeps_unknown_fields_at_its_root_is_an_object_and_no_more() -> None:
    own = {
        "type": "object",
        "description": "A widget.",
        "x-kubernetes-preserve-unknown-fields": True,
        "properties": {"spec": {"type": "object"}},
    }
    documents = Documents(lambda: (*kinds.RESOURCES, WIDGETS), lambda: {("acme.io", "v1", "Widget"): own})
    assert swagger(documents)["definitions"]["io.acme.v1.Widget"] == {
        "type": "object",
        "x-kubernetes-group-version-kind": [{"group": "acme.io", "kind": "Widget", "version": "v1"}],
    }
