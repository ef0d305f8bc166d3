"""The plan for a claim or a volume: at most one step, an event, and the reasons."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from longshore.api.types import Obj
from longshore.machinery.catalogue import Event
from longshore.machinery.reasons import Reason


class Protect(msgspec.Struct, frozen=True):
    """Adds the finalizer that keeps the object while it is used."""

    finalizer: str


class Unprotect(msgspec.Struct, frozen=True):
    """Removes the finalizer from a claim or volume that is being deleted and no longer used."""

    finalizer: str


class SetClass(msgspec.Struct, frozen=True):
    """Sets the default class on a claim that was created without one, before there was a default."""

    name: str


class Bind(msgspec.Struct, frozen=True):
    """Binds volume and claim to each other, or finishes doing so."""

    volume: Obj


class Provision(msgspec.Struct, frozen=True):
    """Makes a directory and a volume for it."""

    storage_class: Obj


class Lose(msgspec.Struct, frozen=True):
    """Sets the claim to Lost: its volume is gone, or bound to another claim."""


class SetPhase(msgspec.Struct, frozen=True):
    """Sets the phase of a volume."""

    phase: str
    message: str = ""


class Reclaim(msgspec.Struct, frozen=True):
    """Deletes the volume and its data."""


Step: TypeAlias = Protect | Unprotect | SetClass | Bind | Provision | Lose | SetPhase | Reclaim


class VolumePlan(msgspec.Struct, frozen=True):
    step: Step | None
    """The step to carry out; None writes nothing."""
    why: tuple[Reason, ...]
    event: Event | None = None
    """The event to send after the step."""
    look_again: float | None = None
    """Seconds until the next sync; None if only a change causes one."""
