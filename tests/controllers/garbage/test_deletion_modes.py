"""Background, foreground and orphan deletion, against a real API on the virtual clock."""

from __future__ import annotations

import pytest

from controllers.garbage.garbage_scene import JOBS, MAPS, POD_SPEC, PODS, Scene, owner, play
from longshore.client import DeleteOptions


def refs_of(obj: object) -> list[str]:
    assert isinstance(obj, dict)
    return [ref["name"] for ref in obj["metadata"].get("ownerReferences") or ()]


def test_background_deletion_takes_the_whole_chain() -> None:
    async def script(scene: Scene) -> None:
        a = await scene.config("a")
        b = await scene.config("b", owner(a))
        await scene.config("c", owner(b))
        await scene.config("bystander")
        await scene.delete("a", "Background")
        await scene.settle()
        assert await scene.names() == ["bystander"]

    play(script)


def test_an_owner_that_is_only_being_deleted_in_the_background_keeps_its_dependents() -> None:
    async def script(scene: Scene) -> None:
        a = await scene.config("a", finalizers=["example.com/hold"])
        await scene.config("b", owner(a))
        await scene.delete("a", "Background")
        await scene.settle()
        assert await scene.names() == ["a", "b"]
        await scene.client.patch(MAPS, "a", {"metadata": {"finalizers": None}}, "default")
        await scene.settle()
        assert await scene.names() == []

    play(script)


def test_foreground_deletion_takes_dependents_strictly_before_the_owner() -> None:
    async def script(scene: Scene) -> None:
        a = await scene.config("a")
        b = await scene.config("b", owner(a))
        await scene.config("c", owner(b))
        order = []
        async with scene.client.watch(
            MAPS, "default", resource_version=a["metadata"]["resourceVersion"]
        ) as events:
            await scene.delete("a", "Foreground")
            async for event in events:
                if event.type == "DELETED":
                    order.append(event.object["metadata"]["name"])
                    if len(order) == 3:
                        break
        assert order == ["c", "b", "a"]

    play(script)


def test_foreground_deletion_waits_for_a_dependent_that_is_held() -> None:
    async def script(scene: Scene) -> None:
        a = await scene.config("a")
        await scene.config("b", owner(a), finalizers=["example.com/hold"])
        await scene.delete("a", "Foreground")
        await scene.settle(600)
        assert await scene.names() == ["a", "b"]
        held = await scene.get("b")
        assert held is not None
        assert "deletionTimestamp" in held["metadata"]
        await scene.client.patch(MAPS, "b", {"metadata": {"finalizers": None}}, "default")
        await scene.settle()
        assert await scene.names() == []

    play(script)


@pytest.mark.parametrize("blocks", [False, None])
def test_dependents_that_do_not_block_are_deleted_and_do_not_hold_the_owner_back(blocks: bool | None) -> None:
    async def script(scene: Scene) -> None:
        a = await scene.config("a")
        await scene.config("b", owner(a, blocks=blocks), finalizers=["example.com/hold"])
        await scene.delete("a", "Foreground")
        await scene.settle()
        assert await scene.names() == ["b"]
        held = await scene.get("b")
        assert held is not None
        assert "deletionTimestamp" in held["metadata"]

    play(script)


def test_a_foreign_finalizer_keeps_the_owner_after_its_dependents() -> None:
    async def script(scene: Scene) -> None:
        a = await scene.config("a", finalizers=["example.com/hold"])
        await scene.config("b", owner(a))
        await scene.delete("a", "Foreground")
        await scene.settle()
        kept = await scene.get("a")
        assert kept is not None
        assert kept["metadata"]["finalizers"] == ["example.com/hold"]
        assert await scene.get("b") is None

    play(script)


def test_orphan_deletion_lets_dependents_live_without_the_reference() -> None:
    async def script(scene: Scene) -> None:
        a = await scene.config("a")
        other = await scene.config("other")
        await scene.config("b", owner(a), owner(other), labels={"keep": "me"})
        await scene.delete("a", "Orphan")
        await scene.settle()
        assert await scene.names() == ["b", "other"]
        b = await scene.get("b")
        assert b is not None
        assert refs_of(b) == ["other"]
        assert b["metadata"]["labels"] == {"keep": "me"}

    play(script)


def test_dependents_that_come_while_their_owner_is_orphaning_are_let_go_too() -> None:
    async def script(scene: Scene) -> None:
        a = await scene.config("a", finalizers=["example.com/hold"])
        await scene.config("b", owner(a))
        await scene.delete("a", "Orphan")
        await scene.config("c", owner(a))
        await scene.settle()
        await scene.client.patch(MAPS, "a", {"metadata": {"finalizers": None}}, "default")
        await scene.settle()
        assert await scene.names() == ["b", "c"]
        assert refs_of(await scene.get("c")) == []

    play(script)


def test_a_job_deleted_without_options_leaves_its_pods() -> None:
    async def script(scene: Scene) -> None:
        job = await scene.make(
            JOBS,
            "job",
            body={"spec": {"template": {"spec": {**POD_SPEC, "restartPolicy": "Never"}}}},
        )
        await scene.make(PODS, "pod", owner(job, JOBS, controller=True), body={"spec": POD_SPEC})
        await scene.client.delete(JOBS, "job", "default", DeleteOptions())
        await scene.settle()
        assert await scene.names(JOBS) == []
        assert refs_of(await scene.get("pod", PODS)) == []

    play(script)


def test_a_dependent_with_another_owner_loses_only_the_reference() -> None:
    async def script(scene: Scene) -> None:
        for how in ("Background", "Foreground"):
            a, b = await scene.config("a"), await scene.config("b")
            await scene.config("child", owner(a), owner(b))
            await scene.delete("a", how)
            await scene.settle()
            assert await scene.names() == ["b", "child"]
            child = await scene.get("child")
            assert child is not None
            assert refs_of(child) == ["b"]
            assert "deletionTimestamp" not in child["metadata"]
            for name in ("b", "child"):
                await scene.delete(name)

    play(script)


def test_graceful_pods_hold_a_foreground_deletion_until_the_node_is_done() -> None:
    async def script(scene: Scene) -> None:
        a = await scene.config("a")
        await scene.make(PODS, "pod", owner(a), body={"spec": {**POD_SPEC, "nodeName": "n1"}})
        await scene.delete("a", "Foreground")
        await scene.settle(300)
        pod = await scene.get("pod", PODS)
        assert pod is not None
        assert pod["metadata"]["deletionGracePeriodSeconds"] == 30
        assert await scene.names() == ["a"]
        await scene.client.delete(PODS, "pod", "default", DeleteOptions(grace_period_seconds=0))
        await scene.settle()
        assert await scene.names() == []

    play(script)


def test_a_deletion_may_turn_from_background_to_foreground() -> None:
    async def script(scene: Scene) -> None:
        a = await scene.config("a", finalizers=["example.com/hold"])
        await scene.config("b", owner(a))
        await scene.delete("a", "Background")
        await scene.settle()
        await scene.delete("a", "Foreground")
        await scene.settle()
        assert await scene.names() == ["a"]

    play(script)


def test_what_was_deleted_while_nobody_collected_is_found_at_the_start() -> None:
    async def script(scene: Scene) -> None:
        for how in ("Background", "Foreground", "Orphan"):
            a = await scene.config(f"{how}-a".lower())
            await scene.config(f"{how}-b".lower(), owner(a))
            await scene.delete(f"{how}-a".lower(), how)
        scene.collect()
        await scene.settle()
        assert await scene.names() == ["orphan-b"]

    play(script, collecting=False)
