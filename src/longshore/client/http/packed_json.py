"""Holds settled objects as compressed JSON: a cache has thousands of them, and they are rarely read.

The compressor's dictionary is a typical object, so little more than names, times and numbers is left.
"""

from __future__ import annotations

import zlib
from typing import Final

import msgspec

from longshore.api import types
from longshore.api.facts import kinds
from longshore.api.facts.owners import controller_of
from longshore.api.types import Obj
from longshore.client.projection import Projection
from longshore.client.source import Unpacked

_WINDOW: Final = -13
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
        found: Obj = types.decode(zlib.decompressobj(_WINDOW, _TYPICAL).decompress(self.compressed))
        return found

    @property
    def facts(self) -> Obj:
        return self.obj


class JsonEntry(Unpacked, frozen=True, eq=False):
    """An object that came over the network. It was decoded to the fields that are read. A cache holds it
    packed once it has settled."""

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
    press = zlib.compressobj(1, zlib.DEFLATED, _WINDOW, 5, zlib.Z_DEFAULT_STRATEGY, _TYPICAL)
    return press.compress(types.encode(obj)) + press.flush()


def _is_elsewhere(pod: Obj) -> bool:
    """Whether the pod belongs to another controller than a Job's. An orphan does not: a Job may adopt it."""
    owner = controller_of(pod)
    return owner is not None and (owner.get("apiVersion"), owner["kind"]) not in _WORKERS
