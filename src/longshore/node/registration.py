"""Registers the node in the API, reports it as ready, and renews its Lease every ten seconds.

Removes the node's `not-ready` taint itself, so that pods need not wait for the node lifecycle controller.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Final

import msgspec

import longshore
from longshore.api.errors import StatusError
from longshore.api.facts import kinds, own_names
from longshore.api.facts.taints import DISK_PRESSURE, NOT_READY
from longshore.api.time import rfc3339
from longshore.api.time.backoff import Doubling
from longshore.api.types import Obj
from longshore.client import Client, Unreachable
from longshore.machinery.time.clock import Clock
from longshore.node.capacity import Capacity
from longshore.node.disk_pressure import DiskPressure
from longshore.node.status.build import HOST_IP

LEASE_NAMESPACE: Final = "kube-node-lease"
LEASE_SECONDS: Final = 40
VERSION_SUFFIX: Final = "+longshore"
"""The end of the `kubeletVersion` of longshore's own nodes."""
HEARTBEAT_SECONDS: Final = 10.0
_REGISTRATION_PAUSES: Final = Doubling(0.2, 7.0)
_HEARTBEATS_PER_REPORT: Final = 30
"""Heartbeats between two reports of an unchanged status: upstream's five minutes."""
_MEMORY: Final = (
    "MemoryPressure",
    "False",
    "KubeletHasSufficientMemory",
    "kubelet has sufficient memory available",
)
_DISK: Final = ("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure")
_FULL_DISK: Final = ("DiskPressure", "True", "KubeletHasDiskPressure", "kubelet has disk pressure")
_PIDS: Final = ("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available")
_READY: Final = ("Ready", "True", "KubeletReady", "kubelet is posting ready status")
_PRESSED: Final = "the disk of node %s is nearly full: it takes no new pods; delete some, or free space"
_RELIEVED: Final = "the disk of node %s has room again, and the node takes pods"

log = logging.getLogger(__name__)


class Machine(msgspec.Struct, frozen=True):
    """The machine under a node, as its status shows it."""

    architecture: str = "amd64"
    """The architecture by its name in Go."""
    id: str = ""
    boot_id: str = ""
    kernel: str = ""
    os_image: str = "Linux"


class Registration:
    """`runtimes` are the names of this node's runtimes, the default first. Every heartbeat checks `disk`, and
    calls `problem` for the reason why the default runtime cannot run pods."""

    def __init__(
        self,
        client: Client,
        clock: Clock,
        name: str,
        capacity: Capacity,
        *,
        runtimes: tuple[str, ...],
        machine: Machine,
        disk: DiskPressure,
        problem: Callable[[], Awaitable[str]],
    ) -> None:
        self.annotations: dict[str, str] = {}
        """Facts of this node for people, e.g. how it enforces limits."""
        self._client, self._clock, self._name, self._capacity = client, clock, name, capacity
        self._runtimes, self._machine = runtimes, machine
        self._disk, self._ask_problem = disk, problem
        self._problem = ""
        self._lease: Obj | None = None
        self._uid = ""

    async def register(self) -> None:
        """Registers the node and makes it ready. Tries until it succeeds."""
        failures = 0
        await self._look()
        while True:
            try:
                await self._register()
                await self._renew()
                return
            except (StatusError, Unreachable) as err:
                log.warning("node %s could not be registered, trying again: %s", self._name, err)
            failures += 1
            await self._clock.sleep(_REGISTRATION_PAUSES.after(failures))

    async def report(self) -> None:
        """Checks the machine, and writes the node's status."""
        await self._look()
        await self._register()

    async def cannot_run(self, problem: str) -> None:
        """Reports once that the node is not ready, because it has no runtime."""
        self._problem = problem
        try:
            await self._register()
        except (StatusError, Unreachable) as err:
            log.warning("node %s could not be registered: %s", self._name, err)

    async def run(self) -> None:
        """Sends heartbeats until cancelled."""
        beats, is_due = 0, False
        while True:
            await self._clock.sleep(HEARTBEAT_SECONDS)
            beats += 1
            try:
                changed = await self._look()
                is_due = is_due or changed or beats % _HEARTBEATS_PER_REPORT == 0
                await self._renew()
                if is_due:
                    await self._register()
                    is_due = False
            except (StatusError, Unreachable) as err:
                log.warning("node %s: heartbeat failed, trying again: %s", self._name, err)

    async def _look(self) -> bool:
        """Checks the disk and the default runtime; returns whether anything has changed."""
        pressed = self._disk.check()
        if pressed:
            log.warning(_PRESSED if self._disk.is_on else _RELIEVED, self._name)
        before, self._problem = self._problem, await self._ask_problem()
        if self._problem and self._problem != before:
            log.warning("node %s cannot run pods: %s", self._name, self._problem)
        elif before and not self._problem:
            log.warning("node %s can run pods again", self._name)
        return pressed or self._problem != before

    async def _register(self) -> None:
        try:
            node = await self._client.get(kinds.NODES, self._name)
        except StatusError as err:
            if err.code != 404:
                raise
            meta = {"name": self._name, "labels": self._labels(), "annotations": self.annotations}
            first = {"metadata": meta, "status": self._status({})}
            node = await self._client.create(kinds.NODES, first)
        self._uid = node["metadata"]["uid"]
        taints = (node.get("spec") or {}).get("taints") or []
        kept = self._taints(taints)
        old = node["metadata"]
        annotations = old.get("annotations") or {}
        # Annotations about what a runtime lacked at an earlier start, and has now, are removed.
        outdated = dict.fromkeys(key for key in annotations if own_names.OF_ENGINES in key)
        wanted = {
            "labels": {**(old.get("labels") or {}), **self._labels()},
            "annotations": {**annotations, **outdated, **self.annotations},
        }
        if kept != taints or any(found != (old.get(key) or {}) for key, found in wanted.items()):
            patch = {"metadata": wanted, "spec": {"taints": kept or None}}
            node = await self._client.patch(kinds.NODES, self._name, patch)
        status = self._status(node.get("status") or {})
        if status != node.get("status"):
            await self._client.update_status(kinds.NODES, {**node, "status": status})

    def _labels(self) -> dict[str, str]:
        arch = self._machine.architecture
        return {
            "beta.kubernetes.io/arch": arch,
            "beta.kubernetes.io/os": "linux",
            "kubernetes.io/arch": arch,
            "kubernetes.io/hostname": self._name,
            "kubernetes.io/os": "linux",
        }

    def _taints(self, before: list[Obj]) -> list[Obj]:
        """The node's taints, with those for its problems, which keep new pods away. NoExecute taints are the
        node lifecycle controller's."""
        troubles = {NOT_READY: bool(self._problem), DISK_PRESSURE: self._disk.is_on}
        had = {taint.get("key") for taint in before if taint.get("effect") == "NoSchedule"}
        kept = [
            taint
            for taint in before
            if taint.get("effect") != "NoSchedule" or troubles.get(taint.get("key", ""), True)
        ]
        new = [key for key, is_on in troubles.items() if is_on and key not in had]
        return kept + [{"key": key, "effect": "NoSchedule"} for key in new]

    def _status(self, before: Obj) -> Obj:
        now = rfc3339.from_moment(self._clock.now())
        old = {c["type"]: c for c in before.get("conditions") or ()}
        conditions = []
        ready = _READY
        if self._problem:
            ready = ("Ready", "False", "KubeletNotReady", f"container runtime is down: {self._problem}")
        disk = _FULL_DISK if self._disk.is_on else _DISK
        for kind, value, reason, message in (_MEMORY, disk, _PIDS, ready):
            known = old.pop(kind, None)
            same = known is not None and known.get("status") == value
            since = known["lastTransitionTime"] if known is not None and same else now
            conditions.append(
                {
                    "type": kind,
                    "status": value,
                    "lastHeartbeatTime": now,
                    "lastTransitionTime": since,
                    "reason": reason,
                    "message": message,
                }
            )
        amounts = dict(self._capacity.amounts)
        return {
            **before,
            "capacity": amounts,
            "allocatable": amounts,
            "conditions": conditions + list(old.values()),
            "addresses": [
                {"type": "InternalIP", "address": HOST_IP},
                {"type": "Hostname", "address": self._name},
            ],
            "nodeInfo": self._info(),
            "runtimeHandlers": [{"name": name} for name in ("", *self._runtimes)],
        }

    def _info(self) -> Obj:
        machine = self._machine
        return {
            "machineID": machine.id,
            "systemUUID": "",
            "bootID": machine.boot_id,
            "kernelVersion": machine.kernel,
            "osImage": machine.os_image,
            "containerRuntimeVersion": f"{self._runtimes[0]}://{longshore.__version__}",
            "kubeletVersion": f"v{longshore.__version__}{VERSION_SUFFIX}",
            "kubeProxyVersion": "",
            "operatingSystem": "linux",
            "architecture": machine.architecture,
        }

    async def _renew(self) -> None:
        """Renews the Lease with one write, and a read only if another client changed it."""
        spec = {
            "holderIdentity": self._name,
            "leaseDurationSeconds": LEASE_SECONDS,
            "renewTime": rfc3339.micros_from_moment(self._clock.now()),
        }
        if self._lease is not None:
            try:
                self._lease = await self._client.update(
                    kinds.LEASES, {**self._lease, "spec": {**self._lease["spec"], **spec}}, LEASE_NAMESPACE
                )
                return
            except StatusError as err:
                if err.code not in (404, 409):
                    raise
                self._lease = None
        try:
            found = await self._client.get(kinds.LEASES, self._name, LEASE_NAMESPACE)
        except StatusError as err:
            if err.code != 404:
                raise
            # The garbage collector deletes the Lease with the node.
            owner = {"apiVersion": "v1", "kind": "Node", "name": self._name, "uid": self._uid}
            meta = {"name": self._name, "namespace": LEASE_NAMESPACE, "ownerReferences": [owner]}
            lease = {"metadata": meta, "spec": spec}
            self._lease = await self._client.create(kinds.LEASES, lease, LEASE_NAMESPACE)
        else:
            renewed = {**found, "spec": {**(found.get("spec") or {}), **spec}}
            self._lease = await self._client.update(kinds.LEASES, renewed, LEASE_NAMESPACE)
