"""The rows Kubernetes printed for the recorded objects, cell by cell."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from longshore.api.kinds import table as kinds
from longshore.api.resources import Resource
from longshore.api.time import ages
from longshore.apiserver import tables
from support.places import RECORDED

VECTORS = RECORDED / "vectors/api/table.json"
NOW = datetime(2025, 6, 1, 12, 0, 30, tzinfo=UTC)
CREATED = "2025-06-01T12:00:00Z"
AGE_COLUMNS = ("Age", "Last Schedule", "Last Seen", "First Seen")


def merge(target: dict[str, Any], patch: dict[str, Any]) -> None:
    for key, value in patch.items():
        if isinstance(value, dict):
            merge(target.setdefault(key, {}), value)
        else:
            target[key] = value


def stored(setup: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """The objects these requests leave behind, with the few defaults that cells show."""
    objs: dict[str, dict[str, Any]] = {}
    for request in setup:
        if request["method"] == "POST":
            obj = json.loads(json.dumps(request["body"]))
            obj["metadata"]["creationTimestamp"] = CREATED
            fill(obj, request["path"])
            objs[obj["metadata"]["name"]] = obj
            continue
        name = request["path"].removesuffix("/status").rpartition("/")[2]
        if request["method"] == "DELETE":
            objs[name]["metadata"]["deletionTimestamp"] = CREATED
        else:
            merge(objs[name], request["body"])
    return objs


def fill(obj: dict[str, Any], path: str) -> None:
    spec = obj.setdefault("spec", {})
    if path.endswith("/jobs"):
        if "parallelism" not in spec:
            spec.setdefault("completions", 1)
        if not spec.get("manualSelector"):
            spec["selector"] = {"matchLabels": {"batch.kubernetes.io/controller-uid": "<uid>"}}
    elif path.endswith("/cronjobs"):
        spec.setdefault("suspend", False)
    elif path.endswith("/pods"):
        obj["status"] = {"phase": "Pending"}


def resource_of(path: str) -> Resource:
    parts = path.strip("/").split("/")
    group, version = ("", parts[1]) if parts[0] == "api" else (parts[1], parts[2])
    found = kinds.find(group, version, parts[-1])
    assert found is not None
    return found


def loosened(cells: list[Any], columns: list[dict[str, Any]]) -> list[Any]:
    out = []
    for cell, column in zip(cells, columns, strict=True):
        known = cell in (ages.UNKNOWN, "<none>")
        out.append("<age>" if column["name"] in AGE_COLUMNS and not known else cell)
    return out


def bare(columns: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{k: v for k, v in c.items() if k != "description"} for c in columns]


@pytest.mark.parametrize("name", ["jobs", "cronjobs", "pods", "events", "nodes", "configmaps"])
def test_the_rows_of_recorded_objects_are_the_recorded_ones(name: str) -> None:
    exchange = next(e for e in json.loads(VECTORS.read_text()) if e["name"] == name)
    resource, want = resource_of(exchange["request"]["path"]), exchange["response"]["body"]
    objs = stored(exchange["setup"])
    got = tables.table(resource, [objs[n] for n in sorted(objs)], {}, "None", NOW)
    assert bare(got["columnDefinitions"]) == want["columnDefinitions"]
    assert len(got["rows"]) == len(want["rows"])
    for mine, theirs in zip(got["rows"], want["rows"], strict=True):
        cells = loosened(mine["cells"], got["columnDefinitions"])
        assert [c for c, t in zip(cells, theirs["cells"], strict=True) if t != "<any>"] == [
            t for t in theirs["cells"] if t != "<any>"
        ]
        assert mine.get("conditions") == theirs.get("conditions")


def test_events_of_the_newer_group_have_the_same_columns() -> None:
    exchanges = {e["name"]: e for e in json.loads(VECTORS.read_text())}
    want = exchanges["events-new-group"]["response"]["body"]["columnDefinitions"]
    resource = resource_of("/apis/events.k8s.io/v1/events")
    assert bare(tables.columns(resource)) == want
