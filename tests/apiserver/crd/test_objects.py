"""Objects of a user's own kind: what is dropped, filled in, refused and told."""

from __future__ import annotations

from typing import Any

import pytest

from apiserver.crd.widgets import DEFINITIONS, SPEC, WIDGETS, define, definition, version, widget
from longshore.api.types import copy_of
from support.api_in_memory import Server

pytestmark = pytest.mark.anyio

MERGE = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
WITH_STATUS: dict[str, Any] = {"status": {}}


@pytest.fixture(autouse=True)
async def _defined(server: Server) -> None:
    columns = [
        {"name": "Size", "type": "string", "jsonPath": ".spec.size"},
        {"name": "Phase", "type": "string", "jsonPath": ".status.phase", "priority": 1},
    ]
    own = version(subresources=WITH_STATUS, additionalPrinterColumns=columns)
    await define(server, definition(own))


async def test_an_object_gets_defaults_also_inside_lists(server: Server) -> None:
    made = await server.send("POST", WIDGETS, widget(parts=[{"name": "a"}, {"name": "b", "weight": 5}]))
    assert made.body["spec"] == {
        "size": "small",
        "replicas": 2,
        "parts": [{"name": "a", "weight": 1}, {"name": "b", "weight": 5}],
    }
    assert made.body["metadata"]["generation"] == 1
    assert made.body["apiVersion"] == "example.com/v1"


async def test_unknown_fields_are_dropped_with_a_warning(server: Server) -> None:
    sent = widget(parts=[{"name": "a", "x": 1}], extra={"any": {"thing": 1}})
    made = await server.send("POST", WIDGETS, sent)
    assert made.code == 201
    assert made.warning == '299 - "unknown field \\"spec.parts[0].x\\""'
    assert made.body["spec"]["parts"] == [{"name": "a", "weight": 1}]


async def test_a_part_may_keep_what_its_schema_does_not_know(server: Server) -> None:
    made = await server.send("POST", WIDGETS, widget(extra={"any": {"thing": [None, 1]}}))
    assert made.body["spec"]["extra"] == {"any": {"thing": [None, 1]}}
    assert not made.warning


async def test_unknown_fields_are_errors_when_the_client_is_strict(server: Server) -> None:
    sent = widget(colour="red", parts=[{"name": "a", "x": 1}])
    sent["metadata"]["nick"] = "w"
    answer = await server.send("POST", WIDGETS, sent, fieldValidation="Strict")
    assert (answer.code, answer.message) == (
        400,
        'Widget in version "v1" cannot be handled as a Widget: strict decoding error: '
        'unknown field "metadata.nick", unknown field "spec.colour", unknown field "spec.parts[0].x"',
    )


async def test_unknown_fields_are_not_mentioned_when_the_client_ignores_them(server: Server) -> None:
    answer = await server.send("POST", WIDGETS, widget(colour="red"), fieldValidation="Ignore")
    assert (answer.code, answer.warning) == (201, "")


async def test_a_strict_patch_with_unknown_fields_is_refused(server: Server) -> None:
    await server.send("POST", WIDGETS, widget())
    patch = {"spec": {"colour": "red"}}
    answer = await server.send("PATCH", f"{WIDGETS}/w", patch, type=MERGE, fieldValidation="Strict")
    assert answer.code == 422
    assert answer.message.endswith('strict decoding error: unknown field "spec.colour"')


async def test_every_fault_is_listed_with_its_cause(server: Server) -> None:
    answer = await server.send("POST", WIDGETS, widget(size="huge", replicas=0, label="UPPER"))
    assert answer.code == 422
    assert answer.message.startswith(
        'Widget.example.com "w" is invalid: [spec.size: Unsupported value: "huge"'
    )
    causes = {c["field"]: (c["reason"], c["message"]) for c in answer.body["details"]["causes"]}
    assert causes == {
        "spec.size": (
            "FieldValueNotSupported",
            'Unsupported value: "huge": supported values: "small", "large"',
        ),
        "spec.replicas": (
            "FieldValueInvalid",
            "Invalid value: 0: spec.replicas in body should be greater than or equal to 1",
        ),
        "spec.label": (
            "FieldValueInvalid",
            "Invalid value: \"UPPER\": spec.label in body should match '^[a-z]+$'",
        ),
    }


async def test_a_wrong_type_has_its_own_reason(server: Server) -> None:
    answer = await server.send("POST", WIDGETS, widget(replicas="two"))
    assert answer.body["details"]["causes"] == [
        {
            "reason": "FieldValueTypeInvalid",
            "message": 'Invalid value: "string": spec.replicas in body must be of type integer: "string"',
            "field": "spec.replicas",
        }
    ]


async def test_items_with_the_same_key_are_refused(server: Server) -> None:
    answer = await server.send("POST", WIDGETS, widget(parts=[{"name": "a"}, {"name": "a"}]))
    assert answer.message == (
        'Widget.example.com "w" is invalid: spec.parts[1]: Duplicate value: {"name":"a"}'
    )


async def test_metadata_must_be_metadata(server: Server) -> None:
    sent = widget()
    sent["metadata"]["labels"] = {"a": 5}
    answer = await server.send("POST", WIDGETS, sent)
    assert (answer.code, answer.message) == (
        400,
        'Widget in version "v1" cannot be handled as a Widget: '
        "json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string",
    )


async def test_short_finalizers_are_allowed_with_a_warning(server: Server) -> None:
    sent = widget()
    sent["metadata"]["finalizers"] = ["mine"]
    made = await server.send("POST", WIDGETS, sent)
    assert made.code == 201
    assert "prefer a domain-qualified finalizer name" in made.warning


async def test_status_is_written_through_its_own_path_alone(server: Server) -> None:
    made = (await server.send("POST", WIDGETS, widget() | {"status": {"phase": "New"}})).body
    assert "status" not in made
    changed = made | {"spec": {"size": "large"}, "status": {"phase": "Up"}}
    changed["metadata"] = made["metadata"] | {"labels": {"a": "b"}}
    stored = (await server.send("PUT", f"{WIDGETS}/w/status", changed)).body
    assert stored["status"] == {"phase": "Up"}
    assert stored["spec"] == made["spec"]
    assert "labels" not in stored["metadata"]
    assert stored["metadata"]["generation"] == 1
    wrong = {"status": {"phase": 5}}
    answer = await server.send("PATCH", f"{WIDGETS}/w/status", wrong, type=MERGE)
    assert "status.phase in body must be of type string" in answer.message


async def test_any_change_outside_metadata_and_status_moves_the_generation(server: Server) -> None:
    await server.send("POST", WIDGETS, widget())
    labels = await server.send("PATCH", f"{WIDGETS}/w", {"metadata": {"labels": {"a": "b"}}}, type=MERGE)
    assert labels.body["metadata"]["generation"] == 1
    spec = await server.send("PATCH", f"{WIDGETS}/w", {"spec": {"size": "large"}}, type=MERGE)
    assert spec.body["metadata"]["generation"] == 2


async def test_a_put_must_name_the_version_it_saw(server: Server) -> None:
    await server.send("POST", WIDGETS, widget())
    answer = await server.send("PUT", f"{WIDGETS}/w", widget())
    assert answer.code == 422
    assert "metadata.resourceVersion: Invalid value: 0: must be specified for an update" in answer.message


@pytest.mark.parametrize(
    ("method", "version", "how"),
    [
        ("PUT", "0", {}),
        ("PATCH", None, {"type": MERGE}),
        ("PATCH", "", {"type": MERGE}),
        ("PATCH", "0", {"type": MERGE}),
    ],
)
async def test_a_write_cannot_ask_for_whatever_version_there_is(
    server: Server, method: str, version: str | None, how: dict[str, str]
) -> None:
    await server.send("POST", WIDGETS, widget())
    change = widget(size="large")
    change["metadata"]["resourceVersion"] = version
    answer = await server.send(method, f"{WIDGETS}/w", change, **how)
    assert (answer.code, answer.message) == (
        422,
        'widgets.example.com "w" is invalid: metadata.resourceVersion: Invalid value: 0: '
        "must be specified for an update",
    )
    assert (await server.send("GET", f"{WIDGETS}/w")).body["spec"]["size"] == "small"


async def test_there_is_no_strategic_merge_and_no_protobuf(server: Server) -> None:
    await server.send("POST", WIDGETS, widget())
    smp = "application/strategic-merge-patch+json"
    assert (await server.send("PATCH", f"{WIDGETS}/w", {}, type=smp)).code == 415
    protobuf = "application/vnd.kubernetes.protobuf"
    assert (await server.send("GET", WIDGETS, accept=protobuf)).code == 406
    assert (await server.send("POST", WIDGETS, b"k8s\x00", type=protobuf)).code == 400


async def test_items_of_lists_say_what_they_are(server: Server) -> None:
    await server.send("POST", WIDGETS, widget())
    items = (await server.send("GET", WIDGETS)).body["items"]
    assert [(i["kind"], i["apiVersion"]) for i in items] == [("Widget", "example.com/v1")]


async def test_tables_have_the_definitions_columns(server: Server) -> None:
    await server.send("POST", WIDGETS, widget())
    table = (await server.send("GET", WIDGETS, accept="application/json;as=Table;v=v1;g=meta.k8s.io")).body
    assert [c["name"] for c in table["columnDefinitions"]] == ["Name", "Size", "Phase"]
    assert table["rows"][0]["cells"] == ["w", "small", None]


async def test_a_json_patch_can_take_a_field_away(server: Server) -> None:
    await server.send("POST", WIDGETS, widget(label="abc"))
    patch = [{"op": "remove", "path": "/spec/label"}]
    answer = await server.send("PATCH", f"{WIDGETS}/w", patch, type=JSON_PATCH)
    assert "label" not in answer.body["spec"]


async def test_nulls_are_dropped_where_they_are_not_allowed(server: Server) -> None:
    made = await server.send("POST", WIDGETS, widget(label=None, replicas=None))
    assert made.body["spec"] == {"size": "small", "replicas": 2}
    assert not made.warning


async def test_owners_of_applied_fields_follow_the_schema(server: Server) -> None:
    apply = {"type": "application/apply-patch+yaml", "fieldManager": "one"}
    await server.send("PATCH", f"{WIDGETS}/w", widget(parts=[{"name": "a"}]), **apply)
    other = {"type": "application/apply-patch+yaml", "fieldManager": "two"}
    both = await server.send("PATCH", f"{WIDGETS}/w", widget(parts=[{"name": "b"}]), **other)
    assert [p["name"] for p in both.body["spec"]["parts"]] == ["a", "b"]
    clash = await server.send("PATCH", f"{WIDGETS}/w", widget(size="large"), **other)
    assert clash.code == 409
    assert 'conflict with "one": .spec.size' in clash.message
    unknown = await server.send("PATCH", f"{WIDGETS}/w", widget(colour="red"), **apply)
    assert (unknown.code, unknown.message) == (
        500,
        "failed to create typed patch object (/w; example.com/v1, Kind=Widget): "
        ".spec.colour: field not declared in schema",
    )


async def test_a_rule_that_came_later_does_not_stop_other_changes(server: Server) -> None:
    await server.send("POST", WIDGETS, widget(label="abc"))
    stricter: dict[str, Any] = SPEC | {
        "properties": SPEC["properties"] | {"label": {"type": "string", "maxLength": 2}}
    }
    crds = ("apiextensions.k8s.io/v1", "CustomResourceDefinition")
    patch = {"spec": {"versions": [version(spec=stricter, subresources=WITH_STATUS)]}}
    await server.client.patch(crds, "widgets.example.com", patch)
    unrelated = await server.send("PATCH", f"{WIDGETS}/w", {"spec": {"size": "large"}}, type=MERGE)
    assert unrelated.code == 200
    touched = await server.send("PATCH", f"{WIDGETS}/w", {"spec": {"label": "abcd"}}, type=MERGE)
    assert "spec.label: Too long: may not be more than 2 bytes" in touched.message


@pytest.mark.parametrize(
    "status",
    [
        {"phase": "Ready", "replicas": 3},
        {"phase": "Ready", "colour": "red"},
        {"phase": None, "replicas": 1},
        {"phase": 5},
        {},
    ],
)
async def test_a_status_is_read_alike_by_itself_and_within_the_whole_object(
    server: Server, status: dict[str, Any]
) -> None:
    def told(answer: Any) -> tuple[Any, ...]:
        managers = answer.body.get("metadata", {}).get("managedFields", ())
        return (
            answer.code,
            answer.warning,
            str(answer.body.get("message")).replace("apart", "whole"),
            answer.body.get("status"),
            answer.body.get("spec"),
            [(entry.get("subresource"), entry["fieldsV1"]) for entry in managers],
        )

    answers = []
    for name in ("apart", "whole"):
        made = await server.send("POST", WIDGETS, widget(name, parts=[{"name": "a"}]))
        if name == "apart":
            body, type = {"metadata": {"uid": made.body["metadata"]["uid"]}, "status": status}, MERGE
        else:
            kept = {key: value for key, value in status.items() if value is not None}
            body, type = [{"op": "add", "path": "/status", "value": kept}], JSON_PATCH
        answers.append(told(await server.send("PATCH", f"{WIDGETS}/{name}/status", body, type=type)))
    assert answers[0] == answers[1]


async def test_a_patch_that_means_another_object_of_the_name_is_refused(server: Server) -> None:
    await server.send("POST", WIDGETS, widget())
    patch = {"metadata": {"uid": "another"}, "status": {"phase": "Ready"}}
    assert (await server.send("PATCH", f"{WIDGETS}/w", patch, type=MERGE)).code in (409, 422)


@pytest.mark.parametrize(("before", "now"), [(1, True), (0, False), (1, 1.5), ([1], [True])])
async def test_a_number_that_becomes_a_truth_value_is_a_change(server: Server, before: Any, now: Any) -> None:
    await server.send("POST", WIDGETS, widget(extra={"on": before}))
    change = {"spec": {"extra": {"on": now}}}
    await server.send("PATCH", f"{WIDGETS}/w", change, type=MERGE)
    answer = await server.send("GET", f"{WIDGETS}/w")
    assert repr(answer.body["spec"]["extra"]["on"]) == repr(now)
    assert answer.body["metadata"]["generation"] == 2


@pytest.mark.parametrize("spec", [{"replicas": True}, {"parts": [{"name": "a", "weight": True}]}])
async def test_a_truth_value_in_place_of_an_equal_number_is_refused(
    server: Server, spec: dict[str, Any]
) -> None:
    await server.send("POST", WIDGETS, widget(replicas=1, parts=[{"name": "a", "weight": 1}]))
    refused = await server.send("PATCH", f"{WIDGETS}/w", {"spec": spec}, type=MERGE)
    assert refused.code == 422
    assert "must be of type int" in refused.body["message"]


async def test_a_new_quota_counts_the_objects_that_are_there(server: Server) -> None:
    assert (await server.send("POST", WIDGETS, widget("a"))).code == 201
    quotas = "/api/v1/namespaces/default/resourcequotas"
    name = "count/widgets.example.com"
    answer = await server.send("POST", quotas, {"metadata": {"name": "q"}, "spec": {"hard": {name: "2"}}})
    assert answer.body["status"]["used"] == {name: "1"}
    assert (await server.send("POST", WIDGETS, widget("b"))).code == 201
    refused = await server.send("POST", WIDGETS, widget("c"))
    assert (refused.code, refused.message) == (
        403,
        f'widgets.example.com "c" is forbidden: exceeded quota: q, requested: {name}=1, used: {name}=2, '
        f"limited: {name}=2",
    )
    answer = await server.send("PATCH", f"{quotas}/q", {"spec": {"hard": {name: "1"}}}, type=MERGE)
    assert answer.body["status"] == {"hard": {name: "1"}, "used": {name: "2"}}
    assert (await server.send("DELETE", f"{WIDGETS}/a")).code == 200
    assert (await server.send("GET", f"{quotas}/q")).body["status"]["used"] == {name: "1"}


def parts(count: int) -> list[dict[str, str]]:
    return [{"name": f"p{number}"} for number in range(count)]


def with_a_large_default() -> dict[str, Any]:
    spec = copy_of(SPEC)
    text = {"type": "string", "default": "x" * 100_000}
    spec["properties"]["parts"]["items"]["properties"]["text"] = text
    return definition(version(spec=spec))


async def test_defaults_that_would_make_a_huge_object_of_a_small_one_are_refused(server: Server) -> None:
    path = f"{DEFINITIONS}/widgets.example.com"
    await server.send("PATCH", path, {"spec": with_a_large_default()["spec"]}, type=MERGE)
    few = await server.send("POST", WIDGETS, widget(parts=parts(3)))
    assert [len(part["text"]) for part in few.body["spec"]["parts"]] == [100_000] * 3
    many = await server.send("POST", WIDGETS, widget("many", parts=parts(2_000)))
    assert (many.code, many.body["reason"]) == (413, "RequestEntityTooLarge")
    text = "Request entity too large: the defaults of its schema add more than 3145728 bytes"
    assert many.message == text


async def test_an_object_that_later_defaults_make_too_large_can_be_read_and_deleted(server: Server) -> None:
    await server.send("POST", WIDGETS, widget(parts=parts(2_000)))
    path = f"{DEFINITIONS}/widgets.example.com"
    changed = await server.send("PATCH", path, {"spec": with_a_large_default()["spec"]}, type=MERGE)
    assert changed.code == 200, changed.body
    found = await server.send("GET", f"{WIDGETS}/w")
    assert (found.code, len(found.body["spec"]["parts"])) == (200, 2_000)
    assert (await server.send("DELETE", f"{WIDGETS}/w")).code == 200
