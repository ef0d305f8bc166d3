"""Replays the recorded exchanges about managedFields: applies, conflicts, and the writes between them.

Each exchange starts from the object the recording last showed for its path, so each stands alone.
Validation, hooks and admission are not run: they never change who owns a field.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from longshore.api import codec, shape
from longshore.api.apply import fieldset, managed
from longshore.api.defaults import job, pod
from longshore.api.errors import StatusError
from longshore.api.kinds import table
from longshore.api.resources import Resource
from longshore.apiserver.request import apply_body, patch_body
from support.places import RECORDED

VECTORS = RECORDED / "vectors/api"
NOW = "2024-01-01T00:00:00Z"
DEFAULTS = {"CronJob": job.default_cronjob, "Job": job.default_job, "Pod": pod.default_pod}
CHECKED_ELSEWHERE = ("no-manager", "json-media-variant", "name-mismatch", "with-stale-version")


class Store:
    """The objects of the recording by path, and the writes that the server would do on them."""

    def __init__(self) -> None:
        self.objects: dict[str, dict[str, Any]] = {}

    def write(self, request: dict[str, Any]) -> dict[str, Any]:
        resource, own, sub = self.place(request)
        query = request.get("query") or {}
        media = (request.get("headers") or {}).get("Content-Type", "application/json")
        body = request["bodyText"].encode() if "bodyText" in request else json.dumps(request["body"]).encode()
        live = self.objects.get(own)
        found = shape.shape_of(resource)
        manager = query.get("fieldManager", "vectors")
        if media == patch_body.APPLY_PATCH:
            new = apply_body.applied(
                resource,
                live,
                body,
                shape=found,
                manager=manager,
                force=query.get("force", "false") != "false",
                now=NOW,
                field_validation=query.get("fieldValidation", "Warn"),
                warnings=[],
                subresource=sub,
            )
            self.default(resource, new)
            return new
        if request["method"] == "PATCH":
            assert live is not None
            new = patch_body.patched(resource, live, media, body, field_validation="Warn", warnings=[])
        else:
            new = codec.decode_json(body, resource.message).obj
        self.default(resource, new)
        managed.after_update(
            new,
            live,
            manager=manager,
            api_version=resource.group_version,
            shape=found,
            now=NOW,
            subresource=sub,
        )
        return new

    @staticmethod
    def place(request: dict[str, Any]) -> tuple[Resource, str, str]:
        parts = request["path"].strip("/").split("/")
        group, rest = ("", parts[2:]) if parts[0] == "api" else (parts[1], parts[3:])
        body = request.get("body")
        named = body.get("metadata", {}).get("name", "") if isinstance(body, dict) else ""
        plural, name, *sub = [*rest[2:], named][:3]
        resource = table.find(group, "v1", plural)
        assert resource is not None
        return resource, f"{plural}/{name}", sub[0] if len(rest) > 4 else ""

    @staticmethod
    def default(resource: Resource, obj: dict[str, Any]) -> None:
        DEFAULTS.get(resource.kind, resource.strategy.default)(obj)


def exchanges() -> list[Any]:
    store = Store()
    out = []
    for exchange in json.loads((VECTORS / "apply.json").read_text().replace("<time>", NOW)):
        request, response = exchange["request"], exchange["response"]
        for step in exchange.get("setup", []):
            _, own, _ = store.place(step)
            store.objects[own] = store.write(step)
        if request["method"] != "GET" and exchange["name"] not in CHECKED_ELSEWHERE:
            before = Store()
            before.objects = dict(store.objects)
            out.append(pytest.param(before, exchange, id=exchange["name"]))
        body = response["body"]
        if body["kind"] != "Status" and (request.get("query") or {}).get("dryRun") is None:
            _, own, _ = store.place({**request, "body": body})
            store.objects[own] = {k: v for k, v in body.items() if k not in ("kind", "apiVersion")}
    return out


def by_manager(obj: dict[str, Any]) -> list[dict[str, Any]]:
    found = obj["metadata"].get("managedFields", [])
    return sorted(found, key=lambda e: (e["operation"], e["manager"], e["apiVersion"]))


def outcome(store: Store, request: dict[str, Any]) -> tuple[dict[str, Any], StatusError | None]:
    try:
        return store.write(request), None
    except StatusError as error:
        return {}, error


@pytest.mark.parametrize(("store", "exchange"), exchanges())
def test_a_recorded_write_leaves_the_recorded_owners(store: Store, exchange: dict[str, Any]) -> None:
    response = exchange["response"]
    want = response["body"]
    got, error = outcome(store, exchange["request"])
    if error is not None:
        status = error.status()
        assert (error.code, status["message"]) == (response["status"], want["message"])
        assert status.get("reason") == want.get("reason")
        assert status.get("details") == want.get("details")
        return
    if response["status"] == 422:
        assert want["details"]["name"], "only validation may still refuse it"
        return
    assert response["status"] in (200, 201), want
    assert by_manager(got) == by_manager(want)
    if "ignored" not in exchange["name"]:
        if want["kind"] == "CronJob":
            assert got["spec"] == want["spec"]
        assert got["metadata"].get("labels") == want["metadata"].get("labels") or want["kind"] == "Job"
        assert got["metadata"].get("finalizers") == want["metadata"].get("finalizers")


def test_recorded_sets_of_fields_have_their_keys_in_the_order_that_ours_have() -> None:
    seen = 0
    for file in sorted(VECTORS.glob("*.json")):
        for fields in _field_sets(json.loads(file.read_text())):
            assert json.dumps(fieldset.in_order(fields)) == json.dumps(fields)
            seen += 1
    assert seen > 50


def _field_sets(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        if isinstance(value.get("fieldsV1"), dict) and value.get("fieldsType"):
            yield value["fieldsV1"]
        for each in value.values():
            yield from _field_sets(each)
    elif isinstance(value, list):
        for each in value:
            yield from _field_sets(each)
