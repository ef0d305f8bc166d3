"""Creates the objects that every Kubernetes has from its start: namespaces, priority classes, its own
service, roles and bindings (`default_roles.py`).

Also creates Volcano's two queues, and the RuntimeClasses of longshore's node runtimes.
"""

from __future__ import annotations

import asyncio

from longshore.api.errors import StatusError
from longshore.api.facts import kinds
from longshore.api.types import Obj
from longshore.client import Client, What
from longshore.plane import default_roles

_NAMESPACES = ("default", "kube-system", "kube-public", "kube-node-lease")
_PRIORITY_CLASSES: tuple[Obj, ...] = (
    {
        "metadata": {"name": "system-cluster-critical"},
        "value": 2000000000,
        "preemptionPolicy": "PreemptLowerPriority",
        "description": (
            "Used for system critical pods that must run in the cluster, "
            "but can be moved to another node if necessary."
        ),
    },
    {
        "metadata": {"name": "system-node-critical"},
        "value": 2000001000,
        "preemptionPolicy": "PreemptLowerPriority",
        "description": "Used for system critical pods that must not be moved from their current node.",
    },
)
_RUNTIME_CLASSES: tuple[Obj, ...] = (
    {"metadata": {"name": "podman"}, "handler": "podman"},
    {"metadata": {"name": "process"}, "handler": "process"},
)
QUEUES: tuple[Obj, ...] = (
    {"metadata": {"name": "root"}, "spec": {"weight": 1, "reclaimable": False}},
    {"metadata": {"name": "default"}, "spec": {"weight": 1, "reclaimable": True}},
)


async def objects(client: Client) -> None:
    """Creates the objects that are missing and leaves existing ones alone."""
    namespaces = [_there(client, kinds.NAMESPACES, {"metadata": {"name": name}}) for name in _NAMESPACES]
    classes = [_there(client, kinds.PRIORITY_CLASSES, row) for row in _PRIORITY_CLASSES]
    classes += [_there(client, kinds.RUNTIME_CLASSES, row) for row in _RUNTIME_CLASSES]
    await asyncio.gather(*namespaces, *classes, queues(client), default_roles.reconcile(client))


async def queues(client: Client) -> None:
    """Creates the queues that are missing."""
    await asyncio.gather(*(_open_queue(client, row) for row in QUEUES))


async def _open_queue(client: Client, row: Obj) -> None:
    """Creates a queue with state Open, so that it takes work before the queue controller has seen it."""
    what = kinds.QUEUES
    if await _there(client, what, row):
        await client.patch(what, row["metadata"]["name"], {"status": {"state": "Open"}}, subresource="status")


async def service(client: Client, host: str, port: int) -> None:
    """Creates or updates `default/kubernetes`, with the server's own address: longshore routes no others."""
    what = kinds.SERVICES
    spec: Obj = {
        "clusterIP": host,
        "ports": [{"name": "https", "port": port, "protocol": "TCP", "targetPort": port}],
        "type": "ClusterIP",
    }
    meta = {"name": "kubernetes", "labels": {"component": "apiserver", "provider": "kubernetes"}}
    await _there(client, what, {"metadata": meta, "spec": spec}, "default")
    ports = {"spec": {"ports": spec["ports"]}}
    await client.patch(what, "kubernetes", ports, "default")  # writes nothing when the port is the same


async def _there(client: Client, what: What, obj: Obj, namespace: str = "") -> bool:
    """Creates the object if it does not exist; returns whether it did."""
    try:
        await client.get(what, obj["metadata"]["name"], namespace)
    except StatusError as err:
        if err.code != 404:
            raise
        await client.create(what, obj, namespace)
        return True
    return False
