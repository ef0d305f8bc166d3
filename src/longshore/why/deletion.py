"""Who deleted it: a person, the garbage collector, the TTL controller, or the collector of ended pods."""

from __future__ import annotations

from typing import Final

from longshore.machinery.records import Record
from longshore.why.story import Line, of_record

ASKED: Final = "DeletedBy"
"""The code of a record of the API server: somebody asked it to delete the object."""
_COLLECTED: Final = {
    "garbage collector": frozenset(("OwnerGone", "OwnerWaiting")),
    "pod collector": frozenset(("DeletedUnscheduled", "NodeGone", "NodeOutOfService", "TooManyEnded")),
}
"""The codes with which a collector deletes something."""


def deleted(record: Record, title: str) -> Line | None:
    """The line of a record that tells of a deletion; None for any other."""
    if record.code == ASKED:
        numbers = record.numbers
        agent = f" with {numbers['agent']}" if numbers.get("agent") else ""
        return of_record(record, f"{numbers.get('user')} deleted the {title}{agent}")
    if record.who in _COLLECTED:
        if record.code in _COLLECTED[record.who]:
            return of_record(record, f"the {record.who} deleted it: {record.words}")
        if record.code == "DependentsOrphaned":
            many = record.numbers.get("dependents")
            return of_record(record, f"its {many} dependents stay, as they were not to be deleted with it")
        return of_record(record, f"{record.who}: {record.words}")
    if record.code == "TtlOver":
        ttl = record.numbers.get("ttlSeconds")
        return of_record(record, f"the TTL controller deleted it: ttlSecondsAfterFinished is {ttl}")
    return None
