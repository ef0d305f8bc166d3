"""What a queue does next. A pure function of the queue, its parent, its children and what was asked.

Which state follows from which is a table. A queue that still has pod groups, finished ones included, is
Closing until the last of them is gone. Children close with their parent and are marked, so that they open
with it again; a child that somebody closed by hand stays closed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from longshore.api.types import Obj
from longshore.machinery.queues.try_again import TryAgain

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


class ParentShut(TryAgain):
    """The parent queue is closing or closed; it may be on its way to open, so this is tried again."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Writes in this order: marks of children, state, parent, own mark. Then what is asked of whom."""

    why: str
    adopt: bool = False
    """Set the parent to root."""
    mark_children: tuple[str, ...] = ()
    """Children to be marked as closed by their parent."""
    state: str | None = None
    """The state to write; None when it stays."""
    mark: str | None = None
    """What the queue's own mark becomes; None when it stays."""
    ask: tuple[tuple[str, str], ...] = ()
    """Queues and the actions asked of them."""
    event: str = ""
    """What is said to have succeeded."""

    @property
    def writes(self) -> bool:
        return bool(self.adopt or self.mark_children or self.state is not None or self.mark is not None)


@dataclass(frozen=True, slots=True)
class View:
    """A queue among its relatives, and how many pod groups it has."""

    queue: Obj
    parent: Obj | None
    children: Sequence[Obj]
    groups: int


def decide(view: View, action: str) -> Plan:
    """What to do. Raises ParentShut for a queue that cannot open yet."""
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
        raise ParentShut(
            f"Failed to open queue {name} because its parent queue {above} is closing or closed. "
            "Open the parent queue first."
        )
    ask = tuple((c["metadata"]["name"], OPEN) for c in view.children if mark_of(c) == "true")
    mark = "false" if mark_of(view.queue) != "false" else None
    return Plan("it was asked to open", state=written, mark=mark, ask=ask, event=OPEN)


def _close(view: View, name: str, written: str | None) -> Plan:
    """Closes, children first."""
    if name == ROOT:
        return Plan("root cannot be closed")
    open_children = [c for c in view.children if state_of(c) not in _SHUT]
    ask = tuple((c["metadata"]["name"], CLOSE) for c in open_children)
    marks = tuple(c["metadata"]["name"] for c in open_children if mark_of(c) != "true")
    return Plan("it was asked to close", mark_children=marks, state=written, ask=ask, event=CLOSE)


def _follow_parent(view: View, state: str, written: str | None) -> Plan:
    """Settles the state, and closes or opens with the parent."""
    queue, name = view.queue, view.queue["metadata"]["name"]
    adopt = name != ROOT and not parent_of(queue) and state != "Closing"  # which nobody may edit
    above = state_of(view.parent) if name != ROOT else ""
    if above in _SHUT and state not in _SHUT:
        mark = "true" if mark_of(queue) != "true" else None
        return Plan("its parent is shut", adopt, state=written, mark=mark, ask=((name, CLOSE),))
    if above == "Open" and state in _SHUT and mark_of(queue) == "true":
        return Plan("its parent is open again", adopt, state=written, ask=((name, OPEN),))
    return Plan("it is as it should be", adopt, state=written)


def state_of(queue: Obj | None) -> str:
    state: str = ((queue or {}).get("status") or {}).get("state") or ""
    return state


def parent_of(queue: Obj) -> str:
    parent: str = (queue.get("spec") or {}).get("parent") or ""
    return parent


def mark_of(queue: Obj) -> str:
    mark: str = (queue["metadata"].get("annotations") or {}).get(MARK, "")
    return mark
