"""Several versions of one kind: one set of objects, each version with its own schema and name."""

from __future__ import annotations

import pytest

from apiserver.crd.widgets import DEFINITIONS, WIDGETS, define, definition, version, widget
from support.api_in_memory import Server

pytestmark = pytest.mark.anyio

WIDGETS_2 = WIDGETS.replace("/v1/", "/v2/")
OLD = {"type": "object", "properties": {"size": {"type": "string"}}}
NEW = {
    "type": "object",
    "properties": {"size": {"type": "string"}, "tint": {"type": "string", "default": "red"}},
}


async def test_an_object_is_served_in_every_version(server: Server) -> None:
    await define(server, definition(version(), version("v2", storage=False)))
    made = (await server.send("POST", WIDGETS, widget())).body
    seen = (await server.send("GET", f"{WIDGETS_2}/w")).body
    assert seen["apiVersion"] == "example.com/v2"
    assert (seen["metadata"]["uid"], seen["spec"]) == (made["metadata"]["uid"], made["spec"])
    groups = (await server.send("GET", "/apis/example.com")).body
    assert [v["version"] for v in groups["versions"]] == ["v2", "v1"]


async def test_each_version_shows_the_fields_of_its_own_schema(server: Server) -> None:
    await define(server, definition(version(spec=OLD), version("v2", spec=NEW, storage=False)))
    await server.send("POST", WIDGETS_2, widget(version="v2", tint="blue"))
    assert (await server.send("GET", f"{WIDGETS}/w")).body["spec"] == {"size": "small"}
    assert (await server.send("GET", WIDGETS_2)).body["items"][0]["spec"] == {"size": "small", "tint": "blue"}
    await server.send("POST", WIDGETS, widget("plain"))
    assert (await server.send("GET", f"{WIDGETS_2}/plain")).body["spec"] == {"size": "small", "tint": "red"}


async def test_a_new_default_shows_in_old_objects(server: Server) -> None:
    await define(server, definition(version(spec=OLD)))
    await server.send("POST", WIDGETS, widget())
    patch = {"spec": {"versions": [version(spec=NEW)]}}
    crds = ("apiextensions.k8s.io/v1", "CustomResourceDefinition")
    await server.client.patch(crds, "widgets.example.com", patch)
    assert (await server.send("GET", f"{WIDGETS}/w")).body["spec"] == {"size": "small", "tint": "red"}


async def test_managers_of_both_versions_are_kept(server: Server) -> None:
    await define(server, definition(version(), version("v2", storage=False)))
    await server.send("POST", WIDGETS, widget(), fieldManager="one")
    merge = "application/merge-patch+json"
    patch = {"spec": {"label": "abc"}}
    seen = await server.send("PATCH", f"{WIDGETS_2}/w", patch, type=merge, fieldManager="two")
    managers = {(m["manager"], m["apiVersion"]) for m in seen.body["metadata"]["managedFields"]}
    assert managers == {("one", "example.com/v1"), ("two", "example.com/v2")}


async def test_a_version_that_is_not_served_is_not_there(server: Server) -> None:
    await define(server, definition(version(), version("v2", storage=False, served=False)))
    answer = await server.send("GET", WIDGETS_2)
    assert answer.code == 404


async def test_a_deprecated_version_says_so_with_every_answer(server: Server) -> None:
    old = version(deprecated=True)
    older = version("v0", storage=False, deprecated=True, deprecationWarning="use v1")
    await define(server, definition(old, older))
    assert (await server.send("GET", WIDGETS)).warning == '299 - "example.com/v1 Widget is deprecated"'
    assert (await server.send("GET", WIDGETS.replace("/v1/", "/v0/"))).warning == '299 - "use v1"'


async def test_fields_that_a_definition_opens_can_be_selected(server: Server) -> None:
    await define(server, definition(version(selectableFields=[{"jsonPath": ".spec.size"}])))
    await server.send("POST", WIDGETS, widget("a"))
    await server.send("POST", WIDGETS, widget("b", size="large"))
    found = (await server.send("GET", WIDGETS, fieldSelector="spec.size=large")).body["items"]
    assert [i["metadata"]["name"] for i in found] == ["b"]
    refused = await server.send("GET", WIDGETS, fieldSelector="spec.label=x")
    assert refused.code == 400


async def test_lists_have_the_kind_the_definition_names(server: Server) -> None:
    names = {"plural": "widgets", "kind": "Widget", "listKind": "Widgetry"}
    await define(server, definition(names=names))
    assert (await server.send("GET", WIDGETS)).body["kind"] == "Widgetry"


async def test_a_cluster_scoped_kind_has_no_namespace(server: Server) -> None:
    await define(server, definition(scope="Cluster"))
    made = await server.send("POST", "/apis/example.com/v1/widgets", widget())
    assert made.code == 201
    assert "namespace" not in made.body["metadata"]
    assert (await server.send("GET", WIDGETS)).code == 404
    assert (await server.send("GET", f"{DEFINITIONS}/widgets.example.com")).code == 200
