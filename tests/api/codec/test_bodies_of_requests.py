"""Bodies may come in three formats, may leave their kind out, and must not claim another one."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from longshore.api import codec
from longshore.api.errors import StatusError
from longshore.api.kinds import table
from longshore.api.kinds.structural import structural_strategy
from longshore.api.resources import Resource
from longshore.api.strategy import Strategy
from longshore.apiserver.request import body

JSON, YAML, PROTOBUF = "application/json", "application/yaml", "application/vnd.kubernetes.protobuf"
CUSTOM = Resource("x.io", "v1", "Thing", "things", "thing", True, Strategy(), style="custom")


def row(group: str, plural: str) -> Resource:
    return next(r for r in table.RESOURCES if (r.group, r.plural) == (group, plural))


JOBS = row("batch", "jobs")


def read(raw: bytes, resource: Resource = JOBS, content_type: str | None = JSON, **more: Any) -> Any:
    options = {"field_validation": "Warn", "warnings": [], **more}
    return body.object_from(raw, content_type, resource, **options)


def refusal(
    raw: bytes, resource: Resource = JOBS, content_type: str | None = JSON, **more: Any
) -> StatusError:
    with pytest.raises(StatusError) as caught:
        read(raw, resource, content_type, **more)
    return caught.value


@pytest.mark.parametrize(
    "content_type",
    [None, "", JSON, "application/json; charset=utf-8", "Application/JSON", 'application/json;a="b;c"'],
)
def test_json_is_known_by_its_media_type_or_by_none(content_type: str | None) -> None:
    assert read(b'{"metadata":{"name":"x"}}', content_type=content_type)["metadata"] == {"name": "x"}


@pytest.mark.parametrize(
    "content_type", ["text/plain", "*/*", "json", "application/json; charset", "application/cbor"]
)
def test_other_media_types_are_refused(content_type: str) -> None:
    error = refusal(b"{}", content_type=content_type)
    assert (error.code, error.reason) == (415, "UnsupportedMediaType")


def test_the_three_formats_carry_the_same_object() -> None:
    obj = read(b'{"kind":"Job","apiVersion":"batch/v1","metadata":{"name":"x"},"spec":{"parallelism":2}}')
    assert (
        read(
            b"kind: Job\napiVersion: batch/v1\nmetadata: {name: x}\nspec: {parallelism: 2}", content_type=YAML
        )
        == obj
    )
    raw = codec.encode_protobuf(obj, "batch/v1", "Job", "batch/v1.Job")
    assert read(raw, content_type=PROTOBUF) == obj


def test_a_protobuf_body_may_leave_its_kind_out() -> None:
    raw = codec.encode_protobuf(codec.zero("batch/v1.Job"), "", "", "batch/v1.Job")
    assert read(raw, content_type=PROTOBUF) == codec.zero("batch/v1.Job")


@pytest.mark.parametrize(
    ("raw", "content_type", "message"),
    [
        (b"a: [", YAML, "yaml: line 1: did not find expected node content (613a205b)"),
        (b"", PROTOBUF, "empty data (<empty>)"),
        (b"{}", PROTOBUF, "provided data does not appear to be a protobuf message, "
         "expected prefix [107 56 115 0] ({})"),
        (b'{"apiVersion":"a/b/c"}', JSON, 'unexpected GroupVersion string: a/b/c ({"apiVersion":"a/b/c"})'),
        (b'{"kind":5}', JSON, "couldn't get version/kind; json parse error: json: cannot unmarshal number "
         'into Go struct field .kind of type string ({"kind":5})'),
        (b"hello", YAML, "couldn't get version/kind; json parse error: json: cannot unmarshal string "
         r'into Go value of type struct { APIVersion string "json:\"apiVersion,omitempty\""; '
         r'Kind string "json:\"kind,omitempty\"" } (68656c6c6f)'),
    ],
)  # fmt: skip
def test_what_is_no_object_is_unrecognized(raw: bytes, content_type: str, message: str) -> None:
    error = refusal(raw, content_type=content_type)
    assert (error.code, error.reason, error.details) == (400, "BadRequest", None)
    assert error.message == f"the object provided is unrecognized (must be of type Job): {message}"


def test_a_long_body_is_shown_by_its_start() -> None:
    assert refusal(b'{"a":' + b"1" * 100).message.endswith('({"a":1111111111111111111111111 ...)')
    assert refusal(b"[" + b"1" * 100).message.endswith("(5b" + "31" * 29 + " ...)")


@pytest.mark.parametrize(
    ("api_version", "kind", "why"),
    [
        ("batch/v1", "Widget", 'no kind "Widget" is registered for version "batch/v1" in scheme'),
        ("v1", "Job", 'no kind "Job" is registered for version "v1" in scheme'),
        (
            "apiextensions.k8s.io/v1",
            "CustomResourceDefinition",
            'no kind "CustomResourceDefinition" is registered',
        ),
        ("v1", "Pod", "converting (v1.Pod) to (batch.Job): unknown conversion"),
        ("batch/v1beta1", "CronJob", "converting (v1beta1.CronJob) to (batch.Job): unknown conversion"),
        ("batch/v1", "Status", "converting (v1.Status) to (batch.Job): unknown conversion"),
    ],
)
def test_a_body_of_another_kind_is_refused(api_version: str, kind: str, why: str) -> None:
    error = refusal(f'{{"apiVersion":"{api_version}","kind":"{kind}"}}'.encode())
    version = api_version.rpartition("/")[2]
    assert error.message.startswith(f'{kind} in version "{version}" cannot be handled as a Job: {why}')


def test_an_old_version_of_the_right_kind_is_named_as_such() -> None:
    raw = b'{"apiVersion":"batch/v1beta1","kind":"CronJob"}'
    expected = (
        "the API version in the data (batch/v1beta1) does not match the expected API version (batch/v1)"
    )
    assert refusal(raw, row("batch", "cronjobs")).message == expected


def test_both_groups_events_are_one_kind_in_two_versions() -> None:
    error = refusal(b'{"apiVersion":"v1","kind":"Event"}', row("events.k8s.io", "events"))
    assert (
        error.message
        == "the API version in the data (v1) does not match the expected API version (events.k8s.io/v1)"
    )


def test_part_of_the_kind_may_be_left_to_the_path() -> None:
    for raw in (b"{}", b'{"kind":"Job"}', b'{"apiVersion":"batch/v1"}', b'{"apiVersion":"batch/"}', b"null"):
        assert read(raw) == codec.zero("batch/v1.Job")


def test_the_types_of_the_claimed_kind_are_checked_first() -> None:
    error = refusal(b'{"apiVersion":"batch/v1","kind":"CronJob","spec":{"schedule":5}}')
    assert error.message == (
        'CronJob in version "v1" cannot be handled as a Job: '
        "json: cannot unmarshal number into Go struct field CronJobSpec.spec.schedule of type string"
    )


def test_subresources_take_their_own_kinds() -> None:
    pods = row("", "pods")
    eviction = {"kind": "Eviction", "group_version": "policy/v1"}
    assert read(b'{"metadata":{"name":"p"}}', pods, **eviction) == {"metadata": {"name": "p"}}
    assert read(b'{"apiVersion":"policy/v1beta1","kind":"Eviction"}', pods, **eviction) == {"metadata": {}}
    assert (
        "cannot be handled as a Eviction"
        in refusal(b'{"apiVersion":"v1","kind":"Pod"}', pods, **eviction).message
    )


def test_an_empty_list_of_managers_is_kept_as_the_wish_to_forget_them() -> None:
    assert read(b'{"metadata":{"managedFields":[]}}')["metadata"] == {"managedFields": []}
    assert read(b"metadata: {managedFields: []}", content_type=YAML)["metadata"] == {"managedFields": []}
    assert read(b'{"metadata":{"managedFields":null}}')["metadata"] == {}
    assert read(b'{"metadata":{"annotations":{"managedFields":"x"}}}')["metadata"].keys() == {"annotations"}


_FOUND = b'{"metadata":{"name":"x","name":"y","bogus":1}}'


def test_findings_are_errors_warnings_or_nothing_as_the_client_wishes() -> None:
    expected = ['duplicate field "metadata.name"', 'unknown field "metadata.bogus"']
    warnings: list[str] = []
    read(_FOUND, warnings=warnings)
    assert warnings == expected
    read(_FOUND, warnings=warnings, field_validation="Ignore")
    assert warnings == expected
    error = refusal(_FOUND, field_validation="Strict")
    assert error.message == (
        'Job in version "v1" cannot be handled as a Job: strict decoding error: ' + ", ".join(expected)
    )


def test_findings_of_a_yaml_parser_become_one_warning_each() -> None:
    warnings: list[str] = []
    read(b"metadata:\n  name: a\n  name: b\n  name: c\n", content_type=YAML, warnings=warnings)
    assert warnings == ['line 3: key "name" already set in map', 'line 4: key "name" already set in map']


_THING = b'{"apiVersion":"x.io/v1","kind":"Thing","metadata":{"name":"x"},"spec":{"a":null,"b":[],"b":{}}}'


def test_custom_kinds_come_back_as_they_stand() -> None:
    warnings: list[str] = []
    assert read(_THING, CUSTOM, warnings=warnings) == {
        "metadata": {"name": "x"},
        "spec": {"a": None, "b": {}},
    }
    assert warnings == ['duplicate field "spec.b"']
    assert read(b"apiVersion: x.io/v1\nkind: Thing\nspec: 5", CUSTOM, YAML) == {"spec": 5}


def test_findings_in_custom_kinds_can_be_errors() -> None:
    assert refusal(_THING, CUSTOM, field_validation="Strict").message == (
        'Thing in version "v1" cannot be handled as a Thing: strict decoding error: duplicate field "spec.b"'
    )


def test_custom_kinds_must_name_their_kind() -> None:
    assert refusal(b'{"apiVersion":"x.io/v1"}', CUSTOM).message == (
        "the object provided is unrecognized (must be of type Thing): "
        """Object 'Kind' is missing in '{"apiVersion":"x.io/v1"}' ({"apiVersion":"x.io/v1"})"""
    )
    assert refusal(b'{"kind":"Thing"}', CUSTOM).message == (
        "the API version in the data () does not match the expected API version (x.io/v1)"
    )
    error = refusal(b'{"apiVersion":"x.io/v1","kind":"Other","metadata":{"name":"n"}}', CUSTOM)
    assert (error.code, error.message) == (
        422,
        'Thing.x.io "n" is invalid: kind: Invalid value: "Other": must be Thing',
    )


def test_custom_kinds_have_no_protobuf_form() -> None:
    error = refusal(b"k8s\x00\x12\x00", CUSTOM, PROTOBUF)
    assert error.code == 400
    assert "does not implement the protobuf marshalling interface" in error.message


def test_custom_kinds_are_read_by_their_own_schema() -> None:
    schema = {
        "type": "object",
        "properties": {"data": {"type": "object", "additionalProperties": {"type": "string"}}},
    }
    ruled = msgspec.structs.replace(CUSTOM, behaviour=structural_strategy(lambda: schema))
    raw = b'{"apiVersion":"x.io/v1","kind":"Thing","metadata":{"name":"x"},"data":{"a":"b"},"bogus":1}'
    warnings: list[str] = []
    assert read(raw, ruled, warnings=warnings) == {"metadata": {"name": "x"}, "data": {"a": "b"}}
    assert warnings == ['unknown field "bogus"']
    assert refusal(raw.replace(b'"x"', b"5"), ruled).message == (
        'Thing in version "v1" cannot be handled as a Thing: '
        "json: cannot unmarshal number into Go struct field ObjectMeta.name of type string"
    )
