"""Why a plan is as it is: reasons as data, each a code for programs, numbers, and words for people."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple, Protocol

Number = int | float | str
"""A quantity is a text, as Kubernetes writes it: `500m`, `1Gi`."""

PASSING: Final = frozenset(
    (
        # of Jobs
        "CompletionsReached",
        "IndexesBackingOff",
        "JobBeingDeleted",
        "PodsActive",
        "PodsUnseen",
        "StartsPaced",
        "VerdictPostponed",
        # of CronJobs
        "Due",
        "JobsNotSeen",
        "Jitter",
        "NameTaken",
        "NothingDue",
        "Replaces",
        "StartedAlready",
        "UnknownJobs",
        # of Volcano's kinds
        "AsItShouldBe",
        "CountersLater",
        "EarlierJob",
        "EarlierVersion",
        "FlowEnded",
        "NoPolicy",
        "NothingButALook",
        "NothingLeftToDo",
        # of pods
        "AskedToStop",
        "ContainerStarted",
        "Gone",
        "GracePeriod",
        "MainsEnded",
        "Over",
        "Prepared",
        "Preparing",
        "PostStartHook",
        "Probed",
        "Running",
        "Starting",
        "Succeeded",
        "WaitsForInit",
        "WaitsForSidecar",
        # of anything that may be garbage
        "DeletedAlready",
        "GoneAlready",
        "NoDependents",
        "NoOwner",
        "NothingBlocks",
    )
)
"""Codes of looks that found nothing to tell: no part of an object's story, and not kept."""

_NO_NUMBERS: Final[Mapping[str, Number]] = MappingProxyType({})


class Reason(NamedTuple):
    """One rule that fired: `Reason("PodsCreated", "creates 3 pods (indexes 0-2)", {"pods": 3})`."""

    code: str
    """In CamelCase, stable from version to version: programs compare it."""
    words: str
    """One sentence without a full stop, in the present tense, as `longshore why` shows it."""
    numbers: Mapping[str, Number] = _NO_NUMBERS
    """The numbers in the words, by name."""

    def __str__(self) -> str:
        return self.words


class Plan(Protocol):
    """The common part of every plan that a `decide` returns, beside the steps of its own kind."""

    @property
    def why(self) -> tuple[Reason, ...]:
        """The rules that fired, in order; never empty for a plan that does something."""

    @property
    def look_again(self) -> float | None:
        """Seconds until something is due by itself; None when nothing is until the next change."""
