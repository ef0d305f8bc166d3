"""The state machine as data: the effect of each action in each phase.

A kill deletes pods: all of the Job, or those that the request names (`TARGETED`). A sync creates and deletes
pods as the spec requires. Afterwards a rule (phases.py) decides whether the phase changes.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Final

import msgspec

from longshore.controllers.volcano import names


class Kind(Enum):
    SYNC = "sync"
    KILL = "kill"
    TARGETED = "targeted kill"


class Then(Enum):
    """The rule that decides about the phase afterwards."""

    NOTHING = "nothing"
    IF_STARTED = "Running once enough pods have started"
    IF_ENDED = "the end, once pods decide it"
    IF_RESTARTED = "Pending, once enough pods are gone; Failed after the last retry"
    RESTART = "Restarting, one retry spent"
    COMPLETE = names.COMPLETING
    TERMINATE = names.TERMINATING
    ABORT = names.ABORTING
    COMPLETED = names.COMPLETED
    TERMINATED = names.TERMINATED
    ABORTED = names.ABORTED


class Step(msgspec.Struct, frozen=True):
    """The effect of one action in one phase."""

    kind: Kind
    then: Then
    soft: bool = False
    """Whether a kill keeps pods that have ended."""

    @property
    def decisive(self) -> bool:
        """Whether the step changes the Job's course, so that it must be finished even after a crash."""
        return self.kind is Kind.TARGETED or self.then in _DECISIVE


_DECISIVE: Final = (Then.RESTART, Then.COMPLETE, Then.TERMINATE, Then.ABORT)
_OTHER: Final = "*"
_TARGETED: Final = (names.RESTART_TASK, names.RESTART_POD, names.RESTART_PARTITION)


def _soft(then: Then) -> Step:
    return Step(Kind.KILL, then, soft=True)


def _alive(sync: Then) -> Mapping[str, Step]:
    """Returns the row of Pending or Running, which differ only in the rule after a sync."""
    return {
        names.RESTART_JOB: Step(Kind.KILL, Then.RESTART),
        **dict.fromkeys(_TARGETED, Step(Kind.TARGETED, Then.RESTART)),
        names.ABORT_JOB: _soft(Then.ABORT),
        names.COMPLETE_JOB: _soft(Then.COMPLETE),
        names.TERMINATE_JOB: _soft(Then.TERMINATE),
        _OTHER: Step(Kind.SYNC, sync),
    }


TABLE: Final[Mapping[str, Mapping[str, Step]]] = {
    names.PENDING: _alive(Then.IF_STARTED),
    names.RUNNING: _alive(Then.IF_ENDED),
    names.RESTARTING: {
        **dict.fromkeys(_TARGETED, Step(Kind.TARGETED, Then.IF_RESTARTED)),
        names.SYNC_JOB: Step(Kind.SYNC, Then.IF_RESTARTED),
        _OTHER: Step(Kind.KILL, Then.IF_RESTARTED),
    },
    names.COMPLETING: {_OTHER: _soft(Then.COMPLETED)},
    names.TERMINATING: {_OTHER: _soft(Then.TERMINATED)},
    names.ABORTING: {names.RESUME_JOB: _soft(Then.RESTART), _OTHER: _soft(Then.ABORTED)},
    names.ABORTED: {names.RESUME_JOB: _soft(Then.RESTART), _OTHER: _soft(Then.NOTHING)},
    names.COMPLETED: {_OTHER: _soft(Then.NOTHING)},
    names.FAILED: {_OTHER: _soft(Then.NOTHING)},
    names.TERMINATED: {_OTHER: _soft(Then.NOTHING)},
}


def step(phase: str, action: str) -> Step:
    """Returns the step. An empty or unknown phase counts as Pending, an unknown action as a sync."""
    row = TABLE.get(phase) or TABLE[names.PENDING]
    return row.get(action) or row[_OTHER]
