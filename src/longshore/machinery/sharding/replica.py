"""One of several processes that work at the same time, each for one shard of all objects.

A replica holds at most one shard, by a Lease that it renews as a leader does. It takes any shard without a
living holder and keeps it until it ends; without a shard it is a spare. If it loses its Lease, it ends.

Replicas of two divisions never work at the same time, nor does a replica work beside a leader without shards.
Each process first writes its own Lease, then looks for Leases of another form. Of two that start together, at
least one sees the other and waits. If a leader without shards appears, replicas end, which it awaits.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable, Coroutine, Mapping
from functools import partial
from typing import Any, Final, NamedTuple

from longshore.api.errors import StatusError
from longshore.api.facts import kinds, own_names
from longshore.api.metrics import Registry
from longshore.api.types import Obj
from longshore.client import Client, Unreachable
from longshore.machinery.background import cancelled
from longshore.machinery.election import Election, LeadershipLost
from longshore.machinery.fence import Fence
from longshore.machinery.sharding.division import Division
from longshore.machinery.time.clock import Clock

_ROLE: Final = "shard"


class Sighting(NamedTuple):
    """A Lease as it was last read."""

    lease: Obj
    since: float
    """When the Lease was first seen with this spec, in monotonic seconds."""
    is_held: bool

    @property
    def holder(self) -> str:
        holder: str = (self.lease.get("spec") or {}).get("holderIdentity") or ""
        return holder

    @property
    def division(self) -> str:
        """The division of a shard's Lease; empty for the Lease of a leader."""
        name: str = (self.lease["metadata"].get("annotations") or {}).get(own_names.DIVISION) or ""
        return name


class ShardLeases:
    """Reads the Leases of a group: one for each shard, and one for a leader without shards, named `group`.

    A holder counts as alive if its Lease has changed within its duration, by the clock of the reading
    process. The age of a Lease is the time from the answer that showed its last change to the sending of the
    next request. So a holder does not count as dead while a renewal may be unseen.
    """

    def __init__(self, client: Client, namespace: str, group: str, clock: Clock) -> None:
        self._client, self._namespace, self._group, self._clock = client, namespace, group, clock
        self._seen: dict[str, Sighting] = {}

    @property
    def labels(self) -> dict[str, str]:
        """Labels of a shard's Lease."""
        return {own_names.SHARDS_OF: self._group, own_names.SHARD_ROLE: _ROLE}

    def shard_name(self, division: str, shard: int) -> str:
        return f"{self._group}-{division}-{shard}"

    async def look(self) -> dict[str, Sighting]:
        """Reads all Leases of shards, by name, and the leader's under the group's name, if it exists."""
        asked = self._clock.monotonic()
        wanted = ",".join(f"{name}={value}" for name, value in self.labels.items())
        found = (await self._client.list(kinds.LEASES, self._namespace, labels=wanted)).items
        try:
            found.append(await self._client.get(kinds.LEASES, self._group, self._namespace))
        except StatusError as err:
            if err.code != 404:
                raise
        answered, by_name = self._clock.monotonic(), {lease["metadata"]["name"]: lease for lease in found}
        # A deleted Lease counts for as long as any other: its holder may not know.
        deleted = {name: seen.lease for name, seen in self._seen.items() if seen.is_held}
        self._seen = {
            name: self._sighting(name, lease, asked, answered) for name, lease in (deleted | by_name).items()
        }
        return self._seen

    def _sighting(self, name: str, lease: Obj, asked: float, answered: float) -> Sighting:
        spec, before = lease.get("spec") or {}, self._seen.get(name)
        is_same = before is not None and before.lease.get("spec") == lease.get("spec")
        since = before.since if before is not None and is_same else answered
        is_valid = asked - since < (spec.get("leaseDurationSeconds") or 0)
        return Sighting(lease, since, bool(spec.get("holderIdentity")) and is_valid)


LEASE_SECONDS: Final = 10.0
"""A replica counts as dead if its last renewal is older. Others notice that within 13 s, two reads later."""
FENCE_SECONDS: Final = 7.0
"""Writes stop this long after the last renewal, so that a write on its way has three seconds to arrive."""
RENEW_SECONDS: Final = 2.0
LOOK_SECONDS: Final = 1.5
_UNHELD_SECONDS: Final = 30.0
"""If a shard has no holder for this long, a warning says that there are too few replicas."""
_BROKEN_LOOKS: Final = (StatusError, Unreachable, TimeoutError)

log = logging.getLogger(__name__)


class Holding(NamedTuple):
    """The shard that this replica holds."""

    shard: int
    term: int
    """A number that grows with each new holder of this shard."""


Work = Callable[[Holding], Coroutine[Any, Any, None]]
"""Works for a shard until cancelled. When it returns, none of its tasks may still run."""


def fence(clock: Clock) -> Fence:
    """The fence that all writes of a replica must check."""
    return Fence(clock, FENCE_SECONDS)


class Replica:
    """Works for one shard. `identity` must differ between replicas; `fence` comes from `fence()`."""

    def __init__(
        self,
        client: Client,
        work: Work,
        *,
        namespace: str,
        group: str,
        identity: str,
        division: Division,
        fence: Fence,
        clock: Clock,
        rng: random.Random,
        registry: Registry | None = None,
        waiting: Callable[[str], object] = log.info,
    ) -> None:
        self._client, self._namespace, self._group, self._identity = client, namespace, group, identity
        self._work, self._division, self._fence = work, division, fence
        self._clock, self._rng, self._waiting, self._told = clock, rng, waiting, ""
        self._leases = ShardLeases(client, namespace, group, clock)
        self._names = [self._leases.shard_name(division.name, shard) for shard in range(division.count)]
        self.shard: int | None = None
        """The shard that this replica works for; None for a spare."""
        if registry is not None:
            text = "Shards that this process holds: 1, or 0 for a spare."
            registry.gauge("longshore_shards_held", text).ask(lambda: float(self.shard is not None))

    async def run(self) -> None:
        """Waits for a shard and works for it until cancelled; then releases it. Raises `LeadershipLost`."""
        while True:
            look = await self._look()
            if look is not None:
                blocker = self._blocker(look)
                free = [] if blocker else self._free(look)
                self._say(blocker or ("" if free else f"all {self._division.count} shards are held"))
                for shard in free:
                    if (election := await self._taken(shard, look)) is not None:
                        await election.hold(partial(self._hold, Holding(shard, election.term)))
                        self._fence.close()
                        break
            await self._clock.sleep(LOOK_SECONDS * (1 + self._rng.random() / 4))

    async def _look(self) -> dict[str, Sighting] | None:
        """Reads all Leases; None if the server does not answer."""
        try:
            async with self._clock.timeout(FENCE_SECONDS):
                return await self._leases.look()
        except _BROKEN_LOOKS as err:
            log.info("cannot read the leases of the shards: %s", err or "no answer")
            return None

    def _blocker(self, look: Mapping[str, Sighting]) -> str:
        """Why no shard may be held now; empty if nothing prevents it."""
        for name, seen in look.items():
            if seen.is_held and name == self._group:
                return f"{seen.holder} leads without shards"
            if seen.is_held and name not in self._names:
                return f"{seen.holder} divides objects as {seen.division}"
        return ""

    def _free(self, look: Mapping[str, Sighting]) -> list[int]:
        """The shards that may be taken, in the order of tries. A shard whose Lease names this replica comes
        first: its request succeeded but the answer was lost."""
        mine, others = [], []
        for shard, name in enumerate(self._names):
            seen = look.get(name)
            if seen is not None and seen.holder == self._identity:
                mine.append(shard)
            elif seen is None or not seen.is_held:
                others.append(shard)
        self._rng.shuffle(others)
        return mine + others

    async def _taken(self, shard: int, look: Mapping[str, Sighting]) -> Election | None:
        """Takes the shard's Lease; None if another replica was quicker."""
        election = Election(
            self._client,
            namespace=self._namespace,
            name=self._names[shard],
            identity=self._identity,
            clock=self._clock,
            rng=self._rng,
            fence=self._fence,
            labels=self._leases.labels,
            annotations={own_names.DIVISION: self._division.name},
            lease=LEASE_SECONDS,
            renew=FENCE_SECONDS,
            retry=RENEW_SECONDS,
        )
        if (seen := look.get(self._names[shard])) is not None:
            election.knows(seen.lease, seen.since)
        return election if await election.attempt(FENCE_SECONDS) else None

    async def _hold(self, holding: Holding) -> None:
        """Works for the shard, unless a process of another division, or of none, has started meanwhile."""
        while (look := await self._look()) is None:
            await self._clock.sleep(LOOK_SECONDS)
        if blocker := self._blocker(look):
            self._say(blocker)
            return
        log.info("took shard %d of %s", holding.shard, self._division.name)
        self.shard, self._told = holding.shard, ""
        tasks = [asyncio.create_task(self._work(holding)), asyncio.create_task(self._until_led())]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in tasks:
                if task.done():
                    task.result()
            raise LeadershipLost
        finally:
            await cancelled(tasks)
            if (age := self._fence.age) is not None and age < FENCE_SECONDS:
                # A write on its way has as long to arrive as one that passed the fence.
                await self._clock.sleep(LEASE_SECONDS - FENCE_SECONDS)
            self.shard = None

    async def _until_led(self) -> None:
        """Returns when a process leads without shards. Meanwhile warns of shards without a replica."""
        held_at, told = dict.fromkeys(self._names, self._clock.monotonic()), 0
        while True:
            await self._clock.sleep(LOOK_SECONDS)
            look = await self._look()
            if look is None:
                continue
            if (leader := look.get(self._group)) is not None and leader.is_held:
                log.warning("%s leads without shards", leader.holder)
                return
            now = self._clock.monotonic()
            held_at |= {name: now for name in self._names if name in look and look[name].is_held}
            unheld = sum(now - at >= _UNHELD_SECONDS for at in held_at.values())
            if unheld > told:
                log.warning("%d of %d shards have no replica: start more", unheld, len(held_at))
            told = unheld

    def _say(self, what: str) -> None:
        """Logs, once per reason, why this replica does nothing."""
        if what and what != self._told:
            self._waiting(what)
        self._told = what


async def until_unheld(client: Client, namespace: str, group: str, clock: Clock) -> None:
    """Waits until no living replica holds a shard. A leader without shards calls this before it works;
    replicas that see its Lease end."""
    leases, told = ShardLeases(client, namespace, group, clock), ""
    while True:
        try:
            async with clock.timeout(FENCE_SECONDS):
                look = await leases.look()
        except _BROKEN_LOOKS as err:
            if isinstance(err, StatusError) and err.code == 403:
                log.warning("cannot see whether shards are held, so none can be: %s", err)
                return  # replicas with these rights cannot take any
            log.info("cannot read the leases of the shards: %s", err or "no answer")
        else:
            held = {seen.holder for name, seen in look.items() if seen.is_held and name != group}
            names = ", ".join(sorted(held))
            if not names:
                return
            if names != told:
                log.warning("waiting until %s handed all shards of %s/%s over", names, namespace, group)
            told = names
        await clock.sleep(LOOK_SECONDS)
