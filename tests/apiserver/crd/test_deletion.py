"""A definition goes when all its objects are gone, and takes them with it."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path

import pytest

from apiserver.crd.widgets import DEFINITIONS, WIDGETS, define, definition, version, widget
from longshore.apiserver.api import Api, ApiParts
from longshore.apiserver.crd.clearing import clear_definitions
from longshore.client.local import LocalClient
from longshore.machinery.time.clock import RealClock
from longshore.store import Store
from support.api_in_memory import Server

pytestmark = pytest.mark.anyio

PATH = f"{DEFINITIONS}/widgets.example.com"
MERGE = "application/merge-patch+json"


async def test_deleting_a_definition_deletes_its_objects_and_its_paths(server: Server) -> None:
    await define(server, definition())
    await server.send("POST", WIDGETS, widget())
    answer = await server.send("DELETE", PATH)
    assert answer.code == 200
    assert answer.body["kind"] == "CustomResourceDefinition"
    assert answer.body["metadata"]["finalizers"] == ["customresourcecleanup.apiextensions.k8s.io"]
    assert (await server.send("GET", PATH)).code == 404
    assert (await server.send("GET", WIDGETS)).body == b"404 page not found\n"
    await define(server, definition())
    assert (await server.send("GET", WIDGETS)).body["items"] == []


async def test_watchers_see_the_objects_go_before_the_definition(server: Server) -> None:
    await define(server, definition())
    made = (await server.send("POST", WIDGETS, widget())).body
    since = made["metadata"]["resourceVersion"]
    crds = ("apiextensions.k8s.io/v1", "CustomResourceDefinition")
    widgets = ("example.com/v1", "Widget")
    async with server.client.watch(widgets, "default", resource_version=since, timeout=60) as events:
        first = asyncio.ensure_future(anext(aiter(events)))
        await asyncio.sleep(0)
        await server.send("DELETE", PATH)
        gone = await first
    async with server.client.watch(crds, resource_version=since, timeout=60) as events:
        changes = [await anext(aiter(events)) for _ in range(2)]
    assert (gone.type, gone.object["metadata"]["name"]) == ("DELETED", "w")
    assert [c.type for c in changes] == ["MODIFIED", "DELETED"]
    versions = [int(c.object["metadata"]["resourceVersion"]) for c in changes]
    assert versions[0] < int(gone.object["metadata"]["resourceVersion"]) < versions[1]


async def test_an_object_with_a_finalizer_holds_its_definition(server: Server) -> None:
    await define(server, definition())
    held = widget()
    held["metadata"]["finalizers"] = ["example.com/hold"]
    await server.send("POST", WIDGETS, held)
    await server.send("POST", WIDGETS, widget("free"))
    await server.send("DELETE", PATH)
    crd = (await server.send("GET", PATH)).body
    assert crd["status"]["conditions"][-1]["type"] == "Terminating"
    assert crd["status"]["conditions"][-1]["reason"] == "InstanceDeletionInProgress"
    left = (await server.send("GET", WIDGETS)).body["items"]
    assert [i["metadata"]["name"] for i in left] == ["w"]
    refused = await server.send("POST", WIDGETS, widget("late"))
    assert (refused.code, refused.message) == (
        405,
        "create not allowed while custom resource definition is terminating",
    )
    await server.send("PATCH", f"{WIDGETS}/w", {"metadata": {"finalizers": None}}, type=MERGE)
    assert (await server.send("GET", PATH)).code == 404
    assert (await server.send("GET", WIDGETS)).code == 404


async def test_another_finalizer_keeps_the_definition_but_not_its_objects(server: Server) -> None:
    crd = definition()
    crd["metadata"]["finalizers"] = ["example.com/hold"]
    await define(server, crd)
    await server.send("POST", WIDGETS, widget())
    await server.send("DELETE", PATH)
    seen = (await server.send("GET", PATH)).body
    assert seen["metadata"]["finalizers"] == ["example.com/hold"]
    assert (await server.send("GET", WIDGETS)).body["items"] == []
    await server.send("PATCH", PATH, {"metadata": {"finalizers": None}}, type=MERGE)
    assert (await server.send("GET", PATH)).code == 404


async def test_objects_that_a_stopped_server_left_go_after_its_start(server: Server) -> None:
    await define(server, definition())
    for number in range(300):
        await server.send("POST", WIDGETS, widget(f"w{number}"))
    held = widget("held")
    held["metadata"]["finalizers"] = ["example.com/hold"]
    await server.send("POST", WIDGETS, held)
    await server.send("DELETE", PATH)  # nobody clears here, as if the server stopped now
    assert len((await server.send("GET", WIDGETS)).body["items"]) > 1
    clearing = asyncio.ensure_future(clear_definitions(server.api))
    async with asyncio.timeout(60):
        while len((await server.send("GET", WIDGETS)).body["items"]) > 1:  # noqa: ASYNC110 - seen from outside
            await asyncio.sleep(0)
    assert (await server.send("GET", PATH)).body["status"]["conditions"][-1]["type"] == "Terminating"
    await server.send("PATCH", f"{WIDGETS}/held", {"metadata": {"finalizers": None}}, type=MERGE)
    assert (await server.send("GET", PATH)).code == 404
    clearing.cancel()
    await asyncio.gather(clearing, return_exceptions=True)


async def test_a_dry_run_deletes_nothing(server: Server) -> None:
    await define(server, definition())
    await server.send("POST", WIDGETS, widget())
    await server.send("DELETE", PATH, dryRun="All")
    assert (await server.send("GET", f"{WIDGETS}/w")).code == 200


async def test_all_definitions_can_be_deleted_at_once(server: Server) -> None:
    await define(server, definition())
    await define(server, definition(kind="Gadget"))
    await server.send("DELETE", DEFINITIONS)
    assert (await server.send("GET", DEFINITIONS)).body["items"] == []
    assert (await server.send("GET", "/apis/example.com")).code == 404


async def test_definitions_are_served_again_after_a_restart(tmp_path: Path) -> None:
    store = Store.open(tmp_path)
    client = LocalClient(Api(ApiParts(store, RealClock(), random.Random())))
    await client.create(("v1", "Namespace"), {"metadata": {"name": "default"}})
    crds = ("apiextensions.k8s.io/v1", "CustomResourceDefinition")
    await client.create(crds, definition(version()))
    await client.create(("example.com/v1", "Widget"), widget(), "default")
    await store.close()
    store = Store.open(tmp_path)
    again = LocalClient(Api(ApiParts(store, RealClock(), random.Random())))
    assert (await again.get(("example.com/v1", "Widget"), "w", "default"))["spec"]["replicas"] == 2
    await store.close()
