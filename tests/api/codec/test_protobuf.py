"""Protobuf bodies carry the same objects as JSON ones, byte for byte as Kubernetes writes them."""

from __future__ import annotations

import base64
import json
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from api.codec.codec_vectors import protobuf_samples, without_type
from longshore.api import codec, schema
from longshore.api.codec import DecodeError, protowire
from longshore.api.codec.envelope import enveloped
from longshore.api.schema import Type

JOB = "batch/v1.Job"
_SAMPLES = [pytest.param(s, id=f"{i}-{s['json']['kind']}") for i, s in enumerate(protobuf_samples())]


def _message(document: dict[str, Any]) -> str:
    found = schema.message_for(document["apiVersion"], document["kind"])
    assert found is not None
    return found


@pytest.mark.parametrize("sample", _SAMPLES)
def test_recorded_bytes_decode_to_the_recorded_object(sample: dict[str, Any]) -> None:
    document = sample["json"]
    decoded = codec.read_protobuf(base64.b64decode(sample["protobuf"])).decode(_message(document))
    expected = without_type(document)
    if "items" in expected:
        expected["items"] = [without_type(item) for item in expected["items"]]
    assert (decoded.api_version, decoded.kind) == (document["apiVersion"], document["kind"])
    assert decoded.obj == expected


@pytest.mark.parametrize("sample", _SAMPLES)
def test_recorded_objects_encode_to_the_recorded_bytes(sample: dict[str, Any]) -> None:
    document, recorded = sample["json"], base64.b64decode(sample["protobuf"])
    message = _message(document)
    encoded = codec.encode_protobuf(without_type(document), document["apiVersion"], document["kind"], message)
    if b"f:metadata" in recorded:
        # The sample's own JSON inside has spaces, ours has none.
        assert codec.read_protobuf(encoded).decode(message) == codec.read_protobuf(recorded).decode(message)
    else:
        assert encoded == recorded
    assert codec.encode_document(document) == encoded


@pytest.mark.parametrize("sample", _SAMPLES)
def test_a_part_that_was_written_before_is_written_with_the_same_bytes(sample: dict[str, Any]) -> None:
    document, kept = sample["json"], codec.Kept()
    named = document["apiVersion"], document["kind"]
    whole = codec.encode_document(document)
    for obj in (document, document, {**document, "metadata": {**document["metadata"]}}):
        assert codec.encode_frozen(obj, *named, kept) == whole


def test_another_part_in_the_place_of_a_kept_one_is_written_as_it_is() -> None:
    kept = codec.Kept()
    for name in [str(number) for number in range(5000)]:
        pod = {"metadata": {"labels": {"name": name}}, "spec": {"nodeName": name}}
        assert codec.encode_frozen(pod, "v1", "Pod", kept) == codec.encode_frozen(
            pod, "v1", "Pod", codec.Kept()
        )


def test_a_list_written_item_by_item_is_the_list() -> None:
    lists = [s["json"] for s in protobuf_samples() if "items" in s["json"]]
    assert lists
    for document in lists:
        named = document["apiVersion"], document["kind"]
        assert codec.encode_list(document["metadata"], document["items"], *named) == codec.encode_document(
            document
        )


_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=4)
_SCALARS: dict[str, st.SearchStrategy[Any]] = {
    "string": _TEXT,
    "bool": st.booleans(),
    "int32": st.integers(-(2**31), 2**31 - 1),
    "int64": st.integers(-(2**63), 2**63 - 1),
    "float64": st.floats(-1e6, 1e6),
    "bytes": st.binary(max_size=4).map(lambda b: base64.b64encode(b).decode()),
    "Time": st.sampled_from(["2026-01-31T00:00:00Z", "1969-07-20T20:17:40Z", "2200-01-01T00:00:00+01:00"]),
    "MicroTime": st.sampled_from(["2026-01-31T00:00:00.000001Z", "1969-07-20T20:17:40.999999Z"]),
    "Quantity": st.sampled_from(["1", "500m", "0.5", "1024Mi", "-3", "1e3", "0"]),
    "IntOrString": st.integers(-(2**31), 2**31 - 1) | _TEXT,
    "FieldsV1": st.dictionaries(_TEXT, st.just({}), max_size=2),
    "RawExtension": st.dictionaries(_TEXT, st.integers(0, 9), max_size=2),
    "Verbs": st.lists(_TEXT, max_size=2),
}


def _values(kind: Type, depth: int) -> st.SearchStrategy[Any]:
    if kind.kind == "list":
        return st.lists(_values(kind.items, depth), max_size=2)
    if kind.kind == "map":
        return st.dictionaries(_TEXT, _values(kind.items, depth), max_size=2)
    if kind.kind == "message":
        return _objects(kind.name, depth - 1)
    return _SCALARS[kind.name]


def _objects(message: str, depth: int) -> st.SearchStrategy[dict[str, Any]]:
    fields = [
        f
        for f in schema.message(message).fields.values()
        if depth > 0 or f.type.kind in ("scalar", "special")
    ]
    return st.lists(st.sampled_from(fields), max_size=4, unique_by=lambda f: f.json).flatmap(
        lambda chosen: st.fixed_dictionaries({f.json: _values(f.type, depth) for f in chosen})
    ) if fields else st.just({})  # fmt: skip


_KINDS = [
    ("core/v1.Pod", 5), (JOB, 6), ("batch/v1.CronJob", 7), ("core/v1.Event", 3), ("core/v1.Node", 4),
    ("core/v1.Secret", 3), ("coordination/v1.Lease", 3), ("networking/v1.NetworkPolicy", 5),
    ("meta/v1.Status", 3), ("authentication/v1.TokenReview", 4), ("core/v1.Service", 4),
    ("meta/v1.APIResourceList", 3),
    ("batch/v1.JobList", 5), ("policy/v1.Eviction", 3), ("core/v1.PersistentVolume", 4),
]  # fmt: skip


@given(st.sampled_from(_KINDS).flatmap(lambda k: st.tuples(st.just(k[0]), _objects(*k))))
@settings(max_examples=150, deadline=None)
def test_any_object_survives_the_way_through_protobuf(sample: tuple[str, dict[str, Any]]) -> None:
    message, document = sample
    obj = codec.from_value(document, message).obj
    encoded = codec.encode_protobuf(obj, "v1", "Any", message)
    assert codec.read_protobuf(encoded).decode(message).obj == obj


@given(st.binary(max_size=200), st.integers(0, 400))
@settings(max_examples=150, deadline=None)
def test_damaged_bytes_are_refused_or_read_but_never_crash(noise: bytes, cut: int) -> None:
    good = codec.encode_protobuf(codec.zero("core/v1.Pod"), "v1", "Pod", "core/v1.Pod")
    for raw in (b"k8s\x00" + noise, b"k8s\x00\x12" + bytes([len(noise) & 0x7F]) + noise, good[:cut] + noise):
        try:
            codec.read_protobuf(raw).decode("core/v1.Pod")
        except DecodeError:
            continue


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (b"", "empty data"),
        (b"{}", r"provided data does not appear to be a protobuf message, expected prefix \[107 56 115 0\]"),
        (b"k8s\x00", "empty body"),
        (b"k8s\x00\x12\x05a", "unexpected EOF"),
        (b"k8s\x00\x12\x02\x08\x01", "proto: wrong wireType = 0 for field Metadata"),
        (b"k8s\x00\x12\x0c\x12\x0a\x08" + b"\xff" * 9, "unexpected EOF|integer overflow"),
    ],
)
def test_bytes_that_are_no_object_are_refused(raw: bytes, text: str) -> None:
    with pytest.raises(DecodeError, match=text):
        codec.read_protobuf(raw).decode(JOB)


@pytest.mark.parametrize("field", [6, 7, 10], ids=["first", "last", "eventTime"])
def test_a_time_that_could_not_be_read_again_is_refused(field: int) -> None:
    def event(seconds: int) -> bytes:
        time = protowire.delimited(field, b"\x08" + protowire.varint(seconds))
        return enveloped(time, "v1", "Event")

    for there in (-62167219200, 253402300799):
        obj = codec.read_protobuf(event(there)).decode("core/v1.Event").obj
        again = codec.encode_protobuf(obj, "v1", "Event", "core/v1.Event")
        assert codec.read_protobuf(again).decode("core/v1.Event").obj == obj
    for beyond in (-62167219201, 253402300800, 2**62):
        with pytest.raises(DecodeError, match="year outside of range"):
            codec.read_protobuf(event(beyond)).decode("core/v1.Event")


def test_unknown_fields_are_skipped() -> None:
    meta = b"\n\x03\n\x01x"
    unknown = b"\xf8\x3f\x01" + b"\xfa\x3f\x02hi" + b"\xf9\x3f" + b"\0" * 8 + b"\xfd\x3f" + b"\0" * 4
    raw = b"k8s\x00\x12" + bytes([len(meta + unknown)]) + unknown + meta
    assert codec.read_protobuf(raw).decode(JOB).obj["metadata"] == {"name": "x"}


def test_a_message_sent_in_two_parts_is_merged() -> None:
    raw = b"k8s\x00\x12\x0a\n\x03\n\x01x\n\x03\x1a\x01n"
    assert codec.read_protobuf(raw).decode(JOB).obj["metadata"] == {"name": "x", "namespace": "n"}


def test_watch_frames_have_a_length_and_an_enveloped_object() -> None:
    pod = {"kind": "Pod", "apiVersion": "v1", **codec.zero("core/v1.Pod")}
    stream = codec.encode_watch_event("ADDED", pod) + codec.encode_watch_event("DELETED", pod)
    size = int.from_bytes(stream[:4], "big")
    assert stream[4 + size : 8 + size] == size.to_bytes(4, "big")[:3] + bytes([size + 2 & 0xFF])
    frames = codec.read_watch_frames(stream + b"\0\0")
    assert [kind for kind, _ in frames] == ["ADDED", "DELETED"]
    assert codec.read_protobuf(frames[0][1]).decode("core/v1.Pod").obj == codec.zero("core/v1.Pod")


def test_partial_metadata_has_a_protobuf_form() -> None:
    document = {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": {"name": "x"}}
    raw = codec.encode_document(document)
    assert codec.read_protobuf(raw).decode("meta/v1.PartialObjectMetadata").obj == {"metadata": {"name": "x"}}


def test_schemas_of_custom_kinds_survive_and_may_not_nest_without_end() -> None:
    schema_ = {
        "properties": {"a": {"items": {"type": "string"}, "additionalProperties": {"type": "integer"}}},
        "additionalProperties": False,
        "dependencies": {"a": ["b"], "c": {"type": "string"}},
    }
    crd = {"spec": {"versions": [{"name": "v1", "schema": {"openAPIV3Schema": schema_}}]}}
    message = "apiextensions/v1.CustomResourceDefinition"
    obj = codec.from_value(json.loads(json.dumps(crd)), message).obj
    raw = codec.encode_protobuf(obj, "apiextensions.k8s.io/v1", "CustomResourceDefinition", message)
    assert codec.read_protobuf(raw).decode(message).obj == obj
    deep: dict[str, Any] = {"type": "object"}
    for _ in range(150):
        deep = {"not": deep}
    obj["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = deep
    assert codec.read_protobuf(codec.encode_protobuf(obj, "x", "y", message)).decode(message).obj == obj
    for _ in range(60):
        deep = {"not": deep}
    obj["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = deep
    with pytest.raises(DecodeError, match=re.escape("exceeded max depth")):
        codec.read_protobuf(codec.encode_protobuf(obj, "x", "y", message)).decode(message)
