"""Holds objects that came over a network in little memory: settled ones as compressed JSON, and parts that
projected pods have in common once.

The compressor's dictionary is a typical object, so little more than names, times and numbers is left. A Job's
running pods differ only in names, UIDs and versions: one takes 1.7 instead of 5.4 kB, for 4.6 us more when it
is read.
"""

from __future__ import annotations

import sys
import zlib
from typing import Any, Final

import msgspec

from longshore.api import types
from longshore.api.facts import kinds, pod_state
from longshore.api.facts.owners import controller_of
from longshore.api.types import Obj
from longshore.client.projection import Projection
from longshore.client.source import Unpacked

_WINDOW_BITS: Final = -13
"""A window of 8 KiB without header and checksum, since the bytes never leave the process."""
_TYPICAL: Final = types.encode({
    "spec": {
        "backoffLimit": 6, "completionMode": "Indexed", "completions": 1, "parallelism": 1, "suspend": False,
        "podReplacementPolicy": "TerminatingOrFailed", "selector": {"matchLabels": {}}, "template": {},
        "ttlSecondsAfterFinished": 100, "restartPolicy": "Always", "dnsPolicy": "ClusterFirst",
        "schedulerName": "default-scheduler", "terminationGracePeriodSeconds": 30,
        "containers": [
            {"name": "main", "resources": {"limits": {}, "requests": {"cpu": "1", "memory": "1Gi"}}},
        ],
        "nodeName": "node", "serviceAccountName": "default", "serviceAccount": "default", "priority": 0,
        "preemptionPolicy": "PreemptLowerPriority", "enableServiceLinks": True,
    },
    "metadata": {
        "generateName": "x-", "namespace": "default", "generation": 1,
        "uid": "", "resourceVersion": "1", "creationTimestamp": "2026-01-01T00:00:00Z",
        "labels": {
            "app.kubernetes.io/name": "", "pod-template-hash": "", "batch.kubernetes.io/controller-uid": "",
            "controller-uid": "", "batch.kubernetes.io/job-name": "", "job-name": "",
            "batch.kubernetes.io/job-completion-index": "0",
        },
        "annotations": {"batch.kubernetes.io/job-completion-index": "0"},
        "ownerReferences": [
            {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "", "uid": ""},
            {"apiVersion": "batch/v1", "kind": "Job", "name": "", "uid": "", "controller": True,
             "blockOwnerDeletion": True},
        ],
    },
    "status": {
        "completionTime": "", "succeeded": 1, "ready": 0, "terminating": 0, "uncountedTerminatedPods": {},
        "phase": "Running",
        "conditions": [
            {"type": type, "status": status, "lastTransitionTime": "2026-01-01T00:00:00Z"}
            for type, status in (
                ("SuccessCriteriaMet", "True"), ("Complete", "True"), ("PodReadyToStartContainers", "False"),
                ("Initialized", "True"), ("Ready", "False"), ("ContainersReady", "False"),
                ("PodScheduled", "True"),
            )
        ],
        "reason": "PodCompleted", "startTime": "2026-01-01T00:00:00Z",
        "containerStatuses": [
            {"name": "main", "ready": True, "restartCount": 0, "state": {"running": {"startedAt": ""}}},
            {"name": "main", "ready": False, "restartCount": 0, "state": {"terminated": {
                "exitCode": 0, "reason": "Completed", "startedAt": "2026-01-01T00:00:00Z",
                "finishedAt": "2026-01-01T00:00:00Z"}}},
        ],
    },
})  # fmt: skip
_WORKERS: Final = frozenset((kinds.JOBS, kinds.VOLCANO_JOBS))


class PackedJson(msgspec.Struct, frozen=True, gc=False):
    """One object: an ended pod takes 0.3 kB instead of 3, and 20 us to be packed or unpacked."""

    compressed: bytes

    @property
    def obj(self) -> Obj:
        found: Obj = types.decode(zlib.decompressobj(_WINDOW_BITS, _TYPICAL).decompress(self.compressed))
        return found

    @property
    def facts(self) -> Obj:
        return self.obj


class JsonEntry(Unpacked, frozen=True, eq=False):
    """An object that came over the network, decoded to the fields that are read. A cache holds it packed once
    it has settled."""

    def read(self, reads: Projection) -> Obj:
        return self.obj

    def packed(self, has_settled: bool) -> PackedJson | None:
        return PackedJson(_compressed(self.obj)) if has_settled else None


class PodEntry(JsonEntry, frozen=True, eq=False):
    """A projected pod. A pod that another controller owns is held packed as well. If pods are read whole,
    controllers also read such pods."""

    def packed(self, has_settled: bool) -> PackedJson | None:
        return super().packed(has_settled or _is_elsewhere(self.obj))


def _compressed(obj: Obj) -> bytes:
    press = zlib.compressobj(1, zlib.DEFLATED, _WINDOW_BITS, 5, zlib.Z_DEFAULT_STRATEGY, _TYPICAL)
    return press.compress(types.encode(obj)) + press.flush()


def _is_elsewhere(pod: Obj) -> bool:
    """Whether the pod belongs to another controller than a Job's. An orphan does not: a Job may adopt it."""
    owner = controller_of(pod)
    return owner is not None and (owner.get("apiVersion"), owner["kind"]) not in _WORKERS


# ---- Parts that projected pods have in common.

_MAX_PARTS: Final = 4096
"""At this number all are forgotten. Pods keep the parts they have; later pods share new ones."""
_TIMELESS: Final = frozenset(("PodReadyToStartContainers", "Initialized", "ContainersReady", "PodScheduled"))
"""Conditions whose times no rule reads."""
_PARTS: Final = ("labels", "ownerReferences", "finalizers")
_WORDS: Final = ("namespace", "generateName", "creationTimestamp")


class SharedParts:
    """Running pods that became ready in the same second share one status: the conditions in `_TIMELESS` lose
    their times, which no rule reads. The status of a pod that has ended is not shared.
    """

    def __init__(self) -> None:
        self._parts: dict[bytes, Any] = {}

    def share(self, pod: Obj) -> None:
        """Replaces parts of the pod by equal parts of earlier pods."""
        meta = pod.get("metadata") or {}
        for name in _WORDS:
            word = meta.get(name)
            if word:
                meta[name] = sys.intern(word)
        for name in _PARTS:
            part = meta.get(name)
            if part:
                meta[name] = self._one(part)
        spec, status = pod.get("spec"), pod.get("status")
        if spec:
            pod["spec"] = self._one(spec)
        if status:
            for condition in status.get("conditions") or ():
                if condition.get("type") in _TIMELESS:
                    condition.pop("lastTransitionTime", None)
            if pod_state.phase_of(pod) not in pod_state.ENDED:
                pod["status"] = self._status(status)

    def _one(self, part: Any) -> Any:
        """The known part that equals this one; if there is none, this one, known from now on."""
        return self._room().setdefault(types.encode(part), part)

    def _status(self, status: Obj) -> Obj:
        """The first status equal to this one. A new status shares its conditions and container statuses."""
        key = types.encode(status)
        known: Obj | None = self._room().get(key)
        if known is not None:
            return known
        for name in ("conditions", "containerStatuses"):
            if status.get(name):
                status[name] = [*map(self._one, status[name])]
        self._parts[key] = status
        return status

    def _room(self) -> dict[bytes, Any]:
        if len(self._parts) >= _MAX_PARTS:
            self._parts.clear()
        return self._parts
