"""What to do about one object, from its metadata, the state of its owners and the number of its dependents.

A pure function: no I/O, and the same answer however often it is asked. An object is deleted only if no owner
it names is there to keep it; it is kept whenever something about an owner cannot be known.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from longshore.api.strategy import Propagation
from longshore.api.types import Obj
from longshore.controllers.garbage import references
from longshore.controllers.garbage.references import FOREGROUND, ORPHAN, Reference


class Owner(Enum):
    """What became of an owner, as one reference names it."""

    SOLID = "is there"
    WAITING = "waits for its dependents to be deleted"
    DANGLING = "does not exist"
    UNKNOWN = "is of a kind that the server does not serve now"
    UNRESOLVABLE = "is namespaced, which an object without a namespace cannot name"


@dataclass(frozen=True, slots=True)
class View:
    """All that `decide` may know. `owners` has the state of each of `refs`."""

    meta: Obj
    refs: tuple[Reference, ...] = ()
    owners: tuple[Owner, ...] = ()
    dependents: int = 0
    blocking: int = 0
    """Dependents that hold back this object's own foreground deletion."""
    deadlocked: bool = False
    """Whether those wait for this object in turn."""
    deleting_dependents: bool = False
    """Whether some dependent is itself in foreground deletion."""


class Action(Enum):
    NOTHING = "leave it"
    LOOK_AGAIN = "leave it, and look again after a while"
    DELETE = "delete it"
    DROP_REFERENCES = "remove the references in `references` from it"
    UNBLOCK = "let none of its owners wait for it"
    ORPHAN_DEPENDENTS = "remove it from the references of its dependents"
    REMOVE_FINALIZER = "remove `finalizer` from it"


@dataclass(frozen=True, slots=True)
class Plan:
    action: Action
    why: str
    policy: Propagation | None = None
    """How to delete."""
    references: tuple[str, ...] = ()
    """Uids of owners."""
    finalizer: str = ""


def decide(view: View) -> Plan:
    """The next step for one object that was seen. Carrying out any part of it twice does no harm."""
    meta = view.meta
    if references.orphaning(meta):
        return _let_go(view)
    if references.in_foreground(meta):
        return _wait(view)
    if references.deleting(meta):
        return Plan(Action.NOTHING, "it is being deleted already")
    if not view.refs:
        return Plan(Action.NOTHING, "it has no owner")
    return _judge(view)


def _let_go(view: View) -> Plan:
    if view.dependents:
        return Plan(Action.ORPHAN_DEPENDENTS, f"it leaves {view.dependents} dependents behind")
    return Plan(Action.REMOVE_FINALIZER, "no dependent names it any more", finalizer=ORPHAN)


def _wait(view: View) -> Plan:
    if not view.blocking:
        return Plan(Action.REMOVE_FINALIZER, "no dependent holds it back any more", finalizer=FOREGROUND)
    if view.deadlocked:
        return Plan(Action.UNBLOCK, "it and its dependents wait for each other in a ring")
    return Plan(Action.NOTHING, f"it waits for {view.blocking} dependents to be deleted")


def _judge(view: View) -> Plan:
    """A dependent: its owners decide."""
    for ref, state in zip(view.refs, view.owners, strict=True):
        if state is Owner.UNKNOWN:
            return Plan(Action.LOOK_AGAIN, _say(ref, state))
        if state is Owner.UNRESOLVABLE:
            return Plan(Action.NOTHING, _say(ref, state))
    solid = [ref for ref, state in zip(view.refs, view.owners, strict=True) if state is Owner.SOLID]
    kept = {ref.uid for ref in solid}
    others = tuple(dict.fromkeys(ref.uid for ref in view.refs if ref.uid not in kept))
    if solid:
        if others:
            why = f"{_say(solid[0], Owner.SOLID)}, and {len(others)} other owners are not"
            return Plan(Action.DROP_REFERENCES, why, references=others)
        return Plan(Action.NOTHING, _say(solid[0], Owner.SOLID))
    return _delete(view)


def _delete(view: View) -> Plan:
    states = dict(zip(view.owners, view.refs, strict=True))
    waiting = states.get(Owner.WAITING)
    if waiting is not None and view.dependents:
        why = f"{_say(waiting, Owner.WAITING)}, and it has {view.dependents} dependents itself"
        if view.deleting_dependents and any(ref.blocks for ref in view.refs):
            # The owner may wait for this object, which would wait for a dependent that waits for the owner.
            return Plan(Action.UNBLOCK, f"{why}, one of which is being deleted in the foreground")
        return Plan(Action.DELETE, why, policy="Foreground")
    why = _say(waiting, Owner.WAITING) if waiting is not None else _say(view.refs[0], Owner.DANGLING)
    finalizers = view.meta.get("finalizers") or ()
    if ORPHAN in finalizers:
        return Plan(Action.DELETE, why, policy="Orphan")
    if FOREGROUND in finalizers:
        return Plan(Action.DELETE, why, policy="Foreground")
    return Plan(Action.DELETE, why, policy="Background")


def _say(ref: Reference, state: Owner) -> str:
    return f"its owner {ref.kind} {ref.name} {state.value}"
