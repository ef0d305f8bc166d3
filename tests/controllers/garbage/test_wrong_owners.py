"""References that name nobody, somebody else, or somebody in the wrong place."""

from __future__ import annotations

from controllers.garbage.garbage_scene import EVENTS, MAPS, NAMESPACES, Scene, owner, play
from longshore.api.types import Obj

NOBODY: Obj = {"metadata": {"name": "nobody", "uid": "00000000-0000-4000-8000-000000000000"}}


def test_a_dependent_of_an_absent_owner_is_deleted() -> None:
    async def script(scene: Scene) -> None:
        await scene.config("child", owner(NOBODY))
        await scene.settle()
        assert await scene.names() == []

    play(script)


def test_an_owner_of_the_same_name_and_another_uid_is_absent() -> None:
    async def script(scene: Scene) -> None:
        await scene.config("nobody")
        await scene.config("child", owner(NOBODY))
        await scene.settle()
        assert await scene.names() == ["nobody"]

    play(script)


def test_an_owner_that_is_deleted_and_made_anew_does_not_keep_old_dependents() -> None:
    async def script(scene: Scene) -> None:
        old = await scene.config("a")
        await scene.config("child", owner(old))
        await scene.delete("a")
        await scene.config("a")
        await scene.settle()
        assert await scene.names() == ["a"]

    play(script)


def test_an_owner_in_another_namespace_is_absent_and_an_event_says_so() -> None:
    async def script(scene: Scene) -> None:
        a = await scene.config("a", namespace="other")
        child = await scene.config("child", owner(a))
        await scene.settle()
        assert await scene.names() == []
        assert await scene.names(MAPS, "other") == ["a"]
        [event] = (await scene.client.list(EVENTS, "default")).items
        assert (event["type"], event["reason"]) == ("Warning", "OwnerRefInvalidNamespace")
        uid = a["metadata"]["uid"]
        assert event["message"] == (
            f"ownerRef [v1/ConfigMap, namespace: default, name: a, uid: {uid}] "
            'does not exist in namespace "default"'
        )
        assert event["involvedObject"] == {
            "kind": "ConfigMap",
            "apiVersion": "v1",
            "namespace": "default",
            "name": "child",
            "uid": child["metadata"]["uid"],
        }
        assert event["source"] == {"component": "garbage-collector-controller"}

    play(script)


def test_it_does_not_matter_who_is_seen_first() -> None:
    async def script(scene: Scene) -> None:
        a = await scene.config("a", namespace="other")
        await scene.config("child", owner(a))
        scene.collect()
        await scene.settle()
        assert await scene.names() == []
        assert len((await scene.client.list(EVENTS, "default")).items) == 1

    play(script, collecting=False)


def test_a_cluster_scoped_owner_keeps_and_takes_its_dependents() -> None:
    async def script(scene: Scene) -> None:
        team = await scene.client.create(("v1", "Node"), {"metadata": {"name": "n1"}})
        await scene.config("child", owner(team, ("v1", "Node")))
        await scene.settle()
        assert await scene.names() == ["child"]
        await scene.delete("n1", what=("v1", "Node"), namespace="")
        await scene.settle()
        assert await scene.names() == []

    play(script)


def test_a_cluster_scoped_object_with_a_namespaced_owner_is_never_deleted() -> None:
    async def script(scene: Scene) -> None:
        a = await scene.config("a")
        made = {"metadata": {"name": "odd", "ownerReferences": [owner(a), owner(NOBODY)]}}
        await scene.client.create(NAMESPACES, made)
        await scene.settle(3600)
        assert await scene.get("odd", NAMESPACES, "") is not None
        await scene.delete("a")
        await scene.settle(3600)
        assert await scene.get("odd", NAMESPACES, "") is not None

    play(script)


def test_a_reference_with_the_wrong_kind_is_judged_by_what_it_names() -> None:
    async def script(scene: Scene) -> None:
        a = await scene.config("a")
        await scene.config("wrong-kind", owner(a, ("v1", "Secret")))
        await scene.config("wrong-name", owner(a, name="b"))
        await scene.config("right", owner(a))
        await scene.settle()
        assert await scene.names() == ["a", "right"]

    play(script)


def test_an_owner_of_an_unknown_kind_keeps_its_dependents() -> None:
    async def script(scene: Scene) -> None:
        await scene.config("child", owner(NOBODY, ("example.com/v1", "Widget")))
        await scene.config("plural", owner(NOBODY, ("v1", "configmaps")))
        await scene.settle(3600)
        assert await scene.names() == ["child", "plural"]

    play(script)


def test_a_dependent_is_kept_as_long_as_one_owner_is_unknown() -> None:
    async def script(scene: Scene) -> None:
        await scene.config("child", owner(NOBODY), owner(NOBODY, ("example.com/v1", "Widget"), uid="w"))
        await scene.settle(3600)
        assert await scene.names() == ["child"]

    play(script)
