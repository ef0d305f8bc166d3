"""The plan for a claim or a volume: at most one step, an event, and the reasons."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import msgspec

from longshore.api.types import Obj
from longshore.machinery.reasons import Reason


class Protect(msgspec.Struct, frozen=True):
    """Add the finalizer that keeps it while it is used."""

    finalizer: str


class Unprotect(msgspec.Struct, frozen=True):
    """Takes the finalizer off a claim or volume that is being deleted and may go."""

    finalizer: str


class SetClass(msgspec.Struct, frozen=True):
    """The claim asked for no class when there was no default one; now there is."""

    name: str


class Bind(msgspec.Struct, frozen=True):
    """Tie volume and claim to each other, or finish doing so."""

    volume: Obj


class Provision(msgspec.Struct, frozen=True):
    """Make a directory and a volume for it."""

    storage_class: Obj


class Lose(msgspec.Struct, frozen=True):
    """The claim's volume is gone, or another's."""


class SetPhase(msgspec.Struct, frozen=True):
    """Of a volume."""

    phase: str
    message: str = ""


class Reclaim(msgspec.Struct, frozen=True):
    """Delete the volume and the data in it."""


Step: TypeAlias = Protect | Unprotect | SetClass | Bind | Provision | Lose | SetPhase | Reclaim


class Event(NamedTuple):
    """An event on the object, in Kubernetes' words."""

    type: str
    reason: str
    message: str


class Plan(msgspec.Struct, frozen=True):
    step: Step | None
    """None: nothing is written."""
    why: tuple[Reason, ...]
    event: Event | None = None
    """Told once the step is taken."""
    look_again: float | None = None
    """Seconds; None when nothing is due until the next change."""
