"""The story of a namespace: what was created in it, and what delays its deletion."""

from __future__ import annotations

from typing import Final

from longshore.api.facts import conditions
from longshore.why.deletion import line
from longshore.why.story import Line, StoryView, of_event, once

_HOLDING: Final = (
    "NamespaceDeletionDiscoveryFailure",
    "NamespaceDeletionGroupVersionParsingFailure",
    "NamespaceDeletionContentFailure",
    "NamespaceContentRemaining",
    "NamespaceFinalizersRemaining",
)


def lines(view: StoryView) -> list[Line]:
    found = [each for record in view.own if (each := line(record, "namespace")) is not None]
    return once(found) if found else once(of_event(event) for event in view.events)


def now(view: StoryView) -> list[str]:
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


def following(view: StoryView) -> list[str]:
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


def _left(view: StoryView) -> str:
    """The kinds of objects that were left when last seen, as `longshore get` accepts them."""
    for record in reversed(view.own):
        if record.code == "ContentRemains" and record.numbers:
            return ",".join(sorted(record.numbers))
    return "jobs,pods,pvc"
