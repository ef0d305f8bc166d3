"""One replica among several: takes shards that nobody holds, and hands over what others should have.

A replica lives while it renews a Lease of its own; its shards are its own for as long. To hand a shard over
is to close the gate before its queues, to wait for the syncs that run, to end its controllers with all that
they remember, and only then to let its Lease go. A replica that was silent for too long ends at once, as a
leader does; the others have its shards soon.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, Final, NamedTuple

from longshore.api.errors import StatusError
from longshore.api.facts import own_names
from longshore.api.metrics import Registry
from longshore.api.types import Obj
from longshore.client import Client, Unreachable
from longshore.machinery.election import Election, LeadershipLost
from longshore.machinery.queues.key_gate import KeyGate
from longshore.machinery.sharding.assignment import meant_for
from longshore.machinery.sharding.division import Division
from longshore.machinery.sharding.shard_leases import Look, ShardLeases, term
from longshore.machinery.sharding.sightings import Sightings
from longshore.machinery.sharding.unbroken_fence import UnbrokenFence
from longshore.machinery.time.clock import Clock

LEASE_SECONDS: Final = 10.0
"""A replica that was silent for so long is gone. A death is noticed after at most 13 s: two looks more."""
LEADER_SECONDS: Final = 15.0
"""A leader without shards that was silent for so long is gone."""
FENCE_SECONDS: Final = 7.0
"""Writes stop so long after the last renewal: one on its way has three seconds to arrive."""
RENEW_SECONDS: Final = 2.0
LOOK_SECONDS: Final = 1.5
DRAIN_SECONDS: Final = 20.0
"""Syncs that take longer are cancelled when their shard is handed over."""
_LAST_DRAIN_SECONDS: Final = 3.0
"""Syncs that take longer are cancelled when the process ends."""
_FORGET_SECONDS: Final = 600.0
"""The Leases of replicas that died are deleted by whoever sees them, after so long."""
_BROKEN_LOOKS: Final = (StatusError, Unreachable, TimeoutError)

log = logging.getLogger(__name__)


class Holding(NamedTuple):
    """A shard that this replica holds."""

    shard: int
    term: int
    """Larger for each holder of this shard than for those before it."""
    gate: KeyGate


Work = Callable[[Holding], Coroutine[Any, Any, None]]
"""Works for a shard until cancelled. Nothing of it may be left then."""


def fence(clock: Clock) -> UnbrokenFence:
    """The fence that all writes of a replica must ask."""
    return UnbrokenFence(clock, FENCE_SECONDS, LEASE_SECONDS)


class _Held:
    """One shard's Lease, and what runs for it."""

    def __init__(self, lease: Obj, holding: Holding, working: asyncio.Task[None], taken: float) -> None:
        self.lease, self.holding, self.working, self.taken = lease, holding, working, taken
        self.leaving = False

    async def end(self, clock: Clock, within: float) -> None:
        """Ends the work: nothing is written for the shard after this."""
        late = False
        try:
            async with clock.timeout(within):
                await self.holding.gate.close()
        except TimeoutError:
            late = True
        self.working.cancel()
        await asyncio.gather(self.working, return_exceptions=True)
        if late:  # a write on its way has as long to arrive as one that passed the fence
            await clock.sleep(LEASE_SECONDS - FENCE_SECONDS)


class Replica:
    """`identity` must differ between replicas. `fence` comes from `fence()`."""

    def __init__(
        self,
        client: Client,
        work: Work,
        *,
        namespace: str,
        group: str,
        identity: str,
        division: Division,
        fence: UnbrokenFence,
        clock: Clock,
        rng: random.Random,
        registry: Registry | None = None,
        waiting: Callable[[str], object] = log.info,
    ) -> None:
        self._work, self._identity, self._division, self._fence = work, identity, division, fence
        self._clock, self._waiting, self._told = clock, waiting, ""
        self._leases = ShardLeases(client, namespace, group, division, clock)
        self._sightings = Sightings(LEASE_SECONDS)
        self._leaders = Sightings(LEADER_SECONDS)
        self._held: dict[int, _Held] = {}
        self._handing: asyncio.Task[None] | None = None
        self._name = self._leases.replica_name(identity)
        self._election = Election(
            client,
            namespace=namespace,
            name=self._name,
            identity=identity,
            clock=clock,
            rng=rng,
            fence=fence,
            labels=self._leases.labels(),
            annotations=self._leases.annotations,
            lease=LEASE_SECONDS,
            renew=FENCE_SECONDS,
            retry=RENEW_SECONDS,
        )
        if registry is not None:
            text = "Shards that this process holds."
            registry.gauge("longshore_shards_held", text).ask(lambda: float(len(self._held)))

    @property
    def shards(self) -> list[int]:
        """The shards that this replica holds now."""
        return sorted(self._held)

    async def run(self) -> None:
        """Takes part until cancelled; then everything is handed back. Raises `LeadershipLost`."""
        await self._election.lead(self._take_part)

    async def _take_part(self) -> None:
        try:
            while not self._fence.broken:
                await self._one_look()
                await self._clock.sleep(LOOK_SECONDS)
            raise LeadershipLost
        finally:
            await self._leave()

    async def _one_look(self) -> None:
        try:
            async with self._clock.timeout(FENCE_SECONDS):
                look = await self._leases.look()
        except _BROKEN_LOOKS as err:
            log.info("cannot read the leases of the shards: %s", err or "no answer")
            return
        holders = {name: holder for name, lease in look.shards.items() if (holder := _holder(lease))}
        alive = self._sightings.look(look.replicas.values(), holders.values(), look.asked, look.answered)
        self._check_held(look)
        await self._clean_up(look)
        blocker = self._blocker(look, alive)
        self._say(blocker)
        if blocker:
            self._hand_over([*self._held])
            return
        names = [self._leases.shard_name(shard) for shard in range(self._division.count)]
        live = {shard: who for shard, name in enumerate(names) if (who := holders.get(name, "")) in alive}
        members = {_holder(lease) for lease in look.replicas.values() if self._divides_alike(lease)} & alive
        meant = meant_for(self._division.count, live, members)
        self._hand_over([shard for shard in self._held if meant.get(shard) != self._identity])
        for shard, who in meant.items():
            # One that names this replica and is not held was taken by a request without an answer.
            free = shard not in live or live[shard] == self._identity
            if who == self._identity and free and shard not in self._held:
                await self._take(shard, look.shards.get(names[shard]))

    # ---- who else there is

    def _check_held(self, look: Look) -> None:
        """Ends the process when somebody else has written the Lease of a shard that is held, or when what
        runs for it has failed."""
        for held in self._held.values():
            if held.leaving:
                continue
            if held.working.done():
                held.working.result()
            lease = look.shards.get(held.lease["metadata"]["name"])
            if look.asked > held.taken and (lease is None or _holder(lease) != self._identity):
                raise LeadershipLost

    def _blocker(self, look: Look, alive: set[str]) -> str:
        """Why nothing may be held now; empty when nothing is in the way."""
        leader = look.leader.get("holderIdentity") or ""
        leads = self._leaders.look([{"spec": look.leader}], (), look.asked, look.answered)
        if leader in leads and leader not in map(_holder, look.replicas.values()):
            return f"{leader} leads without shards"
        mine = look.replicas.get(self._name)
        for lease in look.replicas.values():
            strange = _holder(lease) in alive and not self._divides_alike(lease)
            if strange and (mine is None or _age(lease) < _age(mine)):
                return f"{_holder(lease)} divides objects as {_division(lease)}"
        for lease in look.shards.values():
            if _holder(lease) in alive and not self._divides_alike(lease):
                return f"{_holder(lease)} holds a shard of {_division(lease)}"
        return ""

    def _divides_alike(self, lease: Obj) -> bool:
        return _division(lease) == self._division.name

    def _say(self, what: str) -> None:
        """Says once why this replica does nothing."""
        if what and what != self._told:
            self._waiting(what)
        self._told = what

    async def _clean_up(self, look: Look) -> None:
        for name, lease in look.replicas.items():
            holder = _holder(lease)
            if not holder or self._sightings.silence(holder, look.asked) > _FORGET_SECONDS:
                with suppress(*_BROKEN_LOOKS):
                    await self._leases.forget(name)
                return

    # ---- taking and leaving shards

    async def _take(self, shard: int, lease: Obj | None) -> None:
        try:
            async with self._clock.timeout(FENCE_SECONDS):
                taken = await self._leases.take(shard, lease, self._identity, LEASE_SECONDS)
        except _BROKEN_LOOKS as err:
            log.info("shard %d is not taken: %s", shard, err or "no answer")
            return
        log.info("took shard %d of %s", shard, self._division.name)
        gate = KeyGate(lambda key: self._division.shard_of(key) == shard)
        holding = Holding(shard, term(taken), gate)
        working = asyncio.create_task(self._work(holding), name=f"shard {shard}")
        self._held[shard] = _Held(taken, holding, working, self._clock.monotonic())

    def _hand_over(self, shards: list[int]) -> None:
        """Begins with the first of these, unless another is under way."""
        if shards and (self._handing is None or self._handing.done()):
            self._handing = asyncio.create_task(self._give(min(shards)), name="handing a shard over")

    async def _give(self, shard: int) -> None:
        held = self._held[shard]
        held.leaving = True
        await held.end(self._clock, DRAIN_SECONDS)
        while not await self._released(held):
            await self._clock.sleep(LOOK_SECONDS)
        del self._held[shard]
        log.info("handed shard %d of %s over", shard, self._division.name)

    async def _released(self, held: _Held) -> bool:
        """Whether the Lease is free, or is not this replica's any more."""
        try:
            async with self._clock.timeout(FENCE_SECONDS):
                await self._leases.release(held.lease)
        except StatusError as err:
            log.info("shard %d was not handed back: %s", held.holding.shard, err)
        except (Unreachable, TimeoutError):
            return False
        return True

    async def _leave(self) -> None:
        """Ends all work, then hands everything back. Where that fails, the Lease runs out."""
        if self._handing is not None:
            self._handing.cancel()
            await asyncio.gather(self._handing, return_exceptions=True)
        every = [*self._held.values()]
        await asyncio.gather(*(held.end(self._clock, _LAST_DRAIN_SECONDS) for held in every))
        with suppress(TimeoutError):
            async with self._clock.timeout(_LAST_DRAIN_SECONDS):
                await asyncio.gather(*map(self._released, every))
        self._held.clear()


def _holder(lease: Obj) -> str:
    holder: str = (lease.get("spec") or {}).get("holderIdentity") or ""
    return holder


def _division(lease: Obj) -> str:
    name: str = (lease["metadata"].get("annotations") or {}).get(own_names.DIVISION) or ""
    return name


def _age(lease: Obj) -> tuple[str, str]:
    """Less for older Leases."""
    return lease["metadata"]["creationTimestamp"], lease["metadata"]["name"]
