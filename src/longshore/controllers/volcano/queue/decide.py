"""The next step of a queue. A pure function of the queue, its parent, its children and the command.

Which state follows from which is a table. A queue that still has pod groups, finished ones included, is
Closing until the last of them is gone. Children close with their parent and are marked, so that they open
with it again; a child that somebody closed by hand stays closed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from longshore.api.types import Obj
from longshore.machinery.reasons import Number, Reason

SYNC, OPEN, CLOSE = "SyncQueue", "OpenQueue", "CloseQueue"
ROOT: Final = "root"
MARK: Final = "volcano.sh/closed-by-parent"
_KEEP, _BY_GROUPS = "keep", "Closed, or Closing while there are pod groups"
_SHUT: Final = ("Closed", "Closing")
NEXT: Final[dict[str, dict[str, str]]] = {
    SYNC: {"": "Open", "Open": "Open", "Closed": "Closed", "Closing": _BY_GROUPS, "Unknown": _KEEP},
    OPEN: {"": "Open", "Open": "Open", "Closed": "Open", "Closing": "Open", "Unknown": "Open"},
    CLOSE: {"": _BY_GROUPS, "Open": _BY_GROUPS, "Closed": "Closed", "Closing": _BY_GROUPS,
            "Unknown": _BY_GROUPS},
}  # fmt: skip
"""Action -> state -> state. Any other action is a sync."""


class Plan(msgspec.Struct, frozen=True):
    """Writes in this order: marks of children, state, parent, own mark. Then what is asked of whom."""

    why: tuple[Reason, ...]
    adopt: bool = False
    """Set the parent to root."""
    mark_children: tuple[str, ...] = ()
    """Children to be marked as closed by their parent."""
    state: str | None = None
    """The state to write; None when it stays."""
    mark: str | None = None
    """The queue's new mark; None when it stays."""
    ask: tuple[tuple[str, str], ...] = ()
    """Queues and the actions asked of them."""
    event: str = ""
    """The text of the success event."""
    problem: str = ""
    """The obstacle to a command. It may not last, so the command is tried again."""
    look_again: float | None = None
    """Never: only a change calls for another look."""

    @property
    def acts(self) -> bool:
        """Whether it writes, or asks somebody for something."""
        marks = self.mark_children or self.mark is not None
        return bool(self.adopt or marks or self.state is not None or self.ask)


class View(msgspec.Struct, frozen=True):
    """A queue among its relatives, and how many pod groups it has."""

    queue: Obj
    parent: Obj | None
    children: Sequence[Obj]
    groups: int


def decide(view: View, action: str) -> Plan:
    """The plan for the queue."""
    queue = view.queue
    state, name = state_of(queue), queue["metadata"]["name"]
    following = NEXT.get(action, NEXT[SYNC])[state if state in NEXT[SYNC] else "Unknown"]
    if following == _KEEP:
        following = state
    elif following == _BY_GROUPS:
        following = "Closing" if view.groups else "Closed"
    written = following if following != state else None
    if action == OPEN and state not in ("", "Open"):
        return _open(view, written)
    if action == CLOSE and state not in _SHUT:
        return _close(view, name, written)
    return _follow_parent(view, following, written)


def _open(view: View, written: str | None) -> Plan:
    """Opens, and then the children that closed with it."""
    name, above = view.queue["metadata"]["name"], parent_of(view.queue)
    if above not in ("", ROOT) and state_of(view.parent) in _SHUT:
        problem = (
            f"Failed to open queue {name} because its parent queue {above} is closing or closed. "
            "Open the parent queue first."
        )
        return Plan((Reason("ParentShut", f"cannot open below {above}, which is shut"),), problem=problem)
    ask = tuple((c["metadata"]["name"], OPEN) for c in view.children if mark_of(c) == "true")
    mark = "false" if mark_of(view.queue) != "false" else None
    why = _why("AskedToOpen", "it is asked to open", {"children": len(ask)})
    return Plan(why, state=written, mark=mark, ask=ask, event=OPEN)


def _close(view: View, name: str, written: str | None) -> Plan:
    """Closes, children first."""
    if name == ROOT:
        return Plan(_why("RootStaysOpen", "root cannot be closed"))
    open_children = [c for c in view.children if state_of(c) not in _SHUT]
    ask = tuple((c["metadata"]["name"], CLOSE) for c in open_children)
    marks = tuple(c["metadata"]["name"] for c in open_children if mark_of(c) != "true")
    words = "it is asked to close"
    if view.groups:
        words += f", and does when its {view.groups} pod groups are gone"
    why = _why("AskedToClose", words, {"children": len(ask), "podGroups": view.groups})
    return Plan(why, mark_children=marks, state=written, ask=ask, event=CLOSE)


def _follow_parent(view: View, state: str, written: str | None) -> Plan:
    """Settles the state, and closes or opens with the parent."""
    queue, name = view.queue, view.queue["metadata"]["name"]
    adopt = name != ROOT and not parent_of(queue) and state != "Closing"  # which nobody may edit
    above = state_of(view.parent) if name != ROOT else ""
    if above in _SHUT and state not in _SHUT:
        mark = "true" if mark_of(queue) != "true" else None
        why = _why("ParentShut", "closes with its parent")
        return Plan(why, adopt, state=written, mark=mark, ask=((name, CLOSE),))
    if above == "Open" and state in _SHUT and mark_of(queue) == "true":
        return Plan(_why("ParentOpen", "opens with its parent"), adopt, state=written, ask=((name, OPEN),))
    if written is None and not adopt:
        return Plan(_why("AsItShouldBe", "it is as it should be"))
    why = _why("Settled", f"is {written} now") if written else ()
    why += _why("Adopted", "has no parent: root becomes it") if adopt else ()
    return Plan(why, adopt, state=written)


def _why(code: str, words: str, numbers: Mapping[str, Number] | None = None) -> tuple[Reason, ...]:
    return (Reason(code, words, numbers) if numbers else Reason(code, words),)


def state_of(queue: Obj | None) -> str:
    state: str = ((queue or {}).get("status") or {}).get("state") or ""
    return state


def parent_of(queue: Obj) -> str:
    parent: str = (queue.get("spec") or {}).get("parent") or ""
    return parent


def mark_of(queue: Obj) -> str:
    mark: str = (queue["metadata"].get("annotations") or {}).get(MARK, "")
    return mark
