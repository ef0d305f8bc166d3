"""An API in memory, the virtual clock, and the schedulers: what tests of scheduling play on."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from longshore.api import quantity
from longshore.api.types import Obj
from longshore.apiserver.api import Api, ApiParts
from longshore.client import DeleteOptions
from longshore.client.local import LocalClient
from longshore.machinery.controller_context import ControllerContext
from longshore.machinery.informers.informer import Informers
from longshore.machinery.time import virtual
from longshore.machinery.time.virtual import VirtualClock
from longshore.scheduler import Schedulers
from longshore.store import Store
from support.found import found
from support.volcano_queues import open_queue

PODS, NODES, EVENTS = ("v1", "Pod"), ("v1", "Node"), ("v1", "Event")
PODGROUPS = ("scheduling.volcano.sh/v1beta1", "PodGroup")
QUEUES = ("scheduling.volcano.sh/v1beta1", "Queue")


class Scene:
    def __init__(self, client: LocalClient, clock: VirtualClock, options: Obj) -> None:
        self.client, self.clock, self._options = client, clock, options
        self.informers: Informers | None = None
        """Those of others in the process; None follows alone."""
        self.start()

    def start(self) -> None:
        shared = self.informers.share() if self.informers is not None else None
        context = ControllerContext(self.client, clock=self.clock, rng=self.clock.rng, informers=shared)
        self.schedulers = Schedulers(context, **self._options)
        self._working = asyncio.create_task(self.schedulers.run())

    async def stop(self) -> None:
        self._working.cancel()
        await asyncio.gather(self._working, return_exceptions=True)

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
        """Names of the pods with this prefix that have a node."""
        found = (await self.client.list(PODS, "default")).items
        return [
            each["metadata"]["name"]
            for each in found
            if each["metadata"]["name"].startswith(prefix) and each["spec"].get("nodeName")
        ]

    async def settle(self, seconds: float = 1.0) -> None:
        await self.clock.sleep(seconds)

    async def get(self, name: str) -> Obj | None:
        return await found(self.client, PODS, name, "default")

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
        found = await self.client.list(EVENTS, "default")
        return [(e["reason"], e["message"]) for e in found.items if e["involvedObject"]["name"] == name]

    async def finish(self, name: str, phase: str = "Succeeded") -> None:
        await self.client.patch(PODS, name, {"status": {"phase": phase}}, "default", subresource="status")

    async def delete(self, name: str) -> None:
        """As a kubelet ends it: at once."""
        await self.client.delete(PODS, name, "default", DeleteOptions(grace_period_seconds=0))


def _times(count: int, amount: str) -> str:
    return str(quantity.parse(amount).amount * count)


def pod(name: str, asks: Obj | None = None, *, labels: Obj | None = None, **spec: Any) -> Obj:
    container: Obj = {"name": "c", "image": "i", **spec.pop("container", {})}
    if asks:
        container["resources"] = {"requests": asks}
    meta = {"name": name, **({"labels": labels} if labels else {}), **spec.pop("meta", {})}
    return {"metadata": meta, "spec": {"containers": [container], **spec}}


def play(story: Callable[[Scene], Awaitable[None]], **options: Any) -> None:
    """Runs a story on a fresh control plane in virtual time."""

    async def main(clock: VirtualClock) -> None:
        api = Api(ApiParts(Store.open(None), clock, clock.rng))
        client = LocalClient(api)
        await client.create(("v1", "Namespace"), {"metadata": {"name": "default"}})
        for queue in ("root", "default"):
            await open_queue(client, queue, weight=1)
        scene = Scene(client, clock, options)
        try:
            await story(scene)
        finally:
            await scene.stop()

    virtual.run(main)
