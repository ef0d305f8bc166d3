"""The cause of a deletion: a person, the garbage collector, the TTL controller, or the pod collector."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Final

from longshore.machinery import catalogue
from longshore.machinery.catalogue import Place
from longshore.machinery.records import PROBLEM, Record
from longshore.why.story import Line, StoryView, could_not, of_record

ASKED: Final = "DeletedBy"
"""The code of the API server's record that a user asked to delete the object."""
ITSELF: Final = "longshore"
"""The user in such a record if a part of longshore asked for the deletion."""
_COLLECTED: Final[Mapping[str, frozenset[str]]] = {
    "garbage collector": frozenset(("OwnerGone", "OwnerWaiting")),
    "pod collector": frozenset(("DeletedUnscheduled", "NodeGone", "NodeOutOfService", "TooManyEnded")),
}
"""The reason codes with which each collector deletes an object."""


_RELEASES: Final = {
    "foregroundDeletion": "the objects that it owns are gone",
    "orphan": "the objects that it owns no longer name it as their owner",
    "batch.kubernetes.io/job-tracking": "its Job has counted it",
    "kubernetes.io/pv-protection": "no claim has it any more",
    "kubernetes.io/pvc-protection": "no pod uses it any more",
}
"""By finalizer, the condition under which it is removed."""


def without_repeated_deletions(records: Sequence[Record]) -> list[Record]:
    """The records, except deletions by longshore whose reason a controller recorded too."""
    told = {int(record.at) for record in records if _collects(record)}
    return [record for record in records if not _is_repeated(record, told)]


def _is_repeated(record: Record, told: Collection[int]) -> bool:
    if record.code != ASKED or record.numbers.get("user") != ITSELF:
        return False
    return any(int(record.at) + off in told for off in (-1, 0, 1))


def _collects(record: Record) -> bool:
    return record.code == "TtlOver" or record.code in _COLLECTED.get(record.who, ())


def going(view: StoryView) -> tuple[str, str] | None:
    """State and next step of an object that finalizers keep from being deleted; None for any other."""
    held = view.meta.get("finalizers")
    if "deletionTimestamp" not in view.meta or not held:
        return None
    steps = [_RELEASES.get(name) or f"the client that set the finalizer {name} removes it" for name in held]
    users = [pod["metadata"]["name"] for pod in view.pods] if view.kind.word == "pvc" else []
    by = f": {', '.join(users[:5])}" if users else ""
    return f"it is being deleted, held by {', '.join(held)}", f"it goes when {' and '.join(steps)}{by}"


def asked(record: Record, what: str) -> str:
    """A sentence that names the user that deleted something, and the program if it is known."""
    numbers = record.numbers
    agent = f" with {numbers['agent']}" if numbers.get("agent") else ""
    return f"{numbers.get('user')} deleted {what}{agent}"


def deleted(record: Record, title: str) -> Line | None:
    """The line of a record about a deletion; None for any other record."""
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
            return of_record(record)
        return of_record(record, f"{record.who}: {record.words}")
    if record.code == "TtlOver":
        return of_record(record)
    return None


def line(record: Record, title: str) -> Line | None:
    """The line of a record that reads the same for every kind; None for a step, which belongs to the present
    state."""
    if catalogue.place(record.code) is Place.STEP:
        return None
    if gone := deleted(record, title):
        return gone
    return could_not(record) if record.code == PROBLEM else of_record(record)
