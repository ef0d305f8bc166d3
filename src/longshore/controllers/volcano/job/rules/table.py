"""The state machine as data: the effect of each action in each phase.

A kill deletes pods: all of the Job, or those that the request names (`TARGETED`). A sync creates and deletes
pods as the spec requires. Afterwards a rule (phases.py) decides whether the phase changes.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Final

import msgspec

from longshore.controllers.volcano.names import (
    ABORT_JOB,
    ABORTED,
    ABORTING,
    COMPLETE_JOB,
    COMPLETED,
    COMPLETING,
    FAILED,
    PENDING,
    RESTART_JOB,
    RESTART_PARTITION,
    RESTART_POD,
    RESTART_TASK,
    RESTARTING,
    RESUME_JOB,
    RUNNING,
    SYNC_JOB,
    TERMINATE_JOB,
    TERMINATED,
    TERMINATING,
)


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
    COMPLETE = COMPLETING
    TERMINATE = TERMINATING
    ABORT = ABORTING
    COMPLETED = COMPLETED
    TERMINATED = TERMINATED
    ABORTED = ABORTED


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
_TARGETED: Final = (RESTART_TASK, RESTART_POD, RESTART_PARTITION)


def _soft(then: Then) -> Step:
    return Step(Kind.KILL, then, soft=True)


def _alive(sync: Then) -> Mapping[str, Step]:
    """Returns the row of Pending or Running, which differ only in the rule after a sync."""
    return {
        RESTART_JOB: Step(Kind.KILL, Then.RESTART),
        **dict.fromkeys(_TARGETED, Step(Kind.TARGETED, Then.RESTART)),
        ABORT_JOB: _soft(Then.ABORT),
        COMPLETE_JOB: _soft(Then.COMPLETE),
        TERMINATE_JOB: _soft(Then.TERMINATE),
        _OTHER: Step(Kind.SYNC, sync),
    }


TABLE: Final[Mapping[str, Mapping[str, Step]]] = {
    PENDING: _alive(Then.IF_STARTED),
    RUNNING: _alive(Then.IF_ENDED),
    RESTARTING: {
        **dict.fromkeys(_TARGETED, Step(Kind.TARGETED, Then.IF_RESTARTED)),
        SYNC_JOB: Step(Kind.SYNC, Then.IF_RESTARTED),
        _OTHER: Step(Kind.KILL, Then.IF_RESTARTED),
    },
    COMPLETING: {_OTHER: _soft(Then.COMPLETED)},
    TERMINATING: {_OTHER: _soft(Then.TERMINATED)},
    ABORTING: {RESUME_JOB: _soft(Then.RESTART), _OTHER: _soft(Then.ABORTED)},
    ABORTED: {RESUME_JOB: _soft(Then.RESTART), _OTHER: _soft(Then.NOTHING)},
    COMPLETED: {_OTHER: _soft(Then.NOTHING)},
    FAILED: {_OTHER: _soft(Then.NOTHING)},
    TERMINATED: {_OTHER: _soft(Then.NOTHING)},
}


def step(phase: str, action: str) -> Step:
    """Returns the step. An empty or unknown phase counts as Pending, an unknown action as a sync."""
    row = TABLE.get(phase) or TABLE[PENDING]
    return row.get(action) or row[_OTHER]
