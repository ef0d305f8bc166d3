"""Which replica should hold which shard: everybody the same number, and nothing moves without need.

Pure, and the same in every replica that sees the same Leases. Where replicas see different ones for a moment,
the Leases themselves decide: this is only whom each shard is meant for.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from longshore.machinery.sharding.division import weight


def meant_for(count: int, holders: Mapping[int, str], members: Collection[str]) -> dict[int, str]:
    """The member that each shard is meant for; empty without members.

    `holders` are those of the shards that a member holds. A member keeps what it has up to its number; what
    is too much, and what nobody has, goes to members that have too little.
    """
    if not members:
        return {}
    held: dict[str, list[int]] = {member: [] for member in members}
    for shard, holder in holders.items():
        if holder in held:
            held[holder].append(shard)
    room = _numbers(count, held)
    meant: dict[int, str] = {}
    for member, shards in held.items():
        for shard in sorted(shards, key=lambda shard: _weight(member, shard), reverse=True)[: room[member]]:
            meant[shard] = member
            room[member] -= 1
    for shard in range(count):
        if shard not in meant:
            best = max((m for m in members if room[m]), key=lambda m: _weight(m, shard))
            meant[shard] = best
            room[best] -= 1
    return meant


def _numbers(count: int, held: Mapping[str, list[int]]) -> dict[str, int]:
    """How many shards each member should have. Who has most by now has the one that is left over."""
    each, over = divmod(count, len(held))
    by_need = sorted(held, key=lambda member: (-len(held[member]), member))
    return {member: each + (place < over) for place, member in enumerate(by_need)}


def _weight(member: str, shard: int) -> int:
    return weight(member, str(shard))
