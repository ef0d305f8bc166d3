"""Writes in the background: the latest status of PodGroups and queues, and pods without their gates.

PodGroups have no status subresource: Volcano writes the object, and so does this, as a patch of the status
only. Remembers each written status until the cache shows it, so that a cycle never uses an older one.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable, Mapping
from typing import Final

from longshore.api.errors import StatusError, tolerated
from longshore.api.facts import kinds
from longshore.api.types import Obj
from longshore.client import Client, Unreachable
from longshore.machinery.background import Background
from longshore.machinery.informers.cache import Key, key_of
from longshore.machinery.queues.backoff import Backoff
from longshore.machinery.time.clock import Clock
from longshore.scheduler.fitting.pod_shape import Pod

_COUNTS: Final = ("running", "succeeded", "failed", "conditions")
log = logging.getLogger(__name__)


class Statuses:
    """Writes the statuses of groups, by uid."""

    def __init__(
        self,
        client: Client,
        *,
        clock: Clock,
        rng: random.Random,
        gave_up: Callable[[Key], None],
    ) -> None:
        """`gave_up` is called for groups whose status could not be written and is unchanged."""
        self._client, self._clock, self._rng = client, clock, rng
        self._gave_up = gave_up
        self.latest: dict[str, Obj] = {}
        """Statuses that the cache may not show yet."""
        self._held: set[str] = set()
        self._writing: dict[str, asyncio.Task[None]] = {}
        self._version: dict[str, int] = {}

    def hold(self, group: Obj, status: Obj) -> None:
        """Remembers a status without writing it. The next status is based on it."""
        uid = group["metadata"]["uid"]
        self.latest[uid] = status
        self._version.pop(uid, None)
        self._held.add(uid)

    def is_held(self, uid: str) -> bool:
        """Whether the latest status of a group still has to be written."""
        return uid in self._held

    def put(
        self, group: Obj, status: Obj, after: float = 0.0, then: Callable[[], None] | None = None
    ) -> None:
        """Writes the status after `after` seconds, if the group still exists, and calls `then` just before.
        Returns at once."""
        uid = group["metadata"]["uid"]
        self.latest[uid] = status
        self._version.pop(uid, None)
        self._held.discard(uid)
        if uid not in self._writing:
            self._writing[uid] = asyncio.create_task(self._write(key_of(group), uid, after, then))

    def seen(self, group: Obj) -> None:
        """Forgets the written status if the cache shows this state or a newer one."""
        uid, version = group["metadata"]["uid"], group["metadata"]["resourceVersion"]
        written = self._version.get(uid)
        if written is not None and version.isdecimal() and int(version) >= written:
            self.forget(uid)

    def forget(self, uid: str) -> None:
        self.latest.pop(uid, None)
        self._version.pop(uid, None)
        self._held.discard(uid)

    def cancel(self) -> None:
        for task in self._writing.values():
            task.cancel()

    async def _write(self, key: Key, uid: str, after: float, then: Callable[[], None] | None) -> None:
        pauses = Backoff(self._clock, self._rng)
        try:
            if after:
                await self._clock.sleep(after)
            if then is not None and uid in self.latest:
                then()
            while (status := self.latest.get(uid)) is not None and uid not in self._version:
                try:
                    written = await self._store(key, uid, status)
                except StatusError as err:
                    if err.code not in (404, 409):
                        log.warning("podgroup %s/%s could not be written: %s", *key, err)
                    self.forget(uid)
                    self._gave_up(key)
                    return
                except Unreachable as err:
                    log.warning("podgroup %s/%s could not be written: %s", *key, err)
                    await self._clock.sleep(pauses.next())
                    continue
                if self.latest.get(uid) is status:
                    self._version[uid] = int(written["metadata"]["resourceVersion"])
        finally:
            self._writing.pop(uid, None)

    async def _store(self, key: Key, uid: str, status: Obj) -> Obj:
        namespace, name = key
        gone: Obj = {part: None for part in _COUNTS if part not in status}
        patch = {"metadata": {"uid": uid}, "status": {**gone, **status}}
        return await self._client.patch(kinds.POD_GROUPS, name, patch, namespace)


class Counts:
    """Writes `status.allocated` of queues, for people. A failed write is repeated after the next cycle."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._wanted: dict[str, Mapping[str, str]] = {}
        self._writing: dict[str, asyncio.Task[None]] = {}

    def put(self, queue: Obj, allocated: Mapping[str, str]) -> None:
        """Writes the amounts in the background if they differ. Returns at once."""
        uid = queue["metadata"]["uid"]
        old: dict[str, str] = (queue.get("status") or {}).get("allocated") or {}
        if old != allocated and self._wanted.get(uid) != allocated:
            self._wanted[uid] = allocated
            if uid not in self._writing:
                self._writing[uid] = asyncio.create_task(self._write(queue["metadata"]["name"], uid, old))

    def cancel(self) -> None:
        for task in self._writing.values():
            task.cancel()

    async def _write(self, name: str, uid: str, old: Mapping[str, str]) -> None:
        try:
            while (allocated := self._wanted.get(uid)) is not None:
                gone: Obj = {part: None for part in old if part not in allocated}
                patch = {"metadata": {"uid": uid}, "status": {"allocated": {**gone, **allocated}}}
                await self._client.patch(kinds.QUEUES, name, patch, subresource="status")
                old = allocated
                if self._wanted.get(uid) is allocated:
                    del self._wanted[uid]
        except (StatusError, Unreachable) as err:
            log.debug("queue %s could not be written: %s", name, err)
            self._wanted.pop(uid, None)
        finally:
            self._writing.pop(uid, None)


class Ungater:
    """Removes gates, each pod's once at a time. Calls `failed` if a gate could not be removed."""

    def __init__(self, client: Client, failed: Callable[[], None]) -> None:
        self._client, self._failed = client, failed
        self._under_way: set[str] = set()
        self._background = Background()

    def start(self, pod: Pod) -> None:
        """Removes the gate of a pod in the background. Returns at once."""
        if pod.uid not in self._under_way:
            self._under_way.add(pod.uid)
            self._background.spawn(self._open(pod))

    async def _open(self, pod: Pod) -> None:
        namespace, name = pod.key
        # No gate can be added to a pod that exists, so this one is still the only one.
        patch: Obj = {"metadata": {"uid": pod.uid}, "spec": {"schedulingGates": None}}
        try:
            with tolerated(404, 409):  # the pod is gone, or there is another pod of its name
                await self._client.patch(kinds.PODS, name, patch, namespace)
        except (StatusError, Unreachable) as err:
            log.warning("the gate of pod %s/%s could not be opened: %s", namespace, name, err)
            self._failed()
        finally:
            self._under_way.discard(pod.uid)

    def cancel(self) -> None:
        self._background.cancel()
