"""Bodies of PATCH requests beyond the recorded ones: strictness, custom kinds, odd documents."""

from __future__ import annotations

import json
from typing import Any

import pytest

from longshore.api import shape
from longshore.api.errors import StatusError
from longshore.api.kinds import table
from longshore.api.resources import Resource
from longshore.api.strategy import Strategy
from longshore.apiserver.request import apply_body, patch_body
from longshore.apiserver.request.patch_body import JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH

JOBS = table.find("batch", "v1", "jobs")
assert JOBS is not None
WIDGETS = Resource("x.io", "v1", "Widget", "widgets", "widget", True, Strategy(), style="custom")
NOW = "2024-01-01T00:00:00Z"


def patch(
    media: str, body: Any, *, strictness: str = "Warn", resource: Resource = JOBS, live: Any = None
) -> tuple[dict[str, Any], list[str]]:
    warnings: list[str] = []
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    current = live or {"metadata": {"name": "j", "managedFields": []}, "spec": {"suspend": True}}
    new = patch_body.patched(resource, current, media, raw, field_validation=strictness, warnings=warnings)
    return new, warnings


def refused(media: str, body: Any, **more: Any) -> StatusError:
    with pytest.raises(StatusError) as found:
        patch(media, body, **more)
    return found.value


@pytest.mark.parametrize(
    ("media", "body", "strictness", "text"),
    [
        (JSON_PATCH, b"", "Warn", "error decoding patch: unexpected end of JSON input"),
        (JSON_PATCH, b"", "Ignore", "unexpected end of JSON input"),
        (JSON_PATCH, {}, "Ignore", "json: cannot unmarshal object into Go value of type jsonpatch.Patch"),
        (JSON_PATCH, ["x"], "Warn",
         "error decoding patch: json: cannot unmarshal string into Go value of type handlers.jsonPatchOp"),
        (JSON_PATCH, [{"op": 1}], "Warn",
         "error decoding patch: json: cannot unmarshal number into Go struct field jsonPatchOp.op "
         "of type string"),
        (MERGE_PATCH, b"{", "Ignore", "Invalid JSON Patch"),
        (MERGE_PATCH, 5, "Ignore", "Invalid JSON Patch"),
        (MERGE_PATCH, None, "Warn", "Invalid JSON Patch"),
        (MERGE_PATCH, True, "Warn",
         "error decoding patch: json: cannot unmarshal bool into Go value of type map[string]interface {}"),
        (STRATEGIC_MERGE_PATCH, 5, "Warn",
         "json: cannot unmarshal number into Go value of type map[string]interface {}"),
    ],
)  # fmt: skip
def test_a_body_that_is_no_patch_is_a_bad_request(media: str, body: Any, strictness: str, text: str) -> None:
    error = refused(media, body, strictness=strictness)
    assert (error.code, error.reason, error.message) == (400, "BadRequest", text)


def test_unknown_fields_of_an_operation_are_reported_with_their_place() -> None:
    body = [{"op": "test", "path": "/metadata/name", "value": "j", "why": 1}]
    assert patch(JSON_PATCH, body)[1] == ['json patch unknown field "[0].why"']
    assert patch(JSON_PATCH, body, strictness="Ignore")[1] == []
    error = refused(JSON_PATCH, body, strictness="Strict")
    assert error.code == 422
    assert error.message.endswith('strict decoding error: json patch unknown field "[0].why"')


def test_a_patch_of_too_many_operations_is_too_large() -> None:
    body = [{"op": "test", "path": "/metadata/name", "value": "j"}] * 10_001
    error = refused(JSON_PATCH, body)
    assert (error.code, error.reason) == (413, "RequestEntityTooLarge")
    assert error.message == (
        "Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001"
    )


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ({"suspend": "yes"}, "unrecognized type: bool"),
        ({"completions": "1"}, "unrecognized type: int32"),
        ({"completions": 1.5}, "cannot convert float64 to int32"),
        ({"managedBy": 1}, "cannot convert int64 to string"),
        ({"template": []}, "cannot restore struct from: slice"),
        ({"template": {"spec": {"containers": {}}}}, "cannot restore slice from map"),
        ({"template": {"metadata": {"labels": []}}}, "cannot restore map from slice"),
    ],
)
def test_a_strategic_patch_with_a_wrong_type_is_invalid(spec: dict[str, Any], text: str) -> None:
    error = refused(STRATEGIC_MERGE_PATCH, {"spec": spec})
    assert (error.code, error.reason) == (422, "Invalid")
    assert error.message.startswith(' "" is invalid: patch: Invalid value: "map[spec:map[')
    assert error.message.endswith(f": {text}")


def test_directives_that_were_carried_out_are_not_shown_in_errors() -> None:
    body = {"metadata": {"$retainKeys": ["name"], "name": "j"}, "spec": {"bogus": 1}}
    error = refused(STRATEGIC_MERGE_PATCH, body, strictness="Strict")
    assert '"map[metadata:map[name:j] spec:map[bogus:1]]"' in error.message


def test_a_strategic_patch_cannot_change_the_kind() -> None:
    body = {"kind": "Pod", "apiVersion": "v9", "spec": {"suspend": False}}
    new, _ = patch(STRATEGIC_MERGE_PATCH, body)
    assert new["spec"]["suspend"] is False
    assert "kind" not in new


def test_a_removed_kind_is_the_one_of_the_path() -> None:
    new, _ = patch(JSON_PATCH, [{"op": "remove", "path": "/kind"}, {"op": "remove", "path": "/apiVersion"}])
    assert new["spec"]["suspend"] is True


def test_the_wish_to_forget_all_managers_survives_decoding() -> None:
    new, _ = patch(MERGE_PATCH, {"metadata": {"managedFields": []}})
    assert new["metadata"]["managedFields"] == []


def test_the_stored_object_is_never_changed() -> None:
    live = {"metadata": {"name": "j", "labels": {"a": "1"}}, "spec": {"suspend": True}}
    before = json.dumps(live)
    for media, body in (
        (MERGE_PATCH, {"metadata": {"labels": {"b": "2"}}}),
        (STRATEGIC_MERGE_PATCH, {"metadata": {"labels": {"b": "2"}, "finalizers": ["x/y"]}}),
        (JSON_PATCH, [{"op": "add", "path": "/metadata/labels/b", "value": "2"}]),
    ):
        for resource in (JOBS, WIDGETS) if media != STRATEGIC_MERGE_PATCH else (JOBS,):
            new, _ = patch(media, body, live=live, resource=resource)
            new["metadata"]["labels"]["c"] = "3"
            new["spec"]["suspend"] = False
            assert json.dumps(live) == before


def test_custom_kinds_take_no_strategic_merge_patch() -> None:
    error = refused(STRATEGIC_MERGE_PATCH, {}, resource=WIDGETS)
    assert (error.code, error.reason) == (415, "UnsupportedMediaType")
    assert error.message == (
        "the body of the request was in an unknown format - accepted media types include: "
        "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml"
    )


def test_a_custom_object_keeps_its_kind_and_version() -> None:
    error = refused(MERGE_PATCH, {"kind": "Gadget"}, resource=WIDGETS)
    assert error.message == 'Widget.x.io "j" is invalid: kind: Invalid value: "Gadget": must be Widget'
    error = refused(MERGE_PATCH, {"apiVersion": "x.io/v2"}, resource=WIDGETS)
    assert error.message.endswith('apiVersion: Invalid value: "x.io/v2": must be x.io/v1')


def test_a_custom_object_is_patched_without_a_schema() -> None:
    new, warnings = patch(MERGE_PATCH, b'{"spec":{"x":{"y":1},"x":{"z":2}}}', resource=WIDGETS)
    assert new == {"metadata": {"name": "j", "managedFields": []}, "spec": {"suspend": True, "x": {"z": 2}}}
    assert warnings == ['duplicate field "spec.x"']


def apply(body: bytes, strictness: str = "Warn") -> tuple[dict[str, Any], list[str]]:
    warnings: list[str] = []
    new = apply_body.applied(
        JOBS,
        None,
        body,
        shape=shape.shape_of(JOBS),
        manager="me",
        force=False,
        now=NOW,
        field_validation=strictness,
        warnings=warnings,
    )
    return new, warnings


@pytest.mark.parametrize(
    ("body", "code", "text"),
    [
        (b"", 400, "invalid object type: /, Kind="),
        (b"[1]", 400,
         "error decoding YAML: json: cannot unmarshal array into Go value of type map[string]interface {}"),
        (b"{apiVersion: a/b/c, kind: Job}", 400, "invalid object type: /, Kind=Job"),
        (b"{apiVersion: v1, kind: 5}", 400, "invalid object type: /v1, Kind="),
        (b"{apiVersion: batch/v1, kind: Job, metadata: {managedFields: []}}", 400,
         "metadata.managedFields must be nil"),
        (b"{apiVersion: batch/v1, kind: Job, metadata: {name: a, namespace: s}, spec: {completions: 1.5}}",
         500, "failed to convert new typed object (s/a; batch/v1, Kind=Job) to object: "
         "cannot convert float64 to int32"),
        (b"{apiVersion: batch/v1, kind: Job, metadata: []}", 500,
         "failed to create typed patch object (/; batch/v1, Kind=Job): .metadata: expected map, got &{[]}"),
    ],
)  # fmt: skip
def test_a_body_that_cannot_be_applied_says_why(body: bytes, code: int, text: str) -> None:
    with pytest.raises(StatusError) as found:
        apply(body)
    assert (found.value.code, found.value.message) == (code, text)


def test_duplicate_keys_in_an_applied_text_are_a_warning_or_an_error() -> None:
    body = b"apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\nspec:\n  suspend: true\n  suspend: false\n"
    new, warnings = apply(body)
    assert new["spec"]["suspend"] is False
    assert warnings == ['line 6: key "suspend" already set in map']
    assert apply(body, "Ignore")[1] == []
    with pytest.raises(StatusError) as found:
        apply(body, "Strict")
    assert (found.value.code, found.value.message) == (
        400,
        "error strict decoding YAML: error converting YAML to JSON: yaml: unmarshal errors:\n"
        '  line 6: key "suspend" already set in map',
    )


def test_an_applied_object_is_canonical_and_has_its_manager() -> None:
    new, _ = apply(
        b"{apiVersion: batch/v1, kind: Job, metadata: {name: a, labels: {}}, spec: {suspend: null}}"
    )
    assert "labels" not in new["metadata"]
    assert new["metadata"]["managedFields"][0]["fieldsV1"] == {
        "f:metadata": {"f:labels": {}},
        "f:spec": {"f:suspend": {}},
    }
