"""Pod garbage collection at work on an API in memory and the virtual clock."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from longshore.api.types import Obj
from longshore.apiserver.api import Api
from longshore.client import DeleteOptions, Unreachable, What
from longshore.client.local import LocalClient
from longshore.controllers import podgc
from longshore.controllers.podgc.controller import act
from longshore.controllers.podgc.decide import Cause, Removal
from longshore.machinery.time.virtual import VirtualClock
from support import world
from support.world import World

T = TypeVar("T")
PODS, NODES = ("v1", "Pod"), ("v1", "Node")
HOLD = ["example.com/hold"]


class Late(LocalClient):
    """Has nodes that only a direct question finds, and now and then no answer at all."""

    hidden = False
    away = False

    async def get(self, what: What, name: str, namespace: str = "", **how: Any) -> Obj:
        if what == NODES and self.away:
            raise Unreachable("the connection broke off")
        if what == NODES and self.hidden:
            return {"metadata": {"name": name}}
        return await super().get(what, name, namespace, **how)


class Scene(World):
    namespace = "default"

    def __init__(self, api: Api, clock: VirtualClock) -> None:
        super().__init__(api, clock)
        self.client: Late = Late(api)

    async def pod(self, name: str, *, node: str = "", phase: str = "", **meta: Any) -> Obj:
        spec: Obj = {"containers": [{"name": "c", "image": "i"}]}
        if node:
            spec["nodeName"] = node
        made = await self.client.create(PODS, {"metadata": {"name": name, **meta}, "spec": spec}, "default")
        if phase:
            await self.client.patch(PODS, name, {"status": {"phase": phase}}, "default", subresource="status")
        return made

    async def node(self, name: str, **spec: Any) -> None:
        await self.client.create(NODES, {"metadata": {"name": name}, "spec": spec})

    async def get(self, name: str) -> Obj | None:
        return await self.find(PODS, name)

    async def names(self) -> list[str]:
        return [pod["metadata"]["name"] for pod in (await self.client.list(PODS, "default")).items]


def play(script: Callable[[Scene], Awaitable[T]], **options: Any) -> T:
    async def whole(scene: Scene) -> T:
        scene.begin(podgc.run(scene.context(registry=scene.registry), **options))
        await scene.clock.sleep(1)
        return await script(scene)

    return world.play(Scene, whole)


def test_pods_of_a_node_that_vanished_fail_and_go_after_a_while() -> None:
    async def script(scene: Scene) -> None:
        await scene.node("n1")
        await scene.pod("p", node="n1", phase="Running", finalizers=HOLD)
        await scene.clock.sleep(300)
        pod = await scene.get("p")
        assert pod is not None
        assert "deletionTimestamp" not in pod["metadata"]
        await scene.client.delete(NODES, "n1")
        await scene.clock.sleep(35)
        pod = await scene.get("p")
        assert pod is not None
        assert pod["status"]["phase"] == "Running"
        await scene.clock.sleep(40)
        pod = await scene.get("p")
        assert pod is not None
        assert pod["status"]["phase"] == "Failed"
        assert pod["metadata"]["deletionGracePeriodSeconds"] == 0
        [condition] = [c for c in pod["status"]["conditions"] if c["type"] == "DisruptionTarget"]
        assert condition["reason"] == "DeletionByPodGC"
        assert condition["message"] == "PodGC: node no longer exists"
        text = scene.registry.text().decode()
        assert 'pod_gc_collector_force_delete_pods_total{namespace="default",reason="orphaned"} 1.0' in text

    play(script)


def test_pods_of_a_node_that_comes_back_in_time_are_kept() -> None:
    async def script(scene: Scene) -> None:
        await scene.pod("p", node="n1", phase="Running")
        await scene.clock.sleep(35)
        await scene.node("n1")
        await scene.clock.sleep(300)
        pod = await scene.get("p")
        assert pod is not None
        assert pod["status"]["phase"] == "Running"

    play(script)


def test_a_node_that_the_server_knows_keeps_its_pods() -> None:
    async def script(scene: Scene) -> None:
        scene.client.hidden = True
        await scene.pod("p", node="n1", phase="Running")
        await scene.clock.sleep(300)
        assert await scene.names() == ["p"]
        scene.client.hidden = False
        await scene.clock.sleep(100)
        assert await scene.names() == []

    play(script)


def test_as_long_as_the_server_does_not_answer_nothing_is_lost() -> None:
    async def script(scene: Scene) -> None:
        scene.client.away = True
        await scene.pod("p", node="n1", phase="Running")
        await scene.clock.sleep(300)
        assert await scene.names() == ["p"]

    play(script)


def test_a_pod_being_deleted_that_was_never_assigned_fails_and_goes() -> None:
    async def script(scene: Scene) -> None:
        await scene.pod("p", finalizers=HOLD)
        await scene.clock.sleep(60)
        pod = await scene.get("p")
        assert pod is not None
        assert pod["status"]["phase"] == "Pending"
        await scene.client.delete(PODS, "p", "default", DeleteOptions())
        await scene.clock.sleep(25)
        pod = await scene.get("p")
        assert pod is not None
        assert pod["status"]["phase"] == "Failed"
        assert "conditions" not in pod["status"]
        await scene.client.patch(PODS, "p", {"metadata": {"finalizers": None}}, "default")
        assert await scene.names() == []

    play(script)


def test_a_pod_being_deleted_on_a_node_out_of_service_goes() -> None:
    async def script(scene: Scene) -> None:
        await scene.node("n1")
        await scene.pod("p", node="n1", phase="Running")
        await scene.client.delete(PODS, "p", "default", DeleteOptions())
        await scene.clock.sleep(60)
        assert await scene.names() == ["p"]
        taint = {"key": "node.kubernetes.io/out-of-service", "effect": "NoExecute"}
        await scene.client.patch(NODES, "n1", {"spec": {"taints": [taint]}})
        await scene.clock.sleep(25)
        assert await scene.names() == []

    play(script)


def test_ended_pods_are_kept_up_to_the_threshold() -> None:
    async def script(scene: Scene) -> None:
        for n in range(5):
            await scene.pod(f"p{n}", phase="Succeeded")
            await scene.clock.sleep(1)
        await scene.pod("running", phase="Running")
        await scene.clock.sleep(30)
        assert await scene.names() == ["p3", "p4", "running"]

    play(script, threshold=2)


def test_a_pod_of_the_same_name_is_not_taken_for_another() -> None:
    async def script(scene: Scene) -> None:
        client = scene.client
        old = await scene.pod("p")
        await client.delete(PODS, "p", "default", DeleteOptions())
        await scene.pod("p")
        await act(client, Removal(old, Cause.UNSCHEDULED), "2026-01-01T00:00:00Z")
        assert await scene.names() == ["p"]
        await client.delete(PODS, "p", "default", DeleteOptions())
        await act(client, Removal(old, Cause.UNSCHEDULED), "2026-01-01T00:00:00Z")

    world.play(Scene, script)
