"""The refusals of the conformance scenarios, cause by cause, without a server."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
import yaml

from api.job.batch_registry import BatchRegistry
from longshore.api import codec
from longshore.api.errors import StatusError
from support.places import RECORDED

KIT = RECORDED / "conformance"
SCENARIOS = (
    "cron-reject",
    "reject-immutable",
    "reject-indexed",
    "reject-numbers",
    "reject-pod-failure-policy",
    "reject-success-policy",
    "reject-template-and-selector",
)
META = ("name", "generateName", "labels", "annotations", "finalizers", "ownerReferences")
UID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|\{uuid\}|\{uid \w+\}")


def template(short: dict[str, Any]) -> dict[str, Any]:
    if "template" in short:
        return dict(short["template"])
    spec = {"restartPolicy": short.get("restartPolicy", "Never"), **short.get("podSpec", {})}
    for key, given in (("containers", ["main"]), ("initContainers", [])):
        listed = [{"name": c} if isinstance(c, str) else c for c in short.get(key, given)]
        spec[key] = [{"image": "registry.invalid/none:1", **c} for c in listed]
    return {"metadata": {"labels": short.get("podLabels")}, "spec": spec}


def manifest(kind: str, short: dict[str, Any]) -> dict[str, Any]:
    meta = {key: short[key] for key in META if key in short}
    if kind == "job":
        return {"metadata": meta, "spec": {"template": template(short), **(short.get("spec") or {})}}
    inner = manifest("job", short.get("job") or {})
    spec = {"schedule": short["schedule"], "timeZone": "Etc/UTC", "jobTemplate": inner}
    return {"metadata": meta, "spec": {**spec, **(short.get("spec") or {})}}


def outcome(registry: BatchRegistry, request: dict[str, Any]) -> list[str] | str | None:
    """The causes of a refusal, `unreadable`, an empty list when it went well, or None if not played here."""
    try:
        return [] if write(registry, request) else None
    except StatusError as error:
        listed = (error.details or {})["causes"]
        texts = [f"{c['field']} | {c['reason']} | {folded(c['message'])}" for c in listed]
        return sorted(UID.sub("<uid>", text) for text in texts)
    except codec.DecodeError:
        return "unreadable"


def write(registry: BatchRegistry, request: dict[str, Any]) -> bool:
    for kind in ("job", "cronjob"):
        if kind in request:
            registry.create(kind + "s", manifest(kind, request[kind]))
            return True
    patch = request.get("patch")
    if not patch or patch.get("type") == "json":
        return False
    if patch.get("type") == "strategic":
        registry.strategic("jobs", patch["job"], patch["body"])
    else:
        registry.merge("jobs", patch["job"], patch["body"])
    return True


def folded(text: str) -> str:
    start = text.find("Invalid value: {") + len("Invalid value: ")
    if text[start : start + 1] == "{":
        _, end = json.JSONDecoder().raw_decode(text, start)
        if re.search(r'"[A-Z]\w*":', text[start:end]):
            return text[:start] + "<object>" + text[end:]
    return text


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_scenario_is_refused_as_recorded(scenario: str) -> None:
    steps = yaml.safe_load((KIT / "scenarios" / f"{scenario}.yaml").read_text())["steps"]
    recorded = json.loads((KIT / "expected" / f"{scenario}.json").read_text())["records"]
    expected = {r["name"]: r for r in recorded if r["kind"] == "request"}
    registry, refusals = BatchRegistry(), 0
    for step in steps:
        request = step.get("reject") or step.get("attempt") or step
        got, want = outcome(registry, request), expected.get(request.get("name", ""))
        if got is None or want is None:
            assert not got, request
        elif want["code"] == 400:
            assert got == "unreadable", request
        else:
            assert got == sorted(UID.sub("<uid>", c) for c in want.get("causes") or ()), request
            refusals += bool(got)
    assert refusals > 5
