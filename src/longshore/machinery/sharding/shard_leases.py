"""The Leases of a group of processes: one for each shard, and one for a leader without shards.

A holder counts as alive if its Lease has changed within its duration, by the clock of the reading process.
The age of a Lease counts from the answer that showed its change to the next request: so no holder counts as
dead while a renewal of it might still be unseen.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from longshore.api.errors import StatusError
from longshore.api.facts import kinds, own_names
from longshore.api.types import Obj
from longshore.client import Client
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
    """Reads the Leases of a group. `group` is the name of the Lease that processes without shards share."""

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
