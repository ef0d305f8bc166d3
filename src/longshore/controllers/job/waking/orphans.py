"""Removes the tracking finalizer from pods that no Job will count any more, so that they can be deleted.

Nothing else cleans up the pods of finished and deleted Jobs. Skips pods of an unfinished Job, of a Job that
another controller manages, and of owners that are not batch/v1 Jobs.
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from longshore.api import errors, types
from longshore.api.errors import StatusError
from longshore.api.facts import job_state, kinds
from longshore.api.facts.owners import controller_of, owner_key
from longshore.api.selectors import labels
from longshore.api.types import Obj
from longshore.client import Client, PatchType, Unreachable
from longshore.controllers.job.pods import pod_facts
from longshore.controllers.job.spec import FINALIZER
from longshore.controllers.job.waking import selector_index
from longshore.controllers.job.waking.ownership import Ownership
from longshore.machinery.informers.cache import Cache, Key, key_of
from longshore.machinery.writes.pod_control import finalizer_patch


class OnePod(msgspec.Struct, frozen=True):
    """A pod that has the finalizer and may belong to no Job."""

    key: Key


class PodsOfJob(msgspec.Struct, frozen=True):
    """All pods of a Job that has finished or was deleted."""

    key: Key
    uid: str
    selected_uid: str
    selector: bytes
    """The selector as JSON; empty if pods are selected by UID."""


Orphan: TypeAlias = OnePod | PodsOfJob


def of_pod(pod: Obj) -> OnePod:
    return OnePod(key_of(pod))


def of_job(job: Obj) -> PodsOfJob:
    meta, uid = job["metadata"], selector_index.selected_uid(job)
    text = b"" if uid else types.encode(job["spec"].get("selector"))
    return PodsOfJob(key_of(job), meta["uid"], uid, text)


class Orphans:
    """Removes finalizers of orphans."""

    def __init__(self, client: Client, pods: Cache, ownership: Ownership) -> None:
        self._client, self._pods, self._ownership = client, pods, ownership

    async def sync(self, orphan: Orphan) -> None:
        """Tries every pod, then raises the first error to be called again: no other change may follow."""
        if isinstance(orphan, OnePod):
            pod = self._pods.get(*orphan.key)
            if pod is not None:
                await self._strip(pod)
            return
        first: Exception | None = None
        for pod in self._selected(orphan):
            try:
                await self._strip(pod)
            except (StatusError, Unreachable) as err:
                first = first or err
        if first is not None:
            raise first

    def _selected(self, orphan: PodsOfJob) -> list[Obj]:
        namespace, name = orphan.key
        if not orphan.selected_uid:
            matches = labels.from_selector(types.decode(orphan.selector)).matches
            # Packed pods are skipped: they have settled, without finalizers, or belong to other controllers.
            pods = self._pods.unpacked(namespace)
            return [pod for pod in pods if matches(pod["metadata"].get("labels") or {})]
        keys = (
            owner_key(namespace, "Job", name, orphan.uid),
            f"{namespace}/{orphan.selected_uid}",
        )
        return [pod for key in keys for pod in self._pods.by_index(selector_index.PODS_BY_JOB, key)]

    async def _strip(self, pod: Obj) -> None:
        if not pod_facts.tracked(pod) or not self._has_no_job(pod):
            return
        namespace, name = key_of(pod)
        with errors.tolerated(404):
            await self._client.patch(
                kinds.PODS, name, finalizer_patch(FINALIZER), namespace, type=PatchType.STRATEGIC
            )

    def _has_no_job(self, pod: Obj) -> bool:
        ref = controller_of(pod)
        if ref is None:
            return True
        if ref["kind"] != "Job" or ref.get("apiVersion") != "batch/v1":
            return False
        job = self._ownership.resolve(pod["metadata"]["namespace"], ref)
        if job is None:
            return True
        return job_state.has_ended(job) and self._ownership.ours(job)
