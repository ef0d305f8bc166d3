"""Objects come out of the codec as Kubernetes would write them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from api.codec.codec_vectors import exchanges, without_type
from longshore.api import codec, schema

JOB, POD = "batch/v1.Job", "core/v1.Pod"


def job(spec: dict[str, Any]) -> dict[str, Any]:
    return codec.decode_json(json.dumps({"spec": spec}).encode(), JOB).obj["spec"]  # type: ignore[no-any-return]


def container(**fields: Any) -> dict[str, Any]:
    pod = {"spec": {"containers": [{"name": "c", **fields}]}}
    return codec.decode_json(json.dumps(pod).encode(), POD).obj["spec"]["containers"][0]  # type: ignore[no-any-return]


def _answers() -> list[Any]:
    found = []
    for e in exchanges():
        documents = [
            e["response"].get("body"),
            *(ev.get("object") for ev in e["response"].get("events") or ()),
        ]
        for document in documents:
            if isinstance(document, dict) and "kind" in document and not document["kind"].endswith("List"):
                message = schema.message_for(document.get("apiVersion", ""), document["kind"])
                if (
                    message
                    and "<any>" not in json.dumps(document)
                    and document["kind"] != "SelfSubjectRulesReview"
                ):
                    found.append((e["id"], message, document))
    return found


def test_every_recorded_answer_is_canonical_already() -> None:
    answers = _answers()
    assert len(answers) > 900
    for name, message, document in answers:
        raw = json.dumps(document).encode()
        exact = codec.read_json(raw).decode(message)
        assert (exact.problems, exact.obj) == ([], without_type(document)), name
        assert codec.decode_json(raw, message).obj == exact.obj, name


def test_structs_are_written_even_when_empty() -> None:
    assert codec.decode_json(b"{}", JOB).obj == {
        "metadata": {},
        "spec": {"template": {"metadata": {}, "spec": {"containers": None}}},
        "status": {},
    }


def test_zero_is_left_out_of_plain_fields_and_kept_in_pointers() -> None:
    spec = job(
        {"parallelism": 0, "suspend": False, "managedBy": "", "template": {"spec": {"hostNetwork": False}}}
    )
    assert spec == {
        "parallelism": 0,
        "suspend": False,
        "managedBy": "",
        "template": {"metadata": {}, "spec": {"containers": None}},
    }


def test_empty_lists_and_maps_are_left_out() -> None:
    assert container(command=[], env=[], resources={"limits": {}}) == {"name": "c", "resources": {}}


def test_null_unsets_a_field() -> None:
    pod = b'{"metadata":{"labels":null,"name":null,"creationTimestamp":null},"spec":null}'
    assert codec.decode_json(pod, POD).obj == {"metadata": {}, "spec": {"containers": None}, "status": {}}


def test_a_null_in_a_list_or_map_is_an_empty_element() -> None:
    decoded = codec.decode_json(
        b'{"metadata":{"labels":{"a":null},"finalizers":[null]},"spec":{"containers":[null]}}', POD
    )
    assert decoded.obj["metadata"] == {"labels": {"a": ""}, "finalizers": [""]}
    assert decoded.obj["spec"]["containers"] == [{"name": "", "resources": {}}]


def test_times_are_written_in_utc_and_whole_seconds() -> None:
    raw = b'{"metadata":{"creationTimestamp":"2026-01-01T02:30:00.9+02:00"}}'
    assert codec.decode_json(raw, POD).obj["metadata"] == {"creationTimestamp": "2026-01-01T00:30:00Z"}


def test_a_time_that_was_never_set_is_null() -> None:
    raw = (
        b'{"status":{"conditions":[{"type":"Ready","status":"True","lastProbeTime":"0001-01-01T00:00:00Z"}]}}'
    )
    condition = codec.decode_json(raw, POD).obj["status"]["conditions"][0]
    assert condition == {"type": "Ready", "status": "True", "lastProbeTime": None, "lastTransitionTime": None}


def test_quantities_are_canonical_wherever_they_stand() -> None:
    found = container(resources={"limits": {"cpu": 0.5, "memory": "1024Mi"}, "requests": {"cpu": 1}})
    assert found["resources"] == {"limits": {"cpu": "500m", "memory": "1Gi"}, "requests": {"cpu": "1"}}


def test_bytes_are_written_in_plain_base64() -> None:
    secret = codec.decode_json(
        b'{"data":{"a":"YR==","b":"YWJj\\nZGVm","c":[97,98],"d":null}}', "core/v1.Secret"
    ).obj
    assert secret["data"] == {"a": "YQ==", "b": "YWJjZGVm", "c": "YWI=", "d": ""}


def test_a_number_or_a_name_may_stand_where_both_may() -> None:
    probe = container(
        livenessProbe={"httpGet": {"port": "http"}}, readinessProbe={"tcpSocket": {"port": None}}
    )
    assert probe["livenessProbe"] == {"httpGet": {"port": "http"}}
    assert probe["readinessProbe"] == {"tcpSocket": {"port": 0}}


def test_a_duplicate_key_merges_into_what_stood_there_before() -> None:
    raw = b'{"metadata":{"name":"a","labels":{"x":"1"}},"metadata":{"namespace":"n","labels":{"y":"2"}}}'
    decoded = codec.decode_json(raw, POD)
    assert decoded.obj["metadata"] == {"name": "a", "namespace": "n", "labels": {"x": "1", "y": "2"}}
    assert decoded.problems == ['duplicate field "metadata"']


def test_a_duplicate_list_merges_element_by_element() -> None:
    raw = b'{"spec":{"containers":[{"name":"a","image":"x"},{"name":"b"}],"containers":[{"name":"c"}]}}'
    assert codec.decode_json(raw, POD).obj["spec"]["containers"] == [
        {"name": "c", "image": "x", "resources": {}}
    ]


def test_the_kind_is_taken_out_of_the_object_but_stays_inside_embedded_ones() -> None:
    options = b'{"kind":"DeleteOptions","apiVersion":"v1"}'
    raw = b'{"kind":"Eviction","apiVersion":"policy/v1","deleteOptions":' + options + b"}"
    decoded = codec.decode_json(raw, "policy/v1.Eviction")
    assert (decoded.kind, decoded.api_version) == ("Eviction", "policy/v1")
    assert decoded.obj == {"metadata": {}, "deleteOptions": {"kind": "DeleteOptions", "apiVersion": "v1"}}


def test_schemas_of_custom_kinds_contain_themselves() -> None:
    raw = b"""{"spec":{"versions":[{"name":"v1","schema":{"openAPIV3Schema":{"type":"object","properties":{
        "a":{"type":"array","items":{"type":"string"}},"b":{"additionalProperties":false},"c":{"additionalProperties":
        {"type":"integer","maximum":5.0,"default":{"x":null}}}}}}}]}}"""
    crd = codec.decode_json(raw, "apiextensions/v1.CustomResourceDefinition").obj
    assert crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"] == {
        "a": {"type": "array", "items": {"type": "string"}},
        "b": {"additionalProperties": False},
        "c": {"additionalProperties": {"type": "integer", "maximum": 5, "default": {"x": None}}},
    }


@pytest.mark.parametrize("value", [b"null", b"{}"])
def test_an_empty_document_is_an_empty_object(value: bytes) -> None:
    assert codec.decode_json(value, JOB).obj == codec.zero(JOB)
