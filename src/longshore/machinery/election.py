"""Elects one leader among several processes, by a Lease that the leader keeps renewing.

A candidate takes over when the Lease has not changed for its whole duration by the candidate's own clock;
times of two machines are never compared. The leader stops before that: when it could not renew for `renew`
seconds, or when it sees that the Lease is not its own. A leader that ends normally releases the Lease. After
a leader was stopped (SIGSTOP) and continued, its `Fence` blocks writes until it has renewed.
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
from longshore.machinery.background import cancelled
from longshore.machinery.events.recorder import Recorder, reference
from longshore.machinery.fence import Fence
from longshore.machinery.reasons import Reason
from longshore.machinery.time.clock import Clock

T = TypeVar("T")

_JITTER: Final = 1.2
"""Share of the retry period that is added at random, at most, while waiting for the Lease."""
_RELEASE_SECONDS: Final = 5.0

log = logging.getLogger(__name__)


class LeadershipLost(Exception):
    """The Lease could not be renewed, or another process holds it: this one must not go on working."""

    def __init__(self) -> None:
        super().__init__(self.__doc__)


class Election:
    """A candidate for one Lease. `identity` must differ between candidates. Default times are upstream's.

    If the candidate has to create the Lease, it gets these `labels` and `annotations`.
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
        """When the Lease last changed, in seconds of this process's monotonic clock."""

    @property
    def leader(self) -> str:
        """The identity that held the Lease when it was last read; empty if it had no holder."""
        holder: str = self._spec.get("holderIdentity") or ""
        return holder

    @property
    def is_leader(self) -> bool:
        return self.leader == self._identity

    @property
    def term(self) -> int:
        """The number of holders before this one (`leaseTransitions`): it grows with each new holder."""
        number: int = self._spec.get("leaseTransitions") or 0
        return number

    async def lead(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Waits to become leader, then runs `work` for as long as this process leads.

        Returns the result of `work`. If the Lease is lost, cancels `work` and raises `LeadershipLost`. When
        `work` ends or this call is cancelled, releases the Lease, so that the next leader can start at once.
        """
        await self._acquire()
        return await self.hold(work)

    async def hold(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """`lead` for a process that has acquired the Lease by `attempt` already."""
        self._tell("BecameLeader")
        self._leading = True
        working = asyncio.create_task(work())
        renewing = asyncio.create_task(self._renew())
        try:
            await asyncio.wait((working, renewing), return_when=asyncio.FIRST_COMPLETED)
            if not working.done():
                raise LeadershipLost
            return working.result()
        finally:
            await cancelled((working, renewing))
            self._leading = False
            self._tell("StoppedLeading")
            await self._release()

    @property
    def _spec(self) -> Obj:
        return (self._lease or {}).get("spec") or {}

    async def _acquire(self) -> None:
        log.info("waiting for the lease %s/%s as %s", self._namespace, self._name, self._identity)
        while not await self.attempt(self._renew_within):
            await self._clock.sleep(self._retry * (1 + self._rng.random() * _JITTER))

    def knows(self, lease: Obj, since: float) -> None:
        """Takes over a Lease that other code has read, unchanged since `since` (monotonic seconds)."""
        self._lease, self._seen = lease, since

    async def _renew(self) -> None:
        """Renews every `retry` seconds; returns when the Lease is lost."""
        while True:
            await self._clock.sleep(self._retry)
            deadline = self._clock.monotonic() + self._renew_within
            while not await self.attempt(deadline - self._clock.monotonic()):
                if not self.is_leader or self._clock.monotonic() >= deadline:
                    if self.is_leader:
                        why = f"no renewal for {self._renew_within:g} s"
                    else:
                        why = f"{self.leader or 'nobody'} holds it"
                    log.error("lost the lease %s/%s: %s", self._namespace, self._name, why)
                    return
                await self._clock.sleep(self._retry)

    async def attempt(self, within: float) -> bool:
        """Acquires or renews the Lease within `within` seconds. False if that fails."""
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
            known, self._lease = self._spec, None
            await self._write(known)
            return True
        if self._lease is None or found.get("spec") != self._spec:
            self._observe(found)
        else:
            self._lease = found
        if not self.is_leader and (self._leading or (self.leader and self._valid)):
            return False  # a former leader may have missed a whole term: its Lease is too old
        await self._write(self._spec)
        return True

    @property
    def _valid(self) -> bool:
        return self._seen + (self._spec.get("leaseDurationSeconds") or 0) > self._clock.monotonic()

    async def _write(self, old: Obj) -> None:
        """Writes this process into the Lease as its holder. Raises the conflict if another was quicker."""
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
        """Releases the Lease if this process still holds it. If that fails, the Lease expires by itself."""
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

    def _tell(self, code: str) -> None:
        log.info("%s", Reason(code, {"replica": self._identity}))
        if self._recorder is not None and self._lease is not None:
            ref = reference(self._lease, kinds.LEASES)
            self._recorder.announce(ref, code, replica=self._identity)
