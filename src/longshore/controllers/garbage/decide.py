"""The decision about one object, from its metadata, the state of its owners and the number of its dependents.

A pure function: no I/O, and the same answer however often it is asked. An object is deleted only if no owner
it names is there to keep it; it is kept whenever something about an owner cannot be known.
"""

from __future__ import annotations

from enum import Enum
from typing import Final, NamedTuple

import msgspec
from msgspec.structs import replace

from longshore.api.strategy import Propagation
from longshore.api.time.doubling import Doubling
from longshore.api.types import Obj
from longshore.controllers.garbage import references
from longshore.controllers.garbage.references import FOREGROUND, ORPHAN, Reference
from longshore.machinery.reasons import Reason

_POLLS: Final = Doubling(0.1, 300.0)


class Owner(Enum):
    """The state of an owner that one reference names."""

    SOLID = "is there"
    WAITING = "waits for its dependents to be deleted"
    DANGLING = "does not exist"
    UNKNOWN = "is of a kind that the server does not serve now"
    UNRESOLVABLE = "is namespaced, which an object without a namespace cannot name"


class Live(NamedTuple):
    """An object as the server had it when it refused to delete the version that was seen."""

    meta: Obj | None
    """None when it was gone."""


class View(msgspec.Struct, frozen=True):
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
    polls: int = 0
    """How often in a row it was looked at because an owner's kind was unknown."""
    live: Live | None = None
    """The answer of the server to a delete of what `meta` says; None before there is one."""


class Action(Enum):
    NOTHING = "leave it"
    LOOK_AGAIN = "leave it, and look again after a while"
    DELETE = "delete it"
    DROP_REFERENCES = "remove the references in `references` from it"
    UNBLOCK = "let none of its owners wait for it"
    ORPHAN_DEPENDENTS = "remove it from the references of its dependents"
    REMOVE_FINALIZER = "remove `finalizer` from it"
    FORGET = "take it for gone"
    START_OVER = "look at it again, from the beginning"


class Plan(msgspec.Struct, frozen=True):
    action: Action
    why: tuple[Reason, ...]
    policy: Propagation | None = None
    """How to delete."""
    references: tuple[str, ...] = ()
    """Uids of owners."""
    finalizer: str = ""
    any_version: bool = False
    """Whether to delete it in whichever state it is, not only in the one that was seen."""
    look_again: float | None = None
    """Seconds; None when it is looked at again once it, an owner or a dependent changes."""

    @property
    def does_something(self) -> bool:
        return self.action not in (Action.NOTHING, Action.LOOK_AGAIN)


_DELETING: Final = Reason("DeletedAlready", "it is being deleted already")
_UNOWNED: Final = Reason("NoOwner", "it has no owner")


def decide(view: View) -> Plan:
    """The next step for one object that was seen. Carrying out any part of it twice does no harm."""
    if view.live is not None:
        return _changed_meanwhile(view, view.live.meta)
    meta = view.meta
    if references.orphaning(meta):
        return _let_go(view)
    if references.in_foreground(meta):
        return _wait(view)
    if references.deleting(meta):
        return Plan(Action.NOTHING, (_DELETING,))
    if not view.refs:
        return Plan(Action.NOTHING, (_UNOWNED,))
    return _judge(view)


def pause(polls: int) -> float:
    """Seconds until an owner that cannot be known yet is asked for again."""
    return _POLLS.after(polls + 1)


def _changed_meanwhile(view: View, live: Obj | None) -> Plan:
    """The object was to be deleted and has changed. If its owners are the same, it goes in whichever state it
    is, unless it is being deleted already."""
    if live is None or live["uid"] != view.meta["uid"]:
        return Plan(Action.FORGET, (Reason("GoneAlready", "it is gone already"),))
    if live.get("ownerReferences") != view.meta.get("ownerReferences"):
        return Plan(Action.START_OVER, (Reason("OwnersChanged", "its owners changed meanwhile"),))
    again = decide(replace(view, meta=live, live=None))
    if again.action is Action.DELETE:
        return replace(again, any_version=True)
    return Plan(Action.NOTHING, again.why)


def _let_go(view: View) -> Plan:
    if view.dependents:
        words, numbers = f"it leaves {view.dependents} dependents behind", {"dependents": view.dependents}
        return Plan(Action.ORPHAN_DEPENDENTS, (Reason("DependentsOrphaned", words, numbers),))
    why = Reason("NoDependents", "no dependent names it any more")
    return Plan(Action.REMOVE_FINALIZER, (why,), finalizer=ORPHAN)


def _wait(view: View) -> Plan:
    if not view.blocking:
        why = Reason("NothingBlocks", "no dependent holds it back any more")
        return Plan(Action.REMOVE_FINALIZER, (why,), finalizer=FOREGROUND)
    numbers = {"blocking": view.blocking}
    if view.deadlocked:
        words = "it and its dependents wait for each other in a ring"
        return Plan(Action.UNBLOCK, (Reason("RingOfOwners", words, numbers),))
    words = f"it waits for {view.blocking} dependents to be deleted"
    return Plan(Action.NOTHING, (Reason("DependentsRemain", words, numbers),))


def _judge(view: View) -> Plan:
    """A dependent: its owners decide."""
    for ref, state in zip(view.refs, view.owners, strict=True):
        if state is Owner.UNKNOWN:
            return Plan(Action.LOOK_AGAIN, (_say(ref, state),), look_again=pause(view.polls))
        if state is Owner.UNRESOLVABLE:
            return Plan(Action.NOTHING, (_say(ref, state),))
    solid = [ref for ref, state in zip(view.refs, view.owners, strict=True) if state is Owner.SOLID]
    if not solid:
        return _delete(view)
    kept = {ref.uid for ref in solid}
    others = tuple(dict.fromkeys(ref.uid for ref in view.refs if ref.uid not in kept))
    there = _say(solid[0], Owner.SOLID)
    if not others:
        return Plan(Action.NOTHING, (there,))
    gone = Reason("OwnersGone", f"{len(others)} other owners are not there", {"owners": len(others)})
    return Plan(Action.DROP_REFERENCES, (there, gone), references=others)


def _delete(view: View) -> Plan:
    states = dict(zip(view.owners, view.refs, strict=True))
    waiting = states.get(Owner.WAITING)
    if waiting is not None and view.dependents:
        numbers = {"dependents": view.dependents}
        own = Reason("OwnDependents", f"it has {view.dependents} dependents itself", numbers)
        why = (_say(waiting, Owner.WAITING), own)
        if view.deleting_dependents and any(ref.blocks for ref in view.refs):
            # The owner may wait for this object, which would wait for a dependent that waits for the owner.
            ring = Reason("DependentInForeground", "one of these is being deleted in the foreground")
            return Plan(Action.UNBLOCK, (*why, ring))
        return Plan(Action.DELETE, why, policy="Foreground")
    because = _say(waiting, Owner.WAITING) if waiting is not None else _say(view.refs[0], Owner.DANGLING)
    finalizers = view.meta.get("finalizers") or ()
    if ORPHAN in finalizers:
        return Plan(Action.DELETE, (because,), policy="Orphan")
    if FOREGROUND in finalizers:
        return Plan(Action.DELETE, (because,), policy="Foreground")
    return Plan(Action.DELETE, (because,), policy="Background")


_CODES: Final = {
    Owner.SOLID: "OwnerPresent",
    Owner.WAITING: "OwnerWaiting",
    Owner.DANGLING: "OwnerGone",
    Owner.UNKNOWN: "OwnerKindUnknown",
    Owner.UNRESOLVABLE: "OwnerUnresolvable",
}


def _say(ref: Reference, state: Owner) -> Reason:
    return Reason(_CODES[state], f"its owner {ref.kind} {ref.name} {state.value}")
