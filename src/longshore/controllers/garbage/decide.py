"""Decides about one object from its metadata, the state of its owners and the number of its dependents.

Pure. An object is deleted only if each owner that it names is gone or in foreground deletion; it is kept if
the state of any owner is unknown.
"""

from __future__ import annotations

from enum import Enum
from typing import Final, NamedTuple

import msgspec
from msgspec.structs import replace

from longshore.api.strategy import Propagation
from longshore.api.time.backoff import Doubling
from longshore.api.types import Obj
from longshore.controllers.garbage import references
from longshore.controllers.garbage.references import FOREGROUND, ORPHAN, Reference
from longshore.machinery.reasons import Reason

_POLLS: Final = Doubling(0.1, 300.0)


class Owner(Enum):
    """The state of an owner in a reference; the value is the code of the reason."""

    SOLID = "OwnerPresent"
    WAITING = "OwnerWaiting"
    DANGLING = "OwnerGone"
    UNKNOWN = "OwnerKindUnknown"
    UNRESOLVABLE = "OwnerUnresolvable"


class Live(NamedTuple):
    """The object on the server after it refused to delete the version that was seen."""

    meta: Obj | None
    """None if the object no longer exists."""


class GarbageView(msgspec.Struct, frozen=True):
    """The input of `decide`. `owners` holds the state of each of `refs`."""

    meta: Obj
    refs: tuple[Reference, ...] = ()
    owners: tuple[Owner, ...] = ()
    dependents: int = 0
    blocking: int = 0
    """The number of dependents that block this object's foreground deletion."""
    deadlocked: bool = False
    """Whether the blocking dependents wait for this object in turn."""
    deleting_dependents: bool = False
    """Whether some dependent is itself in foreground deletion."""
    polls: int = 0
    """How often in a row the object was synced because an owner's kind was unknown."""
    live: Live | None = None
    """The server's state after it refused to delete the version `meta`; None before that."""


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


class GarbagePlan(msgspec.Struct, frozen=True):
    action: Action
    why: tuple[Reason, ...]
    policy: Propagation | None = None
    """The propagation policy of the delete."""
    references: tuple[str, ...] = ()
    """Uids of the owners whose references are removed."""
    finalizer: str = ""
    any_version: bool = False
    """Whether to delete any version of the object, not only the one that was seen."""
    look_again: float | None = None
    """Seconds until the next sync; None if only a change of it, an owner or a dependent causes one."""

    @property
    def does_something(self) -> bool:
        return self.action not in (Action.NOTHING, Action.LOOK_AGAIN)


_DELETING: Final = Reason("DeletedAlready")
_UNOWNED: Final = Reason("NoOwner")


def decide(view: GarbageView) -> GarbagePlan:
    """Returns the next step for one object. Carrying out any part of it twice does no harm."""
    if view.live is not None:
        return _changed_meanwhile(view, view.live.meta)
    meta = view.meta
    if references.orphaning(meta):
        return _let_go(view)
    if references.in_foreground(meta):
        return _wait(view)
    if references.deleting(meta):
        return GarbagePlan(Action.NOTHING, (_DELETING,))
    if not view.refs:
        return GarbagePlan(Action.NOTHING, (_UNOWNED,))
    return _judge(view)


def pause(polls: int) -> float:
    """Returns the seconds until an owner whose state is unknown is asked for again."""
    return _POLLS.after(polls + 1)


def _changed_meanwhile(view: GarbageView, live: Obj | None) -> GarbagePlan:
    """Decides again after a delete was refused because the object changed. With the same owners any version
    is deleted, unless the deletion has begun already."""
    if live is None or live["uid"] != view.meta["uid"]:
        return GarbagePlan(Action.FORGET, (Reason("GoneAlready"),))
    if live.get("ownerReferences") != view.meta.get("ownerReferences"):
        return GarbagePlan(Action.START_OVER, (Reason("OwnersChanged"),))
    again = decide(replace(view, meta=live, live=None))
    if again.action is Action.DELETE:
        return replace(again, any_version=True)
    return GarbagePlan(Action.NOTHING, again.why)


def _let_go(view: GarbageView) -> GarbagePlan:
    if view.dependents:
        why = Reason("DependentsOrphaned", {"dependents": view.dependents})
        return GarbagePlan(Action.ORPHAN_DEPENDENTS, (why,))
    why = Reason("NoDependents")
    return GarbagePlan(Action.REMOVE_FINALIZER, (why,), finalizer=ORPHAN)


def _wait(view: GarbageView) -> GarbagePlan:
    if not view.blocking:
        why = Reason("NothingBlocks")
        return GarbagePlan(Action.REMOVE_FINALIZER, (why,), finalizer=FOREGROUND)
    numbers = {"blocking": view.blocking}
    if view.deadlocked:
        return GarbagePlan(Action.UNBLOCK, (Reason("RingOfOwners", numbers),))
    return GarbagePlan(Action.NOTHING, (Reason("DependentsRemain", numbers),))


def _judge(view: GarbageView) -> GarbagePlan:
    """Decides about a dependent by the state of its owners."""
    for ref, state in zip(view.refs, view.owners, strict=True):
        if state is Owner.UNKNOWN:
            return GarbagePlan(Action.LOOK_AGAIN, (_say(ref, state),), look_again=pause(view.polls))
        if state is Owner.UNRESOLVABLE:
            return GarbagePlan(Action.NOTHING, (_say(ref, state),))
    solid = [ref for ref, state in zip(view.refs, view.owners, strict=True) if state is Owner.SOLID]
    if not solid:
        return _delete(view)
    kept = {ref.uid for ref in solid}
    others = tuple(dict.fromkeys(ref.uid for ref in view.refs if ref.uid not in kept))
    there = _say(solid[0], Owner.SOLID)
    if not others:
        return GarbagePlan(Action.NOTHING, (there,))
    gone = Reason("OwnersGone", {"owners": len(others)})
    return GarbagePlan(Action.DROP_REFERENCES, (there, gone), references=others)


def _delete(view: GarbageView) -> GarbagePlan:
    states = dict(zip(view.owners, view.refs, strict=True))
    waiting = states.get(Owner.WAITING)
    if waiting is not None and view.dependents:
        own = Reason("OwnDependents", {"dependents": view.dependents})
        why = (_say(waiting, Owner.WAITING), own)
        if view.deleting_dependents and any(ref.blocks for ref in view.refs):
            # The owner may wait for this object, which would wait for a dependent that waits for the owner.
            ring = Reason("DependentInForeground")
            return GarbagePlan(Action.UNBLOCK, (*why, ring))
        return GarbagePlan(Action.DELETE, why, policy="Foreground")
    because = _say(waiting, Owner.WAITING) if waiting is not None else _say(view.refs[0], Owner.DANGLING)
    finalizers = view.meta.get("finalizers") or ()
    if ORPHAN in finalizers:
        return GarbagePlan(Action.DELETE, (because,), policy="Orphan")
    if FOREGROUND in finalizers:
        return GarbagePlan(Action.DELETE, (because,), policy="Foreground")
    return GarbagePlan(Action.DELETE, (because,), policy="Background")


def _say(ref: Reference, state: Owner) -> Reason:
    return Reason(state.value, {"kind": ref.kind, "name": ref.name})
