"""The Leases of a group of replicas: one says of each replica that it lives, one of each shard who holds it.

A replica renews only its own. The Lease of a shard is written when it changes hands, always over the version
that was read, so that of two who want it one has it. It holds for as long as its holder lives.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from longshore.api.errors import StatusError
from longshore.api.facts import kinds, own_names
from longshore.api.time import rfc3339
from longshore.api.types import Obj
from longshore.client import Client
from longshore.machinery.sharding.division import Division
from longshore.machinery.time.clock import Clock

_REPLICA: Final = "replica"
_SHARD: Final = "shard"


class Look(NamedTuple):
    """All Leases of the group at one moment, and when that was asked for and answered."""

    replicas: dict[str, Obj]
    """By the name of the Lease."""
    shards: dict[str, Obj]
    leader: Obj
    """The spec of the Lease of processes without shards; empty when there is none."""
    asked: float
    answered: float


class ShardLeases:
    """`group` is the name of the Lease that processes without shards would share."""

    def __init__(self, client: Client, namespace: str, group: str, division: Division, clock: Clock) -> None:
        self._client, self._namespace, self._group, self._clock = client, namespace, group, clock
        self._division = division

    def labels(self, role: str = _REPLICA) -> dict[str, str]:
        return {own_names.SHARDS_OF: self._group, own_names.SHARD_ROLE: role}

    @property
    def annotations(self) -> dict[str, str]:
        return {own_names.DIVISION: self._division.name}

    def replica_name(self, identity: str) -> str:
        return f"{self._group}-replica-{identity.lower().replace('_', '.')}"

    def shard_name(self, shard: int) -> str:
        return f"{self._group}-{self._division.name}-{shard}"

    async def look(self) -> Look:
        asked = self._clock.monotonic()
        wanted = f"{own_names.SHARDS_OF}={self._group}"
        found = await self._client.list(kinds.LEASES, self._namespace, labels=wanted)
        leader = await self._leader()
        by_role: dict[str, dict[str, Obj]] = {_REPLICA: {}, _SHARD: {}}
        for lease in found.items:
            role = lease["metadata"]["labels"].get(own_names.SHARD_ROLE)
            if role in by_role:
                by_role[role][lease["metadata"]["name"]] = lease
        return Look(by_role[_REPLICA], by_role[_SHARD], leader, asked, self._clock.monotonic())

    async def _leader(self) -> Obj:
        try:
            lease = await self._client.get(kinds.LEASES, self._group, self._namespace)
        except StatusError as err:
            if err.code != 404:
                raise
            return {}
        spec: Obj = lease.get("spec") or {}
        return spec

    async def take(self, shard: int, lease: Obj | None, identity: str, seconds: float) -> Obj:
        """The shard's Lease with this holder. Raises StatusError when somebody was quicker."""
        old: Obj = (lease or {}).get("spec") or {}
        now = rfc3339.micros_from_moment(self._clock.now())
        spec = {
            "holderIdentity": identity,
            "leaseDurationSeconds": int(seconds),
            "acquireTime": now,
            "renewTime": now,
            "leaseTransitions": (old.get("leaseTransitions") or 0) + 1,
        }
        if lease is not None:
            return await self._client.update(kinds.LEASES, {**lease, "spec": spec})
        meta = {
            "name": self.shard_name(shard),
            "namespace": self._namespace,
            "labels": self.labels(_SHARD),
            "annotations": self.annotations,
        }
        return await self._client.create(kinds.LEASES, {"metadata": meta, "spec": spec})

    async def release(self, lease: Obj) -> None:
        """Hands a shard's Lease back. Raises StatusError when it changed meanwhile."""
        spec = {key: value for key, value in lease["spec"].items() if key != "holderIdentity"}
        await self._client.update(kinds.LEASES, {**lease, "spec": spec | {"leaseDurationSeconds": 1}})

    async def forget(self, name: str) -> None:
        """Deletes the Lease of a replica that is gone."""
        await self._client.delete(kinds.LEASES, name, self._namespace)


def term(lease: Obj) -> int:
    """How often the shard's Lease has changed hands: larger for each holder than for those before it."""
    number: int = lease["spec"]["leaseTransitions"]
    return number
