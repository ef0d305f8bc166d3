"""The story of a namespace: what was made in it, and what keeps it from going."""

from __future__ import annotations

from typing import Final

from longshore.api.facts import conditions
from longshore.machinery.records import PROBLEM, Record
from longshore.why.deletion import deleted
from longshore.why.story import Line, View, of_event, of_record, once, problem

_HOLDING: Final = (
    "NamespaceDeletionDiscoveryFailure",
    "NamespaceDeletionGroupVersionParsingFailure",
    "NamespaceDeletionContentFailure",
    "NamespaceContentRemaining",
    "NamespaceFinalizersRemaining",
)


def lines(view: View) -> list[Line]:
    found = [line for record in view.own if (line := _line(record)) is not None]
    return once(found) if found else once(of_event(event) for event in view.events)


def _line(record: Record) -> Line | None:
    if gone := deleted(record, "namespace"):
        return gone
    if record.code == PROBLEM:
        return of_record(record, f"could not go on: {problem(record.words)}")
    match record.code:
        case "ContentDeleted":
            return of_record(record, f"deleted what is in it: {_contents(record)}")
        case "ContentRemains":
            return of_record(record, f"waits until these are gone: {_contents(record)}")
        case "Empty":
            return of_record(record, "it is empty, and goes")
    words = record.words
    for now_, then in (("creates ", "created "), ("binds ", "bound "), ("deletes ", "deleted ")):
        if words.startswith(now_):
            words = then + words.removeprefix(now_)
    return of_record(record, words.removesuffix(", which is not there"))


def _contents(record: Record) -> str:
    """`pods (3), jobs.batch (1)`, most first."""
    counts = sorted(record.numbers.items(), key=lambda item: (-int(item[1]), item[0]))
    return ", ".join(f"{name} ({count})" for name, count in counts)


def now(view: View) -> list[str]:
    if view.obj is None:
        return []
    if "deletionTimestamp" not in view.meta:
        return [f"the namespace is {view.status.get('phase') or 'Active'}"]
    held = [
        found["message"]
        for type_ in _HOLDING
        if (found := conditions.find(view.obj, type_)) is not None and found["status"] == "True"
    ]
    return [f"it is being deleted since {view.meta['deletionTimestamp']}", *held]


def following(view: View) -> list[str]:
    name = view.name
    if view.obj is None:
        return ["nothing: the namespace is gone"]
    if "deletionTimestamp" not in view.meta:
        return ["nothing: it takes new objects"]
    see = f"longshore get {_left(view)} -n {name}"
    found = conditions.find(view.obj, "NamespaceFinalizersRemaining")
    if found is not None and found["status"] == "True":
        return [
            "it goes when whoever set these finalizers has removed them from the objects that are left. "
            f"See them: {see} -o yaml"
        ]
    return [f"it goes when nothing is left in it. See what is: {see}"]


def _left(view: View) -> str:
    """The kinds of the objects that were seen last, as `longshore get` takes them."""
    for record in reversed(view.own):
        if record.code == "ContentRemains" and record.numbers:
            return ",".join(sorted(record.numbers))
    return "jobs,pods,pvc"
