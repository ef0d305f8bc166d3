"""One leader among several processes, by a Lease that the leader keeps renewing.

Others take over when the Lease has not changed for its whole duration, by their own clocks: nobody
compares two machines' times. The leader stops working before that: it gives up when it could not renew for
`renew` seconds, or as soon as it sees that the Lease is not its own any more. One that ends well hands the
Lease back. A leader that was stopped and continued is held back by its `Fence` until it has looked.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, Final, TypeVar

from longshore.api.errors import StatusError
from longshore.api.facts import kinds
from longshore.api.metrics import Registry
from longshore.api.time import rfc3339
from longshore.api.types import Obj
from longshore.client import Client, Unreachable
from longshore.machinery.events.recorder import Recorder, reference
from longshore.machinery.fence import Fence
from longshore.machinery.time.clock import Clock

T = TypeVar("T")

_JITTER: Final = 1.2
"""Part of the retry period that is added at random while waiting for the Lease."""
_RELEASE_SECONDS: Final = 5.0

log = logging.getLogger(__name__)


class LeadershipLost(Exception):
    """The Lease could not be renewed, or another process holds it: this one must not go on working."""

    def __init__(self) -> None:
        super().__init__(self.__doc__)


class Election:
    """A candidate for one Lease. `identity` must differ between candidates. Times are upstream's.

    `labels` and `annotations` are those of a Lease that the candidate has to create.
    """

    def __init__(
        self,
        client: Client,
        *,
        namespace: str,
        name: str,
        identity: str,
        clock: Clock,
        rng: random.Random,
        recorder: Recorder | None = None,
        registry: Registry | None = None,
        fence: Fence | None = None,
        labels: dict[str, str] | None = None,
        annotations: dict[str, str] | None = None,
        lease: float = 15.0,
        renew: float = 10.0,
        retry: float = 2.0,
    ) -> None:
        if not lease > renew > retry * _JITTER:
            raise ValueError(
                f"an election needs lease ({lease} s) > renew ({renew} s) > 1.2 × retry ({retry} s)"
            )
        self._client, self._clock, self._rng, self._recorder = client, clock, rng, recorder
        self._namespace, self._name, self._identity = namespace, name, identity
        self._duration, self._renew_within, self._retry = lease, renew, retry
        self._fence = fence
        marks = {"labels": labels, "annotations": annotations}
        self._marks = {part: values for part, values in marks.items() if values}
        if registry is not None:
            status = "Whether this process leads, by the name of the lease."
            gauge = registry.gauge("leader_election_master_status", status, ("name",))
            gauge.ask(lambda: float(self._leading), name)
        self._leading = False
        self._lease: Obj | None = None
        """The Lease as last read or written."""
        self._seen = 0.0
        """When it last changed, by the clock of this process."""

    @property
    def leader(self) -> str:
        """Who held the Lease when it was last seen; empty when nobody did."""
        holder: str = self._spec.get("holderIdentity") or ""
        return holder

    @property
    def is_leader(self) -> bool:
        return self.leader == self._identity

    async def lead(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Waits to become leader, then runs `work` for as long as this process is.

        Returns what `work` returns. Raises `LeadershipLost` after it has cancelled `work`. When `work` ends
        or this is cancelled, the Lease is handed back, so that another may begin at once.
        """
        await self._acquire()
        self._leading = True
        working = asyncio.create_task(work())
        renewing = asyncio.create_task(self._renew())
        try:
            await asyncio.wait((working, renewing), return_when=asyncio.FIRST_COMPLETED)
            if not working.done():
                raise LeadershipLost
            return working.result()
        finally:
            for task in (working, renewing):
                task.cancel()
            await asyncio.gather(working, renewing, return_exceptions=True)
            self._leading = False
            self._tell("stopped leading")
            await self._release()

    @property
    def _spec(self) -> Obj:
        return (self._lease or {}).get("spec") or {}

    async def _acquire(self) -> None:
        log.info("waiting for the lease %s/%s as %s", self._namespace, self._name, self._identity)
        while not await self._attempt(self._renew_within):
            await self._clock.sleep(self._retry * (1 + self._rng.random() * _JITTER))
        self._tell("became leader")

    async def _renew(self) -> None:
        """Renews every `retry` seconds; returns when the Lease is lost."""
        while True:
            await self._clock.sleep(self._retry)
            deadline = self._clock.monotonic() + self._renew_within
            while not await self._attempt(deadline - self._clock.monotonic()):
                if not self.is_leader or self._clock.monotonic() >= deadline:
                    log.error("lost the lease %s/%s to %r", self._namespace, self._name, self.leader)
                    return
                await self._clock.sleep(self._retry)

    async def _attempt(self, within: float) -> bool:
        """Whether this process holds the Lease for another duration from now."""
        try:
            async with self._clock.timeout(within):
                return await self._take()
        except (StatusError, Unreachable, TimeoutError) as err:
            log.info("cannot get the lease %s/%s: %s", self._namespace, self._name, err or "no answer")
            return False

    async def _take(self) -> bool:
        if self.is_leader and self._valid:
            with suppress(StatusError):  # it was changed meanwhile: read it
                await self._write(self._spec)
                return True
        try:
            found = await self._client.get(kinds.LEASES, self._name, self._namespace)
        except StatusError as err:
            if err.code != 404:
                raise
            self._lease = None
            await self._write({})
            return True
        if self._lease is None or found.get("spec") != self._spec:
            self._observe(found)
        else:
            self._lease = found
        if not self.is_leader and (self._leading or (self.leader and self._valid)):
            return False  # one that led may have missed another's whole term: what it knows is too old
        await self._write(self._spec)
        return True

    @property
    def _valid(self) -> bool:
        return self._seen + (self._spec.get("leaseDurationSeconds") or 0) > self._clock.monotonic()

    async def _write(self, old: Obj) -> None:
        """Makes this process the holder. A conflict (somebody was quicker) is raised."""
        now = rfc3339.micros_from_moment(self._clock.now())
        mine = old.get("holderIdentity") == self._identity
        spec = {
            **old,
            "holderIdentity": self._identity,
            "leaseDurationSeconds": int(self._duration),
            "acquireTime": old["acquireTime"] if mine and old.get("acquireTime") else now,
            "renewTime": now,
            "leaseTransitions": (old.get("leaseTransitions") or 0) + (bool(old) and not mine),
        }
        sent = self._clock.monotonic()
        await self._put(spec)
        if self._fence is not None:
            self._fence.renewed(sent)

    async def _put(self, spec: Obj) -> None:
        if self._lease is None:
            meta = {"name": self._name, "namespace": self._namespace, **self._marks}
            self._observe(await self._client.create(kinds.LEASES, {"metadata": meta, "spec": spec}))
        else:
            self._observe(await self._client.update(kinds.LEASES, {**self._lease, "spec": spec}))

    def _observe(self, lease: Obj) -> None:
        self._lease, self._seen = lease, self._clock.monotonic()

    async def _release(self) -> None:
        """Hands the Lease back if it is still this process's; if that fails it runs out by itself."""
        if not self.is_leader:
            return
        with suppress(StatusError, Unreachable, TimeoutError):
            async with self._clock.timeout(_RELEASE_SECONDS):
                # A renewal that was cut short may have been written all the same.
                self._observe(await self._client.get(kinds.LEASES, self._name, self._namespace))
                if self.is_leader:
                    now = rfc3339.micros_from_moment(self._clock.now())
                    spec = {key: value for key, value in self._spec.items() if key != "holderIdentity"}
                    await self._put(spec | {"leaseDurationSeconds": 1, "acquireTime": now, "renewTime": now})

    def _tell(self, what: str) -> None:
        log.info("%s %s", self._identity, what)
        if self._recorder is not None and self._lease is not None:
            ref = reference(self._lease, kinds.LEASES)
            self._recorder.event(ref, "Normal", "LeaderElection", f"{self._identity} {what}")
