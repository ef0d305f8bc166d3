"""The node lifecycle controller at work on an API in memory and the virtual clock, with foreign nodes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from longshore.api.time import rfc3339
from longshore.api.types import Obj
from longshore.client import PatchType
from longshore.controllers import nodelifecycle
from support import world
from support.world import NAMESPACES, PODS, World

T = TypeVar("T")
NODES, LEASES = ("v1", "Node"), ("coordination.k8s.io/v1", "Lease")
NOT_READY, UNREACHABLE = "node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"


class Scene(World):
    namespace = "default"

    async def prepare(self) -> None:
        await self.client.create(NAMESPACES, {"metadata": {"name": "kube-node-lease"}})

    def now(self) -> str:
        return rfc3339.from_moment(self.clock.now())

    async def node(self, name: str, ready: str = "True", **conditions: str) -> None:
        """Registers a node as a kubelet does: its status comes with it."""
        status = {"conditions": self.conditions(Ready=ready, **conditions)}
        await self.client.create(NODES, {"metadata": {"name": name}, "status": status})

    def conditions(self, **given: str) -> list[Obj]:
        now = self.now()
        return [
            {"type": kind, "status": status, "lastHeartbeatTime": now, "lastTransitionTime": now}
            for kind, status in given.items()
        ]

    async def say(self, name: str, **conditions: str) -> None:
        patch = {"status": {"conditions": self.conditions(**conditions)}}
        how: Any = {"subresource": "status", "type": PatchType.STRATEGIC}
        await self.client.patch(NODES, name, patch, **how)

    async def live(self, name: str, seconds: float) -> None:
        """Renews the Lease of a node every ten seconds, as kubelets do."""
        for _ in range(int(seconds // 10)):
            renewed = rfc3339.micros_from_moment(self.clock.now())
            lease = {"metadata": {"name": name}, "spec": {"holderIdentity": name, "renewTime": renewed}}
            found = (await self.client.list(LEASES, "kube-node-lease")).items
            known = [each for each in found if each["metadata"]["name"] == name]
            if known:
                await self.client.update(LEASES, {**known[0], "spec": lease["spec"]}, "kube-node-lease")
            else:
                await self.client.create(LEASES, lease, "kube-node-lease")
            await self.clock.sleep(10)

    async def pod(self, name: str, node: str, **spec: Any) -> None:
        spec = {"nodeName": node, "containers": [{"name": "c", "image": "i"}], **spec}
        await self.client.create(PODS, {"metadata": {"name": name}, "spec": spec}, "default")
        ready = {"phase": "Running", "conditions": self.conditions(Ready="True")}
        await self.client.patch(PODS, name, {"status": ready}, "default", subresource="status")

    async def taints(self, node: str) -> list[str]:
        found = (await self.client.get(NODES, node)).get("spec", {}).get("taints") or []
        return sorted(
            f"{taint['key'].removeprefix('node.kubernetes.io/')}:{taint['effect']}" for taint in found
        )

    async def condition(self, node: str, kind: str = "Ready") -> Obj:
        found = (await self.client.get(NODES, node))["status"]["conditions"]
        return next(each for each in found if each["type"] == kind)

    async def leaving(self) -> list[str]:
        pods = (await self.client.list(PODS, "default")).items
        return [pod["metadata"]["name"] for pod in pods if "deletionTimestamp" in pod["metadata"]]

    async def events(self, reason: str) -> list[tuple[str, str]]:
        found = await self.told("involvedObject", "reason", "message")
        return sorted((about["name"], message) for about, why, message in found if why == reason)


def play(script: Callable[[Scene], Awaitable[T]], **options: Any) -> T:
    async def whole(scene: Scene) -> T:
        scene.begin(nodelifecycle.run(scene.context(), **options))
        await scene.clock.sleep(1)
        return await script(scene)

    return world.play(Scene, whole)


def test_a_foreign_node_that_is_ready_loses_the_taint_it_was_born_with() -> None:
    async def script(scene: Scene) -> None:
        await scene.node("theirs", ready="False")
        await scene.node("mute")
        await scene.client.create(NODES, {"metadata": {"name": "new"}})
        await scene.clock.sleep(1)
        assert await scene.taints("theirs") == ["not-ready:NoExecute", "not-ready:NoSchedule"]
        assert await scene.taints("mute") == []
        assert await scene.taints("new") == ["not-ready:NoSchedule"], "it has said nothing yet"
        await scene.say("theirs", Ready="True")
        await scene.clock.sleep(1)
        assert await scene.taints("theirs") == []

    play(script)


def test_taints_follow_conditions_and_cordons_and_leave_others_alone() -> None:
    async def script(scene: Scene) -> None:
        await scene.node("n")
        mine = [{"key": "gpu", "effect": "NoSchedule"}]
        await scene.client.patch(NODES, "n", {"spec": {"taints": mine, "unschedulable": True}})
        pressed = dict.fromkeys(
            ("MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable"), "True"
        )
        await scene.say("n", **pressed)
        await scene.clock.sleep(1)
        keys = ("disk-pressure", "memory-pressure", "network-unavailable", "pid-pressure", "unschedulable")
        assert await scene.taints("n") == sorted(f"{key}:NoSchedule" for key in ("gpu", *keys))
        await scene.say("n", **dict.fromkeys(pressed, "False"))
        await scene.client.patch(NODES, "n", {"spec": {"unschedulable": None}})
        await scene.clock.sleep(1)
        assert await scene.taints("n") == ["gpu:NoSchedule"]

    play(script)


def test_a_node_is_unknown_fifty_seconds_after_its_last_heartbeat_and_its_pods_are_not_ready() -> None:
    async def script(scene: Scene) -> None:
        await scene.node("other")
        await scene.node("n", MemoryPressure="False")
        await scene.pod("p", "n")
        keep = asyncio.create_task(scene.live("other", 1000))
        await scene.live("n", 120)
        assert (await scene.condition("n"))["status"] == "True", "its Lease was renewed all the time"
        await scene.clock.sleep(39)
        assert (await scene.condition("n"))["status"] == "True"
        await scene.clock.sleep(2)
        ready = await scene.condition("n")
        assert (ready["status"], ready["reason"], ready["message"]) == (
            "Unknown",
            "NodeStatusUnknown",
            "Kubelet stopped posting node status.",
        )
        assert (await scene.condition("n", "MemoryPressure"))["status"] == "Unknown"
        never = await scene.condition("n", "PIDPressure")
        assert (never["reason"], never["message"]) == (
            "NodeStatusNeverUpdated",
            "Kubelet never posted node status.",
        )
        assert await scene.taints("n") == ["unreachable:NoExecute", "unreachable:NoSchedule"]
        pod = await scene.client.get(PODS, "p", "default")
        assert [each["status"] for each in pod["status"]["conditions"] if each["type"] == "Ready"] == [
            "False"
        ]
        assert await scene.events("NodeNotReady") == [
            ("n", "Node n status is now: NodeNotReady"),
            ("p", "Node is not ready"),
        ]
        assert (await scene.condition("other"))["status"] == "True"
        await scene.say("n", Ready="True", MemoryPressure="False", DiskPressure="False", PIDPressure="False")
        await scene.clock.sleep(1)
        assert await scene.taints("n") == []
        keep.cancel()

    play(script)


def test_heartbeats_in_the_status_are_signs_of_life_too() -> None:
    async def script(scene: Scene) -> None:
        await scene.node("n")
        for _ in range(20):
            await scene.clock.sleep(30)
            await scene.say("n", Ready="True")
        assert (await scene.condition("n"))["status"] == "True"

    play(script)


def test_pods_leave_a_silent_node_after_the_five_minutes_that_admission_gave_them() -> None:
    async def script(scene: Scene) -> None:
        await scene.node("other")
        keep = asyncio.create_task(scene.live("other", 2000))
        await scene.node("n")
        await scene.pod("p", "n")
        short = {"key": UNREACHABLE, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 20}
        await scene.pod("hasty", "n", tolerations=[short])
        await scene.pod("stays", "n", tolerations=[{"operator": "Exists"}])
        await scene.pod("over", "n")
        done = {"status": {"phase": "Succeeded"}}
        await scene.client.patch(PODS, "over", done, "default", subresource="status")
        await scene.clock.sleep(52)
        assert await scene.leaving() == []
        await scene.clock.sleep(20)
        assert await scene.leaving() == ["hasty"]
        await scene.clock.sleep(270)
        assert await scene.leaving() == ["hasty"]
        await scene.clock.sleep(10)
        assert await scene.leaving() == ["hasty", "p"]
        gone = await scene.client.get(PODS, "p", "default")
        target = next(each for each in gone["status"]["conditions"] if each["type"] == "DisruptionTarget")
        assert (target["status"], target["reason"], target["message"]) == (
            "True",
            "DeletionByTaintManager",
            "Taint manager: deleting due to NoExecute taint",
        )
        assert ("p", "Marking for deletion Pod default/p") in await scene.events("TaintManagerEviction")
        keep.cancel()

    play(script)


def test_a_node_that_comes_back_in_time_keeps_its_pods() -> None:
    async def script(scene: Scene) -> None:
        await scene.node("other")
        keep = asyncio.create_task(scene.live("other", 2000))
        await scene.node("n")
        await scene.pod("p", "n")
        await scene.clock.sleep(200)
        assert await scene.taints("n") == ["unreachable:NoExecute", "unreachable:NoSchedule"]
        await scene.say("n", Ready="True")
        await scene.live("n", 400)
        assert await scene.taints("n") == []
        assert await scene.leaving() == []
        keep.cancel()

    play(script)


def test_a_pod_that_does_not_tolerate_a_users_own_taint_leaves_at_once() -> None:
    async def script(scene: Scene) -> None:
        await scene.node("n")
        await scene.pod("p", "n")
        await scene.pod("stays", "n", tolerations=[{"key": "broken", "operator": "Exists"}])
        taint = {"key": "broken", "effect": "NoExecute"}
        await scene.client.patch(NODES, "n", {"spec": {"taints": [taint]}})
        await scene.clock.sleep(1)
        assert await scene.leaving() == ["p"]
        await scene.pod("late", "n")
        await scene.clock.sleep(1)
        assert await scene.leaving() == ["late", "p"]

    play(script)


def test_no_pod_leaves_while_no_node_is_ready() -> None:
    async def script(scene: Scene) -> None:
        for name in ("a", "b"):
            await scene.node(name)
            await scene.pod(f"on-{name}", name)
        await scene.clock.sleep(1000)
        assert await scene.taints("a") == await scene.taints("b") == ["unreachable:NoSchedule"]
        assert await scene.leaving() == []

    play(script)


def test_a_node_of_this_process_needs_no_heartbeats_and_costs_no_writes() -> None:
    async def script(scene: Scene) -> None:
        await scene.node("ours")
        await scene.clock.sleep(60)
        before = scene.api.store.revision
        await scene.clock.sleep(24 * 3600)
        assert scene.api.store.revision == before
        assert (await scene.condition("ours"))["status"] == "True"

    play(script, local_nodes={"ours"})
