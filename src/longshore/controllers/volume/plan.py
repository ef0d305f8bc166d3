"""The plan for a claim or a volume: at most one step, an event, and the reasons."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from longshore.api.types import Obj
from longshore.machinery.reasons import Reason


@dataclass(frozen=True, slots=True)
class Protect:
    """Add the finalizer that keeps it while it is used."""

    finalizer: str


@dataclass(frozen=True, slots=True)
class Unprotect:
    """Takes the finalizer off a claim or volume that is being deleted and may go."""

    finalizer: str


@dataclass(frozen=True, slots=True)
class SetClass:
    """The claim asked for no class when there was no default one; now there is."""

    name: str


@dataclass(frozen=True, slots=True)
class Bind:
    """Tie volume and claim to each other, or finish doing so."""

    volume: Obj


@dataclass(frozen=True, slots=True)
class Provision:
    """Make a directory and a volume for it."""

    storage_class: Obj


@dataclass(frozen=True, slots=True)
class Lose:
    """The claim's volume is gone, or another's."""


@dataclass(frozen=True, slots=True)
class SetPhase:
    """Of a volume."""

    phase: str
    message: str = ""


@dataclass(frozen=True, slots=True)
class Reclaim:
    """Delete the volume and the data in it."""


Step: TypeAlias = Protect | Unprotect | SetClass | Bind | Provision | Lose | SetPhase | Reclaim


class Event(NamedTuple):
    """An event on the object, in Kubernetes' words."""

    type: str
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Plan:
    step: Step | None
    """None: nothing is written."""
    why: tuple[Reason, ...]
    event: Event | None = None
    """Told once the step is taken."""
    look_again: float | None = None
    """Seconds; None when nothing is due until the next change."""
