"""Facts about one pod: its phase, whether it has ended, whether it is ready, its index in a Job."""

from __future__ import annotations

from typing import Final

from longshore.api import indexes
from longshore.api.facts import conditions
from longshore.api.types import Obj

ENDED: Final = frozenset(("Succeeded", "Failed"))
"""Phases that a pod never leaves again."""
COMPLETION_INDEX: Final = "batch.kubernetes.io/job-completion-index"
"""The annotation, and the label, with the index of a pod of an Indexed Job."""


def phase_of(pod: Obj) -> str:
    """`Pending` until someone says otherwise, as the API server has it."""
    return (pod.get("status") or {}).get("phase") or "Pending"


def has_ended(pod: Obj) -> bool:
    """Whether all containers have ended for good."""
    return (pod.get("status") or {}).get("phase") in ENDED


def is_ready(pod: Obj) -> bool:
    return conditions.is_true((pod.get("status") or {}).get("conditions") or (), "Ready")


def completion_index(pod: Obj) -> int | None:
    """The index of a pod of an Indexed Job; None for a pod without one that can be read."""
    annotations = pod["metadata"].get("annotations")
    if annotations is None or (text := annotations.get(COMPLETION_INDEX)) is None:
        return None
    found = indexes.integer(text)
    return found if found is not None and found >= 0 else None


def main_end(pod: Obj) -> Obj:
    """The end of the pod's first container, as its status has it; empty where that is not known."""
    for each in (pod.get("status") or {}).get("containerStatuses") or ():
        ended: Obj = (each.get("state") or {}).get("terminated") or {}
        return ended
    return {}
