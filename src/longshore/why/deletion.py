"""Who deleted it: a person, the garbage collector, the TTL controller, or the collector of ended pods."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Final

from longshore.machinery.records import Record
from longshore.why.story import Line, counted, of_record

ASKED: Final = "DeletedBy"
"""The code of a record of the API server: somebody asked it to delete the object."""
ITSELF: Final = "longshore"
"""The user, in such a record, if a part of longshore asked."""
_COLLECTED: Final[Mapping[str, frozenset[str]]] = {
    "garbage collector": frozenset(("OwnerGone", "OwnerWaiting")),
    "pod collector": frozenset(("DeletedUnscheduled", "NodeGone", "NodeOutOfService", "TooManyEnded")),
}
"""The codes with which a collector deletes something."""


def by_somebody(records: Sequence[Record]) -> list[Record]:
    """The records, without the deletions by longshore itself of which one of its parts tells the reason."""
    told = {int(record.at) for record in records if _collects(record)}
    return [record for record in records if not _is_told(record, told)]


def _is_told(record: Record, told: Collection[int]) -> bool:
    if record.code != ASKED or record.numbers.get("user") != ITSELF:
        return False
    return any(int(record.at) + off in told for off in (-1, 0, 1))


def _collects(record: Record) -> bool:
    return record.code == "TtlOver" or record.code in _COLLECTED.get(record.who, ())


def asked(record: Record, what: str) -> str:
    """Who deleted something, and with which program if that is known."""
    numbers = record.numbers
    agent = f" with {numbers['agent']}" if numbers.get("agent") else ""
    return f"{numbers.get('user')} deleted {what}{agent}"


def deleted(record: Record, title: str) -> Line | None:
    """The line of a record that tells of a deletion; None for any other."""
    if record.code == ASKED:
        numbers = record.numbers
        if numbers.get("user") == ITSELF:
            owner = f", for its {numbers['kind']} {numbers['owner']}" if numbers.get("owner") else ""
            return of_record(record, f"longshore deleted the {title}{owner}")
        return of_record(record, asked(record, f"the {title}"))
    if record.who in _COLLECTED:
        if record.code in _COLLECTED[record.who]:
            return of_record(record, f"the {record.who} deleted it: {record.words}")
        if record.code == "DependentsOrphaned":
            many = counted(int(record.numbers.get("dependents", 0)), "dependent")
            return of_record(record, f"left behind: {many}, not to be deleted with it")
        return of_record(record, f"{record.who}: {record.words}")
    if record.code == "TtlOver":
        ttl = record.numbers.get("ttlSeconds")
        return of_record(record, f"the TTL controller deleted it: ttlSecondsAfterFinished is {ttl}")
    return None
