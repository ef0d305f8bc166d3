"""Objects that change between the look at them and the write, and servers that refuse or fail."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, cast

import pytest

from controllers.garbage.garbage_scene import MAPS, Scene, owner, play
from longshore.api import errors
from longshore.api.kinds import table
from longshore.api.types import Obj
from longshore.apiserver.api import Api
from longshore.client import Client, DeleteOptions, Unreachable
from longshore.client.local import LocalClient
from longshore.controllers.garbage.act import GarbageActor
from longshore.controllers.garbage.decide import Action, GarbagePlan, GarbageView, Owner, decide
from longshore.controllers.garbage.graph import Graph, Node
from longshore.controllers.garbage.references import READS, Identity, Reference
from longshore.testing.crashing import OneByOne

QUEUES = ("scheduling.volcano.sh/v1beta1", "PodGroup")


class Deaf:
    """A listener that acts on nothing."""

    def look(self, uid: str) -> None: ...

    def look_all(self, owner: str, dependents: list[str]) -> None: ...

    def absent(self, identity: Identity) -> None: ...

    def misplaced(self, node: Node, ref: Reference) -> None: ...


class Asked(OneByOne):
    """A client that keeps the options of every delete."""

    def __init__(self, client: Client) -> None:
        super().__init__(client)
        self.deletes: list[DeleteOptions] = []

    async def delete(self, what: Any, name: str, namespace: str, options: DeleteOptions) -> Any:
        self.deletes.append(options)
        return await self._client.delete(what, name, namespace, options)


async def judged(
    scene: Scene, made: Obj
) -> tuple[Asked, GarbageActor, Graph, Node, GarbageView, GarbagePlan]:
    """The plan to delete `made`, as of now; whatever happens next, the plan does not know."""
    client, graph, row = Asked(scene.client), Graph(Deaf()), table.by_kind("v1", "ConfigMap")
    assert row is not None
    graph.put(row, READS.of(made)["metadata"])
    node = graph.nodes[made["metadata"]["uid"]]
    view = GarbageView(node.meta, node.refs, tuple(Owner.DANGLING for _ in node.refs))
    plan = decide(view)
    assert plan.action is Action.DELETE
    return client, GarbageActor(cast("Client", client), graph), graph, node, view, plan


def test_what_is_deleted_is_the_version_that_was_judged() -> None:
    async def script(scene: Scene) -> None:
        a = await scene.config("a")
        child = await scene.config("child", owner(a))
        client, actor, _, node, view, plan = await judged(scene, child)
        await actor.act(node, view, plan)
        meta = child["metadata"]
        assert client.deletes == [
            DeleteOptions("Background", uid=meta["uid"], resource_version=meta["resourceVersion"])
        ]
        assert await scene.names() == ["a"]

    play(script, collecting=False)


def test_a_change_that_leaves_the_owners_alone_is_deleted_by_uid() -> None:
    async def script(scene: Scene) -> None:
        child = await scene.config("child", owner(await scene.config("a")))
        client, actor, _, node, view, plan = await judged(scene, child)
        await scene.client.patch(MAPS, "child", {"data": {"changed": "yes"}}, "default")
        await actor.act(node, view, plan)
        assert client.deletes[1:] == [DeleteOptions("Background", uid=node.uid)]
        assert await scene.names() == ["a"]

    play(script, collecting=False)


def test_a_change_of_owners_is_judged_again() -> None:
    async def script(scene: Scene) -> None:
        child = await scene.config("child", owner(await scene.config("a")))
        other = await scene.config("other")
        _, actor, _, node, view, plan = await judged(scene, child)
        refs = {"metadata": {"ownerReferences": [owner(other)]}}
        await scene.client.patch(MAPS, "child", refs, "default")
        with pytest.raises(errors.StatusError, match="Operation cannot be fulfilled"):
            await actor.act(node, view, plan)
        assert await scene.get("child") is not None

    play(script, collecting=False)


def test_a_deletion_that_somebody_began_meanwhile_keeps_its_way() -> None:
    async def script(scene: Scene) -> None:
        child = await scene.config("child", owner(await scene.config("a")))
        _, actor, _, node, view, plan = await judged(scene, child)
        await scene.delete("child", "Foreground")
        await actor.act(node, view, plan)
        left = await scene.get("child")
        assert left is not None
        assert left["metadata"]["finalizers"] == ["foregroundDeletion"]

    play(script, collecting=False)


def test_one_that_is_gone_or_replaced_leaves_the_graph() -> None:
    async def script(scene: Scene) -> None:
        for replaced in (False, True):
            a = await scene.config("a")
            child = await scene.config("child", owner(a))
            _, actor, graph, node, view, plan = await judged(scene, child)
            await scene.delete("child")
            if replaced:
                await scene.config("child")
            await actor.act(node, view, plan)
            assert node.uid not in graph.nodes
            assert (await scene.get("child") is not None) == replaced
            await scene.delete("a")

    play(script, collecting=False)


def test_kinds_without_strategic_patches_are_let_go_too() -> None:
    async def script(scene: Scene) -> None:
        a, b = await scene.config("a"), await scene.config("b")
        await scene.make(QUEUES, "group", owner(a), owner(b))
        await scene.delete("a", "Orphan")
        await scene.settle()
        group = await scene.get("group", QUEUES)
        assert group is not None
        assert [ref["name"] for ref in group["metadata"]["ownerReferences"]] == ["b"]
        await scene.delete("b", "Foreground")
        await scene.settle()
        assert await scene.names(QUEUES) == []

    play(script)


def test_rings_of_such_kinds_are_opened() -> None:
    async def script(scene: Scene) -> None:
        one = await scene.make(QUEUES, "one")
        two = await scene.make(QUEUES, "two", owner(one, QUEUES))
        refs = {"metadata": {"ownerReferences": [owner(two, QUEUES)]}}
        await scene.client.patch(QUEUES, "one", refs, "default")
        await scene.delete("one", "Foreground", QUEUES)
        await scene.settle()
        assert await scene.names(QUEUES) == []

    play(script)


class Flaky(LocalClient):
    """Fails every other write, in turn by an error of the server and by silence."""

    def __init__(self, api: Api) -> None:
        super().__init__(api)
        self._count = 0

    async def _failing(self, write: Callable[..., Coroutine[Any, Any, Any]], *args: Any, **how: Any) -> Any:
        self._count += 1
        if self._count % 4 == 1:
            raise errors.internal("etcdserver: request timed out")
        answer = await write(*args, **how)
        if self._count % 4 == 3:
            raise Unreachable("the connection broke off")
        return answer

    async def delete(self, *args: Any, **how: Any) -> Any:
        return await self._failing(super().delete, *args, **how)

    async def patch(self, *args: Any, **how: Any) -> Any:
        return await self._failing(super().patch, *args, **how)


def test_failures_are_tried_again() -> None:
    async def script(scene: Scene) -> None:
        user, scene.client = scene.client, Flaky(scene.api)
        scene.collect()
        scene.client = user
        for how in ("Background", "Foreground", "Orphan"):
            a = await scene.config(f"{how}-a".lower())
            for n in range(5):
                await scene.config(f"{how}-{n}".lower(), owner(a))
            await scene.delete(f"{how}-a".lower(), how)
        await scene.settle(120)
        assert await scene.names() == [f"orphan-{n}" for n in range(5)]
        for obj in (await scene.client.list(MAPS, "default")).items:
            assert "ownerReferences" not in obj["metadata"]

    play(script, collecting=False)


def test_a_collector_that_is_stopped_in_the_middle_goes_on_where_it_was() -> None:
    async def script(scene: Scene) -> None:
        a = await scene.config("a")
        for n in range(200):
            await scene.config(f"child-{n:03}", owner(a))
        await scene.delete("a", "Foreground")
        scene.collect()
        async with asyncio.timeout(60):
            while len(await scene.names()) > 150:  # noqa: ASYNC110 - there is no event for half way
                await asyncio.sleep(0)
        await scene.stop()
        assert 1 < len(await scene.names()) <= 150
        scene.collect()
        await scene.settle()
        assert await scene.names() == []

    play(script, collecting=False)
