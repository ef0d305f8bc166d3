"""Writes to Jobs and CronJobs as Kubernetes answered them: every cause, warning and default."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
import yaml

from api.job.batch_registry import NAMESPACE, SUFFIX, BatchRegistry
from longshore.api.errors import StatusError
from support.places import RECORDED

VECTORS = RECORDED / "vectors/api"
THEMES = (
    "defaults",
    "generate-name",
    "generation",
    "metadata",
    "status",
    "unknown-fields",
    "validation-cronjob",
    "validation-job",
    "validation-update",
)
UID = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b|<uid(:\w+)?>")


def folded(text: str) -> str:
    """Whole objects inside messages are not compared, as in the recording."""
    at = text.find("Invalid value: {")
    if at >= 0:
        at += len("Invalid value: ")
        _, end = json.JSONDecoder().raw_decode(text, at)
        if re.search(r'"[A-Z]\w*":', text[at:end]):
            text = text[:at] + "<object>" + text[end:]
    return text


def plain(value: Any) -> Any:
    """A value without what differs from run to run."""
    if isinstance(value, dict):
        return {k: "<rv>" if k == "resourceVersion" else plain(v) for k, v in value.items()}
    if isinstance(value, list):
        return [plain(v) for v in value]
    if isinstance(value, str):
        value = re.sub(r"<name:\w+>", "gen-<rand5>", UID.sub("<uid>", value))
        return value.replace("<ns>", NAMESPACE).replace(SUFFIX, "<rand5>")
    return value


def causes_of(status: dict[str, Any]) -> list[tuple[str, str, str]]:
    return [(c["reason"], c["field"], plain(folded(c["message"]))) for c in status["details"]["causes"]]


def warnings_of(response: dict[str, Any]) -> list[str]:
    found = response["headers"].get("Warning") or []
    texts = [w[len('299 - "') : -1].replace('\\"', '"') for w in found]
    return [t for t in texts if not t.startswith(("unknown field", "duplicate field", "line "))]


def steps(theme: str) -> list[dict[str, Any]]:
    """The requests of a theme that write Jobs or CronJobs, setups before their exchange."""
    out = []
    for exchange in json.loads((VECTORS / f"{theme}.json").read_text()):
        for request in exchange.get("setup") or ():
            if "method" in request:
                out.append({"name": exchange["name"] + " (setup)", "request": request, "response": None})
        out.append(exchange)
    return out


def play(registry: BatchRegistry, request: dict[str, Any]) -> tuple[dict[str, Any], list[str]] | None:
    """Runs one request; None when it is not about what this test covers."""
    place = re.fullmatch(
        r"/apis/batch/v1/namespaces/<ns>/(jobs|cronjobs)(?:/([^/]+)(?:/(status))?)?", request["path"]
    )
    query, headers = request.get("query") or {}, request.get("headers") or {}
    if not place or request["method"] not in ("POST", "PUT", "PATCH") or "<rv" in json.dumps(request):
        return None
    plural, name, subresource = place.groups(default="")
    body = request.get("body")
    if body is None and "bodyText" in request:
        body = yaml.safe_load(request["bodyText"])  # which reads JSON too
    if body is None or query.get("fieldValidation") == "Strict" or "<" in name:
        return None
    kept = dict(registry.objects)
    try:
        if request["method"] == "POST":
            return registry.create(plural, body)
        if (plural, name) not in registry.objects:
            return None
        if request["method"] == "PUT":
            return registry.update(plural, name, body, subresource)
        kind = headers.get("Content-Type", "")
        if kind == "application/merge-patch+json":
            return registry.merge(plural, name, body, subresource)
        if kind == "application/strategic-merge-patch+json":
            return registry.strategic(plural, name, body)
        return None
    finally:
        if query.get("dryRun"):
            registry.objects = kept


@pytest.mark.parametrize("theme", THEMES)
def test_writes_are_answered_as_recorded(theme: str) -> None:
    registry, compared = BatchRegistry(), 0
    for step in steps(theme):
        request, response = step["request"], step["response"]
        status = 201 if response is None else response["status"]
        if status not in (200, 201, 422) or step["name"].endswith("while-deleting"):
            continue  # deletion is not played here
        if status == 422 and response["body"]["details"].get("causes", [{}])[0].get("field") == "patch":
            continue
        refused = answer = None
        try:
            answer = play(registry, request)
        except StatusError as error:
            refused = error
        if refused is None and answer is None:
            continue
        compared += 1
        where = f"{theme}/{step['name']}"
        if status == 422:
            assert refused is not None, where
            got = causes_of(refused.status())
            assert got == causes_of(response["body"]), where
        else:
            assert refused is None, f"{where}: {refused}"
            assert answer is not None
            if response is not None:
                compare_object(answer[0], response["body"], where)
                assert answer[1] == warnings_of(response), where
    assert compared > 5


def compare_object(got: dict[str, Any], want: dict[str, Any], where: str) -> None:
    for key in ("spec", "status"):
        assert plain(got[key]) == plain(want[key]), where
    for key in ("labels", "annotations", "finalizers", "generation"):
        assert plain(got["metadata"].get(key)) == plain(want["metadata"].get(key)), where
