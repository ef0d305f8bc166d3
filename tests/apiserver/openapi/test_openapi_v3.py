"""OpenAPI 3 documents: complete, consistent, and with what kubectl looks for in them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from longshore.api import schema
from longshore.api.errors import StatusError
from longshore.api.kinds import table as kinds
from longshore.api.resources import STATUS_VERBS, PrinterColumn, Resource, Subresource
from longshore.api.strategy import Strategy
from longshore.apiserver.openapi import Documents, build, schemas
from support.places import RECORDED

VECTORS = RECORDED / "vectors"
ROWS = kinds.RESOURCES
DOCUMENTS = Documents(lambda: ROWS, dict)
GROUP_VERSIONS = sorted({(r.group, r.version) for r in ROWS})
WIDGETS = Resource(
    "acme.io",
    "v1",
    "Widget",
    "widgets",
    "widget",
    True,
    Strategy(),
    subresources={"status": Subresource("status", STATUS_VERBS, "Widget")},
    style="custom",
    columns=(PrinterColumn("Size", "integer", ".spec.size"),),
)
WIDGET_SCHEMA = {
    "type": "object",
    "description": "A widget.",
    "required": ["spec"],
    "properties": {
        "spec": {
            "type": "object",
            "properties": {
                "size": {"type": "integer", "minimum": 1, "default": 3},
                "port": {
                    "x-kubernetes-int-or-string": True,
                    "anyOf": [{"type": "integer"}, {"type": "string"}],
                },
                "note": {"type": "string", "nullable": True},
            },
        }
    },
}


def key_of(group: str, version: str) -> str:
    return f"apis/{group}/{version}" if group else f"api/{version}"


@cache
def document(key: str, documents: Documents = DOCUMENTS) -> dict[str, Any]:
    found = documents.find(f"/openapi/v3/{key}", "application/json")
    assert found is not None
    loaded: dict[str, Any] = json.loads(found.body)
    return loaded


def index(documents: Documents = DOCUMENTS) -> dict[str, str]:
    found = documents.find("/openapi/v3", "application/json, */*")
    assert found is not None
    assert found.content_type == "text/plain; charset=utf-8"
    return {k: v["serverRelativeURL"] for k, v in json.loads(found.body)["paths"].items()}


def references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, each in value.items():
            if key == "$ref" and isinstance(each, str):
                yield each
            else:
                yield from references(each)
    elif isinstance(value, list):
        for each in value:
            yield from references(each)


@pytest.mark.parametrize("key", index())
def test_every_reference_leads_somewhere_and_every_schema_is_needed(key: str) -> None:
    found = document(key)
    schemas = found["components"]["schemas"]
    named = {ref.removeprefix("#/components/schemas/") for ref in references(found)}
    assert named == set(schemas)


@pytest.mark.parametrize("key", index())
def test_operations_have_names_of_their_own(key: str) -> None:
    operations = [
        op["operationId"]
        for path in document(key)["paths"].values()
        for m, op in path.items()
        if m != "parameters"
    ]
    assert operations
    assert len(operations) == len(set(operations))


@pytest.mark.parametrize("resource", ROWS, ids=lambda r: f"{r.group_version} {r.kind}")
def test_every_kind_has_a_schema_that_names_it(resource: Resource) -> None:
    gvk = {"group": resource.group, "kind": resource.kind, "version": resource.version}
    schemas = document(key_of(resource.group, resource.version))["components"]["schemas"]
    named = [s for s in schemas.values() if gvk in s.get("x-kubernetes-group-version-kind", [])]
    assert len(named) == 1
    assert {"apiVersion", "kind"} <= named[0]["properties"].keys()


@pytest.mark.parametrize("resource", [r for r in ROWS if "patch" in r.verbs], ids=lambda r: r.qualified)
def test_patches_offer_field_validation_and_their_media_types(resource: Resource) -> None:
    gvk = {"group": resource.group, "kind": resource.kind, "version": resource.version}
    paths = document(key_of(resource.group, resource.version))["paths"]
    patches = [
        item["patch"]
        for item in paths.values()
        if item.get("patch", {}).get("x-kubernetes-group-version-kind") == gvk
    ]
    assert patches
    for patch in patches:
        assert {"fieldValidation", "fieldManager", "dryRun", "force"} == {
            p["name"] for p in patch["parameters"]
        }
        strategic = "application/strategic-merge-patch+json" in patch["requestBody"]["content"]
        assert strategic == (resource.style == "builtin")
        assert len(patch["requestBody"]["content"]) == (4 if strategic else 3)
        assert patch["x-kubernetes-action"] == "patch"


@pytest.mark.parametrize(("group", "version"), GROUP_VERSIONS)
def test_path_parameters_are_declared(group: str, version: str) -> None:
    for path, item in document(key_of(group, version))["paths"].items():
        declared = {p["name"] for p in item.get("parameters", []) if p["in"] == "path"}
        assert declared == {part[1:-1] for part in path.split("/") if part.startswith("{")}


def test_jobs_offer_all_their_operations() -> None:
    paths = document("apis/batch/v1")["paths"]
    assert paths.keys() >= {
        "/apis/batch/v1/",
        "/apis/batch/v1/jobs",
        "/apis/batch/v1/namespaces/{namespace}/jobs",
        "/apis/batch/v1/namespaces/{namespace}/jobs/{name}",
        "/apis/batch/v1/namespaces/{namespace}/jobs/{name}/status",
    }
    many = paths["/apis/batch/v1/namespaces/{namespace}/jobs"]
    one = paths["/apis/batch/v1/namespaces/{namespace}/jobs/{name}"]
    ids = {m: op["operationId"] for item in (many, one) for m, op in item.items() if m != "parameters"}
    assert many["delete"]["operationId"] == "deleteBatchV1CollectionNamespacedJob"
    assert ids == {
        "get": "readBatchV1NamespacedJob",
        "post": "createBatchV1NamespacedJob",
        "put": "replaceBatchV1NamespacedJob",
        "patch": "patchBatchV1NamespacedJob",
        "delete": "deleteBatchV1NamespacedJob",
    }
    assert one["get"]["tags"] == ["batch_v1"]


def test_pods_have_their_connections_and_evictions() -> None:
    paths = document("api/v1")["paths"]
    base = "/api/v1/namespaces/{namespace}/pods/{name}"
    assert paths[f"{base}/exec"]["get"]["x-kubernetes-action"] == "connect"
    assert "command" in {p["name"] for p in paths[f"{base}/exec"]["post"]["parameters"]}
    assert paths[f"{base}/eviction"]["post"]["x-kubernetes-group-version-kind"] == {
        "group": "policy",
        "kind": "Eviction",
        "version": "v1",
    }
    assert "tailLines" in {p["name"] for p in paths[f"{base}/log"]["get"]["parameters"]}


def test_schemas_say_what_clients_need_to_merge() -> None:
    schemas = document("apis/batch/v1")["components"]["schemas"]
    containers = schemas["io.k8s.api.core.v1.PodSpec"]["properties"]["containers"]
    assert containers == {
        "type": "array",
        "items": {"allOf": [{"$ref": "#/components/schemas/io.k8s.api.core.v1.Container"}], "default": {}},
        "description": "The containers. At least one.",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
        "x-kubernetes-patch-merge-key": "name",
        "x-kubernetes-patch-strategy": "merge",
    }
    volumes = schemas["io.k8s.api.core.v1.PodSpec"]["properties"]["volumes"]
    assert volumes["x-kubernetes-patch-strategy"] == "merge,retainKeys"
    assert schemas["io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelector"]["x-kubernetes-map-type"] == "atomic"


def test_types_and_defaults_are_kubernetes() -> None:
    schemas = document("apis/batch/v1")["components"]["schemas"]
    spec = schemas["io.k8s.api.batch.v1.CronJobSpec"]
    assert spec["required"] == ["schedule", "jobTemplate"]
    assert (spec["properties"]["schedule"]["type"], spec["properties"]["schedule"]["default"]) == (
        "string",
        "",
    )
    assert spec["properties"]["startingDeadlineSeconds"]["format"] == "int64"
    assert "default" not in spec["properties"]["suspend"]
    assert spec["properties"]["jobTemplate"]["default"] == {}
    job = schemas["io.k8s.api.batch.v1.Job"]["properties"]
    assert job["metadata"]["allOf"] == [
        {"$ref": "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"}
    ]
    quantity = schemas["io.k8s.apimachinery.pkg.api.resource.Quantity"]
    assert quantity["oneOf"] == [{"type": "string"}, {"type": "number"}]
    assert schemas["io.k8s.apimachinery.pkg.apis.meta.v1.Time"]["format"] == "date-time"
    either = schemas["io.k8s.apimachinery.pkg.util.intstr.IntOrString"]
    assert either["format"] == "int-or-string"


def test_the_index_has_the_recorded_entries() -> None:
    exchanges = json.loads((VECTORS / "api/discovery.json").read_text())
    recorded = next(e for e in exchanges if e["name"] == "openapi-v3-index")["response"]["body"]["paths"]
    assert recorded.keys() <= index().keys()


def test_a_document_nobody_listed_is_not_there() -> None:
    for path in ("/openapi/v3/apis/nothing/v1", "/openapi/v4", "/openapi", "/openapi/v3/api/v9"):
        assert DOCUMENTS.find(path, None) is None


def test_the_index_builds_no_document(monkeypatch: pytest.MonkeyPatch) -> None:
    fresh = Documents(lambda: ROWS, dict)
    monkeypatch.setattr(build, "version_3", lambda *_: pytest.fail("built a document"))
    assert index(fresh) == index()


def test_only_a_document_asked_for_by_its_hash_may_be_cached_for_ever() -> None:
    current = index()["apis/batch/v1"].partition("hash=")[2]
    with_hash = DOCUMENTS.find("/openapi/v3/apis/batch/v1", None, current)
    without = DOCUMENTS.find("/openapi/v3/apis/batch/v1", None, "OLD")
    assert with_hash is not None
    assert without is not None
    assert "immutable" in with_hash.headers["Cache-Control"]
    assert "Cache-Control" not in without.headers
    assert with_hash.etag == without.etag


def test_an_unknown_form_is_refused() -> None:
    with pytest.raises(StatusError) as refused:
        DOCUMENTS.find("/openapi/v3/apis/batch/v1", "application/xml")
    assert refused.value.code == 406


def test_a_users_kind_is_described_by_its_own_schema() -> None:
    rows: list[tuple[Resource, ...]] = [ROWS]
    documents = Documents(lambda: rows[0], lambda: {("acme.io", "v1", "Widget"): WIDGET_SCHEMA})
    before = index(documents)
    rows[0] = (*ROWS, WIDGETS)
    after = index(documents)
    assert after.keys() - before.keys() == {"apis/acme.io", "apis/acme.io/v1"}
    assert after["apis/batch/v1"] == before["apis/batch/v1"]
    found = document("apis/acme.io/v1", documents)
    widget = found["components"]["schemas"]["io.acme.v1.Widget"]
    assert widget["properties"]["spec"] == WIDGET_SCHEMA["properties"]["spec"]  # type: ignore[index]
    assert widget["required"] == ["spec"]
    assert widget["properties"]["metadata"]["allOf"] == [
        {"$ref": "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"}
    ]
    assert "/apis/acme.io/v1/namespaces/{namespace}/widgets/{name}/status" in found["paths"]


def test_a_changed_schema_changes_the_hash() -> None:
    rows = (*ROWS, WIDGETS)
    one = Documents(lambda: rows, lambda: {("acme.io", "v1", "Widget"): WIDGET_SCHEMA})
    other = Documents(lambda: rows, lambda: {("acme.io", "v1", "Widget"): {"type": "object"}})
    assert index(one)["apis/acme.io/v1"] != index(other)["apis/acme.io/v1"]


def test_texts_and_values_are_about_fields_there_are() -> None:
    file = Path(schema.__file__).parents[1] / "apiserver/openapi/descriptions.json"
    for name, texts in json.loads(file.read_text()).items():
        if "/" in name:
            assert texts.keys() - {""} <= schema.message(name).fields.keys(), name
    for name in schemas.VALUES:
        message, _, field = name.partition(":")
        assert schema.message(message).fields[field].type.name == "string", name


@pytest.mark.parametrize("message", ["batch/v1.JobSpec", "batch/v1.CronJobSpec", "batch/v1.JobStatus"])
def test_every_field_of_a_job_is_explained(message: str) -> None:
    kind = message.rpartition(".")[2]
    properties = document("apis/batch/v1")["components"]["schemas"][f"io.k8s.api.batch.v1.{kind}"][
        "properties"
    ]
    assert [name for name, p in properties.items() if not p.get("description")] == []
