"""Whole resources inside a custom one: their metadata is metadata."""

from __future__ import annotations

from typing import Any

import pytest

from longshore.api.codec import DecodeError
from longshore.api.structural.kind_schema import Schema

TEMPLATE = {
    "type": "object",
    "x-kubernetes-embedded-resource": True,
    "x-kubernetes-preserve-unknown-fields": True,
}


def schema() -> Schema:
    spec = {"type": "object", "properties": {"template": TEMPLATE}}
    return Schema({"type": "object", "properties": {"spec": spec}}, status_apart=False)


def outer(**template: Any) -> dict[str, Any]:
    return {"metadata": {"name": "x"}, "spec": {"template": template}}


def test_unknown_metadata_is_dropped_and_the_rest_is_kept() -> None:
    obj = outer(apiVersion="v1", kind="Pod", metadata={"name": "p", "odd": 1}, spec={"free": True})
    assert schema().coerce(obj) == ["spec.template.metadata.odd"]
    assert obj["spec"]["template"]["metadata"] == {"name": "p"}
    assert obj["spec"]["template"]["spec"] == {"free": True}


def test_it_must_say_what_it_is() -> None:
    obj = outer(spec={})
    assert [str(e) for e in schema().problems(obj)] == [
        "spec.template.apiVersion: Required value",
        "spec.template.kind: Required value",
    ]


def test_its_metadata_is_checked_but_needs_no_name() -> None:
    fine = outer(apiVersion="v1", kind="Pod", metadata={"labels": {"a": "b"}})
    assert schema().problems(fine) == []
    bad = outer(apiVersion="v1", kind="Pod", metadata={"labels": {"a": "-"}})
    assert [e.field for e in schema().problems(bad)] == ["spec.template.metadata.labels"]


def test_metadata_of_another_type_is_an_error_of_decoding() -> None:
    with pytest.raises(
        DecodeError, match=r"spec\.template\.metadata: Invalid value: .*cannot unmarshal number"
    ):
        schema().coerce(outer(apiVersion="v1", kind="Pod", metadata={"name": 5}))


def test_a_schema_that_keeps_everything_keeps_everything() -> None:
    free = Schema({"type": "object", "x-kubernetes-preserve-unknown-fields": True}, status_apart=False)
    obj = {"metadata": {"name": "x"}, "anything": {"goes": [1, None]}}
    assert free.coerce(obj) == []
    assert obj["anything"] == {"goes": [1, None]}
    assert free.problems(obj) == []
