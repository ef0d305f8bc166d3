"""/scale of a user's own kind."""

from __future__ import annotations

from typing import Any

import pytest

from apiserver.crd.widgets import WIDGETS, define, definition, version, widget
from support.api_in_memory import Server

pytestmark = pytest.mark.anyio

SCALE = f"{WIDGETS}/w/scale"
MERGE = "application/merge-patch+json"


@pytest.fixture(autouse=True)
async def _defined(server: Server) -> None:
    paths = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
    await define(server, definition(version(subresources={"status": {}, "scale": paths})))
    await server.send("POST", WIDGETS, widget(replicas=3))


async def test_it_shows_the_numbers_the_definition_points_at(server: Server) -> None:
    await server.send("PATCH", f"{WIDGETS}/w/status", {"status": {"replicas": 1}}, type=MERGE)
    scale = (await server.send("GET", SCALE)).body
    assert (scale["kind"], scale["apiVersion"]) == ("Scale", "autoscaling/v1")
    assert (scale["spec"], scale["status"]) == ({"replicas": 3}, {"replicas": 1})
    assert scale["metadata"]["name"] == "w"


@pytest.mark.parametrize(
    ("method", "body", "more"),
    [
        ("PATCH", {"spec": {"replicas": 5}}, {"type": MERGE}),
        ("PUT", {"metadata": {"name": "w"}, "spec": {"replicas": 5}}, {}),
    ],
)
async def test_writing_it_changes_the_object(
    server: Server, method: str, body: Any, more: dict[str, str]
) -> None:
    answer = await server.send(method, SCALE, body, **more)
    assert answer.body["spec"] == {"replicas": 5}
    stored = (await server.send("GET", f"{WIDGETS}/w")).body
    assert stored["spec"]["replicas"] == 5
    assert stored["metadata"]["generation"] == 2


async def test_it_keeps_to_the_schema_and_to_versions(server: Server) -> None:
    negative = await server.send("PATCH", SCALE, {"spec": {"replicas": -1}}, type=MERGE)
    assert negative.message == (
        'Scale.autoscaling "w" is invalid: spec.replicas: Invalid value: -1: '
        "must be greater than or equal to 0"
    )
    none = await server.send("PATCH", SCALE, {"spec": {"replicas": 0}}, type=MERGE)
    assert "spec.replicas in body should be greater than or equal to 1" in none.message
    stale = {"metadata": {"name": "w", "resourceVersion": "1"}, "spec": {"replicas": 5}}
    assert (await server.send("PUT", SCALE, stale)).code == 409
    assert (await server.send("GET", SCALE.replace("/w/", "/x/"))).code == 404


async def test_discovery_names_its_kind(server: Server) -> None:
    found = (await server.send("GET", "/apis/example.com/v1")).body["resources"]
    scale = next(r for r in found if r["name"] == "widgets/scale")
    assert (scale["group"], scale["version"], scale["kind"]) == ("autoscaling", "v1", "Scale")
    document = (await server.send("GET", "/openapi/v3/apis/example.com/v1")).body
    assert any(path.endswith("/scale") for path in document["paths"])
