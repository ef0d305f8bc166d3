"""Simulates a node's machine that is down, as the cluster sees it, until it is up again.

The cluster behaves as one whose other nodes are alive: the node becomes unreachable, and pods leave it when
they tolerate that no longer. (With no node left that is ready, Kubernetes evicts no pod.)
"""

from __future__ import annotations

from typing import Final

from longshore.api.facts import kinds
from longshore.api.time import rfc3339
from longshore.api.types import Obj
from longshore.client import Client, PatchType
from longshore.controllers.nodelifecycle import controller, eviction
from longshore.controllers.nodelifecycle.eviction import EvictionView
from longshore.machinery.time.clock import Clock

_UNREACHABLE: Final = ({"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"},)
EVICTING_SECONDS: Final = 310.0
"""Seconds after the cluster has noticed, until pods are evicted: by default they tolerate 300 s."""


async def play(client: Client, clock: Clock, name: str, noticed: float, down: float) -> None:
    """Returns when the machine is up again, after `down` seconds. The cluster notices after `noticed` seconds
    that it is down."""
    await clock.sleep(min(noticed, down))
    if down <= noticed:
        return
    node = await client.get(kinds.NODES, name)
    unknown = [_unknown(each, _now(clock)) for each in node["status"]["conditions"]]
    patch = {"status": {"conditions": unknown}}
    await client.patch(kinds.NODES, name, patch, type=PatchType.STRATEGIC, subresource="status")
    up, since = clock.monotonic() + down - noticed, dict[str, float]()
    while (left := up - clock.monotonic()) > 0:
        listed = (await client.list(kinds.PODS)).items
        pods = [(pod, _UNREACHABLE) for pod in listed if pod["spec"].get("nodeName") == name]
        plan = eviction.decide(EvictionView(pods, since, clock.monotonic()))
        since = plan.since
        for each in plan.leaving:
            await controller.evict(client, each.pod, _now(clock))
        await clock.sleep(min(plan.look_again or left, left))


def _unknown(condition: Obj, now: str) -> Obj:
    return {
        "type": condition["type"],
        "status": "Unknown",
        "lastTransitionTime": now,
        "reason": "NodeStatusUnknown",
        "message": "Kubelet stopped posting node status.",
    }


def _now(clock: Clock) -> str:
    return rfc3339.from_seconds(int(clock.timestamp()))
