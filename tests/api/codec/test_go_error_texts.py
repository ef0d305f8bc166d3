"""What is wrong with a document is said in Go's words."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from longshore.api import codec
from longshore.api.codec import DecodeError
from longshore.api.codec.gosyntax import syntax_error

JOB, POD, CRONJOB = "batch/v1.Job", "core/v1.Pod", "batch/v1.CronJob"

_SYNTAX = {
    b"": "unexpected end of JSON input",
    b" ": "unexpected end of JSON input",
    b'{"a":1': "unexpected end of JSON input",
    b'"abc': "unexpected end of JSON input",
    b"{nope": "invalid character 'n' looking for beginning of object key string",
    b'{"a":1,}': "invalid character '}' looking for beginning of object key string",
    b"[1,]": "invalid character ']' looking for beginning of value",
    b"'a'": r"invalid character '\'' looking for beginning of value",
    b"NaN": "invalid character 'N' looking for beginning of value",
    b"\xef\xbb\xbf{}": "invalid character 'ï' looking for beginning of value",
    b'{"a" 1}': "invalid character '1' after object key",
    b'{"a":1 "b"}': "invalid character '\"' after object key:value pair",
    b"[1 2]": "invalid character '2' after array element",
    b"{} xx": "invalid character 'x' after top-level value",
    b"nope": "invalid character 'o' in literal null (expecting 'u')",
    b"tru": "invalid character ' ' in literal true (expecting 'e')",
    b"-": "invalid character ' ' in numeric literal",
    b"1.x": "invalid character 'x' after decimal point in numeric literal",
    b"1e": "invalid character ' ' in exponent of numeric literal",
    b'"\n"': "invalid character '\\n' in string literal",
    b'"\\x"': "invalid character 'x' in string escape code",
    b'"\\u12g4"': "invalid character 'g' in \\u hexadecimal character escape",
}


@pytest.mark.parametrize(("raw", "text"), _SYNTAX.items())
def test_a_syntax_error_names_the_offending_character(raw: bytes, text: str) -> None:
    assert syntax_error(raw) == text
    with pytest.raises(DecodeError) as caught:
        codec.decode_json(raw, JOB)
    assert str(caught.value) == text


@pytest.mark.parametrize("raw", [b"[]", b' {"a":[1,{"b":-0.5e+3}],"c":null} ', b'"\\u00e9\\n"', b"true"])
def test_good_json_has_no_syntax_error(raw: bytes) -> None:
    assert syntax_error(raw) is None


def _pod(**spec: Any) -> dict[str, Any]:
    return {"spec": spec}


def _container(**fields: Any) -> dict[str, Any]:
    return _pod(containers=[{"name": "a", **fields}])


_PROBE = "HTTPGetAction.spec.containers.livenessProbe.ProbeHandler.httpGet.port"
_DELETED = "ObjectMeta.metadata.deletionTimestamp"
_LIMITS = "ResourceRequirements.spec.containers.resources.limits"
_HOST_PATH = "HostPathVolumeSource.spec.volumes.VolumeSource.hostPath.path"
_TYPES: list[tuple[str, Any, str, str, str]] = [
    (JOB, {"spec": {"parallelism": "3"}}, "string", "JobSpec.spec.parallelism", "int32"),
    (JOB, {"spec": {"parallelism": 2.0}}, "number 2.0", "JobSpec.spec.parallelism", "int32"),
    (JOB, {"spec": {"parallelism": 2**31}}, "number 2147483648", "JobSpec.spec.parallelism", "int32"),
    (JOB, {"spec": {"backoffLimit": 10**11}}, "number 100000000000", "JobSpec.spec.backoffLimit", "int32"),
    (CRONJOB, {"spec": {"startingDeadlineSeconds": 2**63}}, f"number {2**63}",
     "CronJobSpec.spec.startingDeadlineSeconds", "int64"),
    (JOB, {"spec": {"suspend": 1}}, "number", "JobSpec.spec.suspend", "bool"),
    (JOB, {"spec": {"completionMode": True}}, "bool", "JobSpec.spec.completionMode", "v1.CompletionMode"),
    (JOB, {"spec": []}, "array", "Job.spec", "v1.JobSpec"),
    (JOB, {"metadata": {"uid": 5}}, "number", "ObjectMeta.metadata.uid", "types.UID"),
    (JOB, {"metadata": {"labels": []}}, "array", "ObjectMeta.metadata.labels", "map[string]string"),
    (JOB, {"metadata": {"labels": {"a": 1}}}, "number", "ObjectMeta.metadata.labels", "string"),
    (JOB, {"metadata": {"finalizers": "x"}}, "string", "ObjectMeta.metadata.finalizers", "[]string"),
    (JOB, {"metadata": {"deletionTimestamp": 5}}, "number", _DELETED, "string"),
    (POD, _pod(containers={}), "object", "PodSpec.spec.containers", "[]v1.Container"),
    (POD, _pod(restartPolicy=1), "number", "PodSpec.spec.restartPolicy", "v1.RestartPolicy"),
    (POD, _container(image=["x"]), "array", "Container.spec.containers.image", "string"),
    (POD, _container(resources={"limits": "1"}), "string", _LIMITS, "v1.ResourceList"),
    (POD, _container(livenessProbe={"httpGet": {"port": 1.5}}), "number 1.5", _PROBE, "int32"),
    (POD, _container(livenessProbe={"httpGet": {"port": True}}), "bool", _PROBE, "int32"),
    (POD, _pod(volumes=[{"name": "v", "hostPath": "x"}]), "string",
     "Volume.spec.volumes.VolumeSource.hostPath", "v1.HostPathVolumeSource"),
    (POD, _pod(volumes=[{"name": "v", "hostPath": {"path": 1}}]), "number", _HOST_PATH, "string"),
    ("core/v1.Secret", {"data": {"a": 5}}, "number", "Secret.data", "[]uint8"),
    ("meta/v1.DeleteOptions", {"dryRun": [1]}, "number", "DeleteOptions.dryRun", "string"),
]  # fmt: skip


@pytest.mark.parametrize(("message", "document", "what", "place", "kind"), _TYPES)
def test_a_type_error_names_struct_field_and_type(
    message: str, document: Any, what: str, place: str, kind: str
) -> None:
    text = f"json: cannot unmarshal {what} into Go struct field {place} of type {kind}"
    with pytest.raises(DecodeError) as caught:
        codec.decode_json(json.dumps(document).encode(), message)
    assert str(caught.value) == text
    with pytest.raises(DecodeError) as caught:
        codec.from_value(document, message)
    assert str(caught.value) == text


def _refusal(document: Any, message: str = POD) -> str:
    with pytest.raises(DecodeError) as caught:
        codec.decode_json(json.dumps(document).encode(), message)
    return str(caught.value)


def test_the_first_of_several_type_errors_is_reported() -> None:
    text = _refusal({"metadata": {"name": 1}, "spec": {"containers": "x"}})
    assert (
        text == "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.name of type string"
    )


def test_a_bad_time_or_quantity_is_reported_before_a_wrong_type() -> None:
    text = _refusal({"metadata": {"name": 1, "creationTimestamp": "yesterday"}})
    layout = "2006-01-02T15:04:05Z07:00"
    assert text == f'parsing time "yesterday" as "{layout}": cannot parse "yesterday" as "2006"'
    assert _refusal(_container(image=1, resources={"limits": {"cpu": "one"}})).startswith(
        "quantities must match"
    )
    assert _refusal(_container(resources={"limits": {"cpu": "1K"}})) == "unable to parse quantity's suffix"


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("!!!", 0),
        ("YQ", 0),
        ("YWJjYQ", 4),
        ("Y===", 1),
        ("YQ=x", 2),
        ("YQ=", 3),
        ("YQ==YQ==", 4),
        ("YW Jj", 2),
    ],
)
def test_bad_base64_is_reported_with_its_place(text: str, at: int) -> None:
    found = _refusal({"binaryData": {"a": text}}, "core/v1.ConfigMap")
    assert found == f"illegal base64 data at input byte {at}"


@pytest.mark.parametrize(
    ("document", "text"),
    [
        ([], "array into Go value of type struct"),
        ("x", "string into Go value of type struct"),
        (5, "number into Go value of type struct"),
        ({"kind": 5}, "number into Go struct field .kind of type string"),
        ({"Kind": []}, "array into Go struct field .kind of type string"),
    ],
)
def test_a_document_that_cannot_name_its_kind_is_refused_first(document: Any, text: str) -> None:
    assert _refusal(document).startswith(f"json: cannot unmarshal {text}")


def test_unknown_fields_are_listed_where_they_stand() -> None:
    containers = b'[{"name":"a","bogus":{"x":[1]}},{"bogus":2}]'
    raw = b'{"zz":1,"spec":{"containers":' + containers + b',"a.b":1},"metadata":{"Name":"x"}}'
    assert codec.decode_json(raw, POD).problems == [
        'unknown field "zz"',
        'unknown field "spec.containers[0].bogus"',
        'unknown field "spec.containers[1].bogus"',
        'unknown field "spec.a.b"',
        'unknown field "metadata.Name"',
    ]


def test_duplicates_are_listed_in_structs_and_maps() -> None:
    raw = b'{"metadata":{"labels":{"a":"1","a":"2"},"name":"x","name":"y"},"metadata":{}}'
    assert codec.decode_json(raw, POD).problems == [
        'duplicate field "metadata.labels.a"',
        'duplicate field "metadata.name"',
        'duplicate field "metadata"',
    ]


def test_a_finding_is_listed_once_and_no_more_than_a_hundred_are() -> None:
    assert codec.decode_json(b'{"a":1,"a":2}', POD).problems == ['unknown field "a"']
    many = json.dumps({f"f{n}": n for n in range(150)}).encode()
    assert len(codec.decode_json(many, POD).problems) == 100


def test_findings_in_a_parsed_document_come_sorted() -> None:
    assert codec.from_value({"z": 1, "spec": {"b": 1, "a": 1}}, POD).problems == [
        'unknown field "spec.a"',
        'unknown field "spec.b"',
        'unknown field "z"',
    ]


def test_nothing_is_searched_inside_fields_that_hold_any_json() -> None:
    raw = b'{"metadata":{"managedFields":[{"fieldsV1":{"f:a":{},"f:a":{}}}]}}'
    decoded = codec.decode_json(raw, POD)
    assert (decoded.problems, decoded.obj["metadata"]["managedFields"]) == ([], [{"fieldsV1": {"f:a": {}}}])


@pytest.mark.parametrize("size", [300, 1_500, 9_000, 20_000, 200_000])
@pytest.mark.parametrize("unit", ["[]", '{"a":0}'])
def test_absurd_nesting_is_refused(size: int, unit: str) -> None:
    opening, closing = ("[", "]") if unit == "[]" else ('{"a":', "}")
    raw = f'{{"extra":{opening * size}0{closing * size}}}'.encode()
    for read in (lambda: codec.decode_json(raw, JOB), lambda: codec.plain_json(raw)):
        with pytest.raises(DecodeError, match="exceeded max depth"):
            read()


def test_brackets_inside_strings_do_not_count_as_nesting() -> None:
    raw = json.dumps({"metadata": {"annotations": {"a": "[" * 5000, "b": '{"' * 300}}}).encode()
    assert codec.decode_json(raw, JOB).problems == []


def test_text_that_is_not_unicode_is_repaired_as_go_does() -> None:
    raw = b'{"metadata":{"name":"a\xff\xfe","namespace":"\\ud800x\\ud83d\\ude00\\\\ud800"}}'
    meta = codec.decode_json(raw, POD).obj["metadata"]
    assert meta == {"name": "a\ufffd\ufffd", "namespace": "\ufffdx\N{GRINNING FACE}\\ud800"}


_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
    max_leaves=12,
)


@given(_JSON, st.data())
def test_the_scanner_agrees_with_the_parser_on_damaged_texts(value: Any, data: st.DataObject) -> None:
    text = json.dumps(value, indent=data.draw(st.sampled_from([None, 1]))).encode()
    at = data.draw(st.integers(0, len(text)))
    damage = data.draw(
        st.sampled_from([b"", b",", b"}", b"]", b'"', b"\\", b"0", b"-", b":", b"x", b"{", b"[", b" "])
    )
    text = text[:at] + damage + text[at + data.draw(st.integers(0, 1)) :]
    try:
        json.loads(text.decode("utf-8", "replace"), parse_constant=lambda _: 1 / 0)
    except (ValueError, ZeroDivisionError):
        assert syntax_error(text) is not None
    else:
        assert syntax_error(text) is None
