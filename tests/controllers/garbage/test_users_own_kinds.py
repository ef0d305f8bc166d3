"""Kinds that users define: they come and go, and own and are owned like any other."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from controllers.garbage.garbage_scene import MAPS, NAMESPACES, Scene, owner, play
from longshore.api.resources import Resource
from longshore.api.types import Obj
from longshore.apiserver.crd.clearing import clear_definitions
from longshore.client import PartlyDiscovered
from longshore.client.local import LocalClient

DEFINITIONS = ("apiextensions.k8s.io/v1", "CustomResourceDefinition")
WIDGETS = ("example.com/v1", "Widget")
SCHEMA: Obj = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
NOBODY: Obj = {"metadata": {"name": "nobody", "uid": "00000000-0000-4000-8000-000000000000"}}


def definition(scope: str = "Namespaced", **served: bool) -> Obj:
    versions = served or {"v1": True}
    return {
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com",
            "scope": scope,
            "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [
                {"name": name, "served": on, "storage": name == max(versions), "schema": SCHEMA}
                for name, on in versions.items()
            ],
        },
    }


@pytest.mark.parametrize(("how", "left"), [("Background", []), ("Foreground", []), ("Orphan", ["child"])])
def test_a_cluster_scoped_custom_owner_and_its_dependents(how: str, left: list[str]) -> None:
    async def script(scene: Scene) -> None:
        await scene.client.create(DEFINITIONS, definition("Cluster"))
        await scene.settle()
        widget = await scene.client.create(WIDGETS, {"metadata": {"name": "w"}})
        made = {"metadata": {"name": "owned", "ownerReferences": [owner(widget, WIDGETS)]}}
        await scene.client.create(WIDGETS, made)
        await scene.config("child", owner(widget, WIDGETS))
        await scene.settle()
        await scene.delete("w", how, WIDGETS, "")
        await scene.settle(60)
        assert await scene.names() == left
        assert await scene.names(WIDGETS, "") == (["owned"] if left else [])

    play(script)


def test_dependents_of_an_unknown_kind_are_judged_when_it_is_defined() -> None:
    async def script(scene: Scene) -> None:
        await scene.config("child", owner(NOBODY, WIDGETS))
        await scene.settle(3600)
        assert await scene.names() == ["child"]
        await scene.client.create(DEFINITIONS, definition())
        await scene.settle(5)
        assert await scene.names() == []

    play(script)


def test_objects_of_a_new_kind_are_followed_at_once() -> None:
    async def script(scene: Scene) -> None:
        await scene.client.create(DEFINITIONS, definition())
        await scene.make(WIDGETS, "w", owner(NOBODY))
        await scene.settle(5)
        assert await scene.names(WIDGETS) == []

    play(script)


def test_a_deleted_definition_takes_its_objects_and_what_they_own() -> None:
    async def script(scene: Scene) -> None:
        await scene.client.create(DEFINITIONS, definition())
        widget = await scene.make(WIDGETS, "w")
        for n in range(1000):
            await scene.make(WIDGETS, f"w{n}")
        last = await scene.make(WIDGETS, "z")
        for made in (widget, last):
            await scene.config(f"child-{made['metadata']['name']}", owner(made, WIDGETS))
        clearing = asyncio.create_task(clear_definitions(scene.api))  # as in every server
        await scene.settle()
        await scene.client.delete(DEFINITIONS, "widgets.example.com")
        await scene.settle()
        clearing.cancel()
        assert await scene.names() == []

    play(script)


def test_objects_of_a_group_that_is_away_are_still_followed() -> None:
    class Partly(LocalClient):
        async def resources(self) -> list[Resource]:
            known = await super().resources()
            if "widgets" not in [row.plural for row in known] or not is_away:
                return known
            others = [row for row in known if row.group != "example.com"]
            raise PartlyDiscovered(others, ["example.com/v1"], "service unavailable")

    is_away: list[bool] = []

    async def script(scene: Scene) -> None:
        scene.client = Partly(scene.api)
        await scene.client.create(DEFINITIONS, definition())
        scene.collect()
        widget = await scene.make(WIDGETS, "w")
        await scene.config("child", owner(widget, WIDGETS))
        await scene.settle()
        is_away.append(True)
        await scene.client.patch(DEFINITIONS, "widgets.example.com", {"metadata": {"labels": {"a": "b"}}})
        await scene.settle(600)
        await scene.delete("w", "Foreground", WIDGETS)
        await scene.settle()
        assert await scene.names() == []

    play(script, collecting=False)


def test_a_kind_that_is_defined_anew_is_followed_anew() -> None:
    async def script(scene: Scene) -> None:
        for _ in range(2):
            await scene.client.create(DEFINITIONS, definition())
            await scene.settle()
            widget = await scene.make(WIDGETS, "w")
            await scene.config("child", owner(widget, WIDGETS))
            await scene.settle()
            assert await scene.names() == ["child"]
            await scene.delete("w", "Foreground", WIDGETS)
            await scene.settle()
            assert await scene.names() == []
            await scene.client.delete(DEFINITIONS, "widgets.example.com")
            await scene.settle(60)

    play(script)


def test_an_owner_is_found_in_the_version_that_is_served() -> None:
    async def script(scene: Scene) -> None:
        await scene.client.create(DEFINITIONS, definition(v1=True, v2=True))
        widget = await scene.make(WIDGETS, "w")
        newer = ("example.com/v2", "Widget")
        await scene.config("by-v1", owner(widget, WIDGETS))
        await scene.config("by-v2", owner(widget, newer))
        await scene.settle(600)
        assert await scene.names() == ["by-v1", "by-v2"]
        stop_serving: dict[str, Any] = definition(v1=False, v2=True)["spec"]
        await scene.client.patch(DEFINITIONS, "widgets.example.com", {"spec": stop_serving})
        await scene.settle(60)
        assert await scene.names() == ["by-v1", "by-v2"]
        await scene.delete("w", what=newer)
        await scene.settle(60)
        # What names a version that is not served any more cannot be judged.
        assert await scene.names() == ["by-v1"]

    play(script)


def test_custom_objects_are_let_go_by_a_merge_patch() -> None:
    async def script(scene: Scene) -> None:
        await scene.client.create(DEFINITIONS, definition())
        a, b = await scene.config("a"), await scene.config("b")
        await scene.make(WIDGETS, "w", owner(a), owner(b))
        await scene.settle()
        await scene.delete("a", "Orphan")
        await scene.settle()
        widget = await scene.get("w", WIDGETS)
        assert widget is not None
        assert [ref["name"] for ref in widget["metadata"]["ownerReferences"]] == ["b"]

    play(script)


def test_namespaces_take_part() -> None:
    async def script(scene: Scene) -> None:
        other = await scene.get("other", NAMESPACES, "")
        assert other is not None
        await scene.config("child", owner(other, NAMESPACES))
        await scene.settle()
        assert await scene.names(MAPS) == ["child"]

    play(script)
