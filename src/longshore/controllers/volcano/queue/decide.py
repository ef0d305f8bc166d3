"""Decides the next step of a queue. A pure function of the queue, its parent, its children and the Command.

A table gives the next state. A queue that still has PodGroups, including finished ones, is Closing until the
last of them is gone. Children close with their parent and are marked, so that they open with it again; a
child that was closed by its own Command stays closed.
"""

from __future__ import annotations

from collections.abc import Sequence
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
"""The next state by action and state. Any other action is a sync."""


class QueuePlan(msgspec.Struct, frozen=True):
    """Writes in this order: marks of children, state, parent, own mark. Then queues the actions in `ask`."""

    why: tuple[Reason, ...]
    adopt: bool = False
    """Whether to set the parent to root."""
    mark_children: tuple[str, ...] = ()
    """Children to mark as closed by their parent."""
    state: str | None = None
    """The state to write; None if it does not change."""
    mark: str | None = None
    """The queue's new mark; None if it does not change."""
    ask: tuple[tuple[str, str], ...] = ()
    """Names of queues, with the actions to queue for them."""
    event: str = ""
    """The action whose success event is sent."""
    is_refused: bool = False
    """Whether a Command cannot be carried out now. It is retried, since the obstacle may go away."""
    look_again: float | None = None
    """Always None: only a change causes another sync."""

    @property
    def acts(self) -> bool:
        """Whether the plan writes, or queues an action."""
        marks = self.mark_children or self.mark is not None
        return bool(self.adopt or marks or self.state is not None or self.ask)


class QueueView(msgspec.Struct, frozen=True):
    """A queue with its parent and children, and the number of its PodGroups."""

    queue: Obj
    parent: Obj | None
    children: Sequence[Obj]
    groups: int


def decide(view: QueueView, action: str) -> QueuePlan:
    """Returns the plan for the queue."""
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


def _open(view: QueueView, written: str | None) -> QueuePlan:
    """Opens the queue, then the children that closed with it."""
    name, above = view.queue["metadata"]["name"], parent_of(view.queue)
    if above not in ("", ROOT) and state_of(view.parent) in _SHUT:
        return QueuePlan(_why("ParentShut", queue=name, parent=above), is_refused=True)
    ask = tuple((c["metadata"]["name"], OPEN) for c in view.children if mark_of(c) == "true")
    mark = "false" if mark_of(view.queue) != "false" else None
    why = _why("AskedToOpen", children=len(ask))
    return QueuePlan(why, state=written, mark=mark, ask=ask, event=OPEN)


def _close(view: QueueView, name: str, written: str | None) -> QueuePlan:
    """Closes the queue and its open children."""
    if name == ROOT:
        return QueuePlan(_why("RootStaysOpen"))
    open_children = [c for c in view.children if state_of(c) not in _SHUT]
    ask = tuple((c["metadata"]["name"], CLOSE) for c in open_children)
    marks = tuple(c["metadata"]["name"] for c in open_children if mark_of(c) != "true")
    why = _why("AskedToClose", children=len(ask), podGroups=view.groups)
    return QueuePlan(why, mark_children=marks, state=written, ask=ask, event=CLOSE)


def _follow_parent(view: QueueView, state: str, written: str | None) -> QueuePlan:
    """Writes the state, and closes or opens the queue with its parent."""
    queue, name = view.queue, view.queue["metadata"]["name"]
    adopt = name != ROOT and not parent_of(queue) and state != "Closing"  # a Closing queue cannot be edited
    above = state_of(view.parent) if name != ROOT else ""
    if above in _SHUT and state not in _SHUT:
        mark = "true" if mark_of(queue) != "true" else None
        why = _why("ParentShut")
        return QueuePlan(why, adopt, state=written, mark=mark, ask=((name, CLOSE),))
    if above == "Open" and state in _SHUT and mark_of(queue) == "true":
        return QueuePlan(_why("ParentOpen"), adopt, state=written, ask=((name, OPEN),))
    if written is None and not adopt:
        return QueuePlan(_why("AsItShouldBe"))
    why = _why("Settled", state=written) if written else ()
    why += _why("Adopted") if adopt else ()
    return QueuePlan(why, adopt, state=written)


def _why(code: str, **numbers: Number) -> tuple[Reason, ...]:
    return (Reason(code, numbers),)


def state_of(queue: Obj | None) -> str:
    state: str = ((queue or {}).get("status") or {}).get("state") or ""
    return state


def parent_of(queue: Obj) -> str:
    parent: str = (queue.get("spec") or {}).get("parent") or ""
    return parent


def mark_of(queue: Obj) -> str:
    mark: str = (queue["metadata"].get("annotations") or {}).get(MARK, "")
    return mark
