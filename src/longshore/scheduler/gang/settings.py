"""The settings of a gang scheduler: its actions in a cycle, and their options."""

from __future__ import annotations

from typing import Final

import msgspec

ENQUEUE, ALLOCATE, BACKFILL, PREEMPT, RECLAIM = "enqueue", "allocate", "backfill", "preempt", "reclaim"
ACTIONS: Final = (ENQUEUE, ALLOCATE, BACKFILL, PREEMPT, RECLAIM)
DEFAULT_ACTIONS: Final = (ENQUEUE, ALLOCATE, BACKFILL)
"""Volcano's own: nobody is removed for another unless asked for."""


class Settings(msgspec.Struct, frozen=True):
    """Volcano's scheduler configuration, as far as it has an effect here."""

    actions: tuple[str, ...] = DEFAULT_ACTIONS
    overcommit: float = 1.2
    """How much of the cluster's total may be promised to gangs; below 1 is taken for 1.2."""
    gang_preemptable: bool = False
    """Whether victims must come from gangs that stay above their minimum."""
    drf_preemptable: bool = False
    """Whether a gang may only take from gangs with a larger share than its own."""
    capacity: bool = False
    """Queues get what `spec.deserved` says instead of a share by weight."""
    sla: bool = False
    """Whether gangs that waited longer than their `sla-waiting-time` are let in whatever is free."""
