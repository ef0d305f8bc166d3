"""An API in memory, the virtual clock, and the schedulers: what tests of scheduling play on."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from typing import Any

from longshore.api import quantity
from longshore.api.types import Obj
from longshore.apiserver.api import Api
from longshore.machinery.informers.informer import Informers
from longshore.machinery.time.virtual import VirtualClock
from longshore.scheduler import Schedulers
from support import world
from support.volcano_queues import open_queue
from support.world import PODS, World

__all__ = ["NODES", "PODGROUPS", "PODS", "QUEUES", "Scene", "play", "pod"]

NODES = ("v1", "Node")
PODGROUPS = ("scheduling.volcano.sh/v1beta1", "PodGroup")
QUEUES = ("scheduling.volcano.sh/v1beta1", "Queue")


class Scene(World):
    namespace = "default"

    def __init__(self, api: Api, clock: VirtualClock, options: Obj) -> None:
        super().__init__(api, clock)
        self._options = options
        self.informers: Informers | None = None
        """Those of others in the process; None follows alone."""

    async def prepare(self) -> None:
        for queue in ("root", "default"):
            await open_queue(self.client, queue, weight=1)
        self.start()

    def start(self) -> None:
        shared = self.informers.share() if self.informers is not None else None
        self.schedulers = Schedulers(self.context(informers=shared), **self._options)
        self.begin(self.schedulers.run())

    async def restart(self) -> None:
        """Schedulers that remember nothing."""
        await self.stop()
        self.start()

    async def node(self, name: str = "n1", *, labels: Obj | None = None, **parts: Any) -> Obj:
        amounts = {"cpu": "2", "memory": "4Gi", "pods": "110", **parts.pop("give", {})}
        obj = {"metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **(labels or {})}}}
        await self.client.create(NODES, {**obj, "spec": parts})
        ready = {"spec": {"taints": parts.get("taints")}}  # new nodes are tainted until their agent says so
        await self.client.patch(NODES, name, ready)
        status = {"status": {"capacity": amounts, "allocatable": amounts}}
        return await self.client.patch(NODES, name, status, subresource="status")

    async def pod(self, name: str, asks: Obj | None = None, *, labels: Obj | None = None, **spec: Any) -> Obj:
        return await self.client.create(PODS, pod(name, asks, labels=labels, **spec), "default")

    async def priority(self, name: str, value: int, **more: Any) -> None:
        kind = ("scheduling.k8s.io/v1", "PriorityClass")
        await self.client.create(kind, {"metadata": {"name": name}, "value": value, **more})

    async def queue(self, name: str, **spec: Any) -> None:
        await open_queue(self.client, name, **spec)

    async def gang(self, name: str, least: int, pods: int, asks: Obj | None = None, **spec: Any) -> None:
        """A PodGroup with its pods `name-0`, `name-1`, … as Volcano's Job controller makes them."""
        pod_spec, role = spec.pop("pod", {}), spec.pop("role", "w")
        if asks and "minResources" not in spec:
            spec["minResources"] = {n: quantity.canonical(_times(least, q)) for n, q in asks.items()}
        group = {"metadata": {"name": name}, "spec": {"minMember": least, **spec}}
        await self.client.create(PODGROUPS, group, "default")
        await self.members(name, range(pods), asks, role=role, **pod_spec)

    async def members(
        self,
        group: str,
        indexes: Iterable[int],
        asks: Obj | None = None,
        *,
        role: str = "w",
        extra: Obj | None = None,
        **spec: Any,
    ) -> None:
        """Pods of a gang; `extra` are more labels."""
        notes = {"scheduling.k8s.io/group-name": group, "volcano.sh/task-spec": role}
        made = [
            pod(
                f"{group}-{n}" if role == "w" else f"{group}-{role}-{n}",
                asks,
                schedulerName="volcano",
                meta={
                    "annotations": notes,
                    "labels": {"volcano.sh/task-index": str(n), "gang": group, **(extra or {})},
                },
                **spec,
            )
            for n in indexes
        ]
        await asyncio.gather(*(self.client.create(PODS, each, "default") for each in made))

    async def group(self, name: str) -> Obj:
        return await self.client.get(PODGROUPS, name, "default")

    async def phase(self, name: str) -> str:
        found: str = ((await self.group(name)).get("status") or {}).get("phase", "")
        return found

    async def bound(self, prefix: str) -> list[str]:
        return [
            each["metadata"]["name"]
            for each in await self.listed(PODS)
            if each["metadata"]["name"].startswith(prefix) and each["spec"].get("nodeName")
        ]

    async def get(self, name: str) -> Obj | None:
        return await self.find(PODS, name)

    async def leaving(self, prefix: str, count: int) -> list[int]:
        """Which of the pods `prefix-0`, `prefix-1`, … are gone or on their way."""
        found = [(n, await self.get(f"{prefix}-{n}")) for n in range(count)]
        return [n for n, pod in found if pod is None or "deletionTimestamp" in pod["metadata"]]

    async def full_queue(self, least: int, pods: int, *, a: Obj | None = None, b: Obj | None = None) -> None:
        """Queues `a` and `b`, and a gang `a` of queue `a` that has the whole cluster."""
        await self.node(give={"cpu": str(pods)})
        await self.queue("a", **(a or {}))
        await self.queue("b", **(b or {}))
        await self.gang("a", least, pods, {"cpu": "1"}, queue="a", minResources={})
        await self.settle()

    async def node_of(self, name: str) -> str:
        found = await self.get(name)
        assert found is not None
        node: str = found["spec"].get("nodeName", "")
        return node

    async def condition(self, name: str, kind: str = "PodScheduled") -> Obj:
        found = await self.get(name)
        assert found is not None
        return next((c for c in found["status"].get("conditions", ()) if c["type"] == kind), {})

    async def events(self, name: str) -> list[tuple[str, str]]:
        found = await self.told("involvedObject", "reason", "message")
        return [(reason, message) for about, reason, message in found if about["name"] == name]

    async def finish(self, name: str, phase: str = "Succeeded") -> None:
        await self.client.patch(PODS, name, {"status": {"phase": phase}}, "default", subresource="status")

    async def delete(self, name: str) -> None:
        """As a kubelet ends it: at once."""
        await self.delete_pod(name, grace=0)


def _times(count: int, amount: str) -> str:
    return str(quantity.parse(amount).amount * count)


def pod(name: str, asks: Obj | None = None, *, labels: Obj | None = None, **spec: Any) -> Obj:
    container: Obj = {"name": "c", "image": "i", **spec.pop("container", {})}
    if asks:
        container["resources"] = {"requests": asks}
    meta = {"name": name, **({"labels": labels} if labels else {}), **spec.pop("meta", {})}
    return {"metadata": meta, "spec": {"containers": [container], **spec}}


def play(story: Callable[[Scene], Awaitable[None]], **options: Any) -> None:
    world.play(partial(Scene, options=options), story)
