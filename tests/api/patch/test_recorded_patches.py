"""Replays the recorded PATCH exchanges of a real API server against `patching`, one kind's path at a time.

The object a patch starts from is the one the recording last showed for that path, so each exchange
stands alone. What the server did after patching (defaults, validation) is applied or left out here.
"""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from longshore.api.defaults import job, pod
from longshore.api.errors import StatusError
from longshore.api.kinds import table
from longshore.api.resources import Resource
from longshore.apiserver.request import patch_body
from support.places import RECORDED

VECTORS = RECORDED / "vectors/api"
BY_SERVER = {"generation", "resourceVersion", "namespace", "uid", "creationTimestamp"}
DEFAULTS = {"CronJob": job.default_cronjob, "Job": job.default_job, "Pod": pod.default_pod}
ADDED_BY_ADMISSION = {"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"}


def resource_of(path: str) -> tuple[Resource | None, str, str]:
    """The resource, the object's own path and the subresource of a request path."""
    parts = path.strip("/").split("/")
    if len(parts) < 4:
        return None, path, ""
    group, version, rest = ("", parts[1], parts[2:]) if parts[0] == "api" else (parts[1], parts[2], parts[3:])
    if len(rest) > 2 and rest[0] == "namespaces":
        rest = rest[2:]
    own = "/".join([group, version, *rest[:2]])
    return table.find(group, version, rest[0]), own, rest[2] if len(rest) > 2 else ""


def body_of(request: dict[str, Any]) -> bytes:
    if "bodyText" in request:
        return str(request["bodyText"]).encode()
    return json.dumps(request.get("body")).encode()


def object_in(body: dict[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in body.items() if k not in ("kind", "apiVersion")}


def exchanges(*names: str) -> list[Any]:
    """Each patch exchange with the object it starts from; setup requests of its own are patched in."""
    out = []
    for name in names:
        stored: dict[str, dict[str, Any]] = {}
        text = (VECTORS / f"{name}.json").read_text().replace("<time>", "2024-01-01T00:00:00Z")
        for exchange in json.loads(text):
            request, response = exchange["request"], exchange["response"]
            resource, own, _ = resource_of(request["path"])
            for step in exchange.get("setup", []):
                prepare(step, stored)
            media = (request.get("headers") or {}).get("Content-Type") or ""
            if request["method"] == "PATCH" and resource and "apply" not in media and own in stored:
                out.append(pytest.param(resource, stored[own], exchange, id=f"{name}:{exchange['name']}"))
            body = response.get("body")
            saved = (request.get("query") or {}).get("dryRun") is None and response["status"] in (200, 201)
            if saved and resource and isinstance(body, dict) and body.get("kind") == resource.kind:
                name_ = body.get("metadata", {}).get("name", "")
                stored["/".join([resource.group, resource.version, resource.plural, name_])] = object_in(body)
    return out


def prepare(step: dict[str, Any], stored: dict[str, dict[str, Any]]) -> None:
    if step.get("method") not in ("PATCH", "POST"):
        return
    resource, own, _ = resource_of(step["path"])
    if resource is None:
        return
    if step["method"] == "POST":
        stored[f"{own}/{step['body']['metadata'].get('name')}"] = object_in(step["body"])
        return
    media = (step.get("headers") or {}).get("Content-Type", "")
    if own in stored and "apply" not in media:
        stored[own] = patch_body.patched(
            resource, stored[own], media, body_of(step), field_validation="Warn", warnings=[]
        )


def settled(obj: dict[str, Any], resource: Resource) -> dict[str, Any]:
    """An object after defaulting, without what the server sets or adds by admission."""
    obj = json.loads(json.dumps(obj))
    DEFAULTS.get(resource.kind, resource.strategy.default)(obj)
    for key in BY_SERVER:
        obj["metadata"].pop(key, None)
    if tolerations := (obj.get("spec") or {}).get("tolerations"):
        obj["spec"]["tolerations"] = [t for t in tolerations if t["key"] not in ADDED_BY_ADMISSION]
    return obj


def without_document(message: str, recorded: str) -> str:
    message = re.sub(r'in scheme "[^"]*"', 'in scheme "<scheme>"', message)
    if "<document>" not in recorded:
        return message
    head, tail = recorded.split("<document>", 1)
    assert message.startswith(head)
    assert message.endswith(tail)
    return recorded


def outcome(
    resource: Resource, stored: dict[str, Any], media: str, body: bytes, strictness: str, warnings: list[str]
) -> tuple[dict[str, Any], StatusError | None]:
    try:
        got = patch_body.patched(
            resource, stored, media, body, field_validation=strictness, warnings=warnings
        )
    except StatusError as error:
        return {}, error
    return got, None


@pytest.mark.parametrize(("resource", "stored", "exchange"), exchanges("patch", "unknown-fields", "errors"))
def test_a_recorded_patch_gives_the_recorded_answer(
    resource: Resource, stored: dict[str, Any], exchange: dict[str, Any]
) -> None:
    request, response = exchange["request"], exchange["response"]
    warnings: list[str] = []
    media = (request.get("headers") or {}).get("Content-Type") or ""
    strictness = (request.get("query") or {}).get("fieldValidation", "Warn")
    want = response["body"]
    got, error = outcome(resource, stored, media, body_of(request), strictness, warnings)
    if error is not None:
        status = error.status()
        assert response["status"] == error.code, status["message"]
        assert status.get("reason") == want.get("reason")
        assert without_document(status["message"], want["message"]) == want["message"]
        causes = (status.get("details") or {}).get("causes", [])
        recorded = (want.get("details") or {}).get("causes", [])
        assert [(c["reason"], c["field"]) for c in causes] == [(c["reason"], c["field"]) for c in recorded]
        assert ("details" in status) == ("details" in want)
        return
    shown = [w.split('"', 1)[1][:-1].replace('\\"', '"') for w in response["headers"].get("Warning", [])]
    assert warnings == shown or response["status"] != 200
    if response["status"] == 200:
        assert settled(got, resource) == settled(object_in(want), resource)
    else:
        assert response["status"] in (409, 422), "a refusal of the body itself was expected here"
        assert want["details"].get("name"), want
