"""Orders active pods for removal when there are too many: pods with the least work to lose come first."""

from __future__ import annotations

from typing import Any, Final

from longshore.api.facts import conditions, pod_state
from longshore.api.time import rfc3339
from longshore.api.types import Obj
from longshore.controllers.job.pods import pod_facts
from longshore.controllers.job.pods.roll import Roll

_PHASES: Final = {"Pending": 0, "Unknown": 1, "Running": 2}
_ZERO_TIME_FIRST: Final = float("-inf")


def surplus(roll: Roll, need: int) -> list[Obj]:
    """Returns the `need` pods to remove, in order."""
    return sorted(roll.active.values(), key=rank)[:need] if need else []


def surplus_of_indexes(roll: Roll, need: int, completions: int) -> list[Obj]:
    """Returns at least `need` pods of an Indexed Job to remove.

    Includes every pod without a valid index, and all but one of several pods with the same index."""
    if not need and roll.one_active_pod_per_index(completions):
        return []
    gone, kept = _misplaced(roll, completions)
    if len(gone) < need:
        kept.sort(key=rank)
        gone += kept[: need - len(gone)]
    return gone


def _misplaced(roll: Roll, completions: int) -> tuple[list[Obj], list[Obj]]:
    gone: list[Obj] = []
    by_index: dict[int, list[Obj]] = {}
    for name, pod in roll.active.items():
        index = roll.entries[name].index
        if index == pod_facts.NO_INDEX or index >= completions:
            gone.append(pod)
        else:
            by_index.setdefault(index, []).append(pod)
    kept: list[Obj] = []
    for pods in by_index.values():
        if len(pods) > 1:
            pods.sort(key=rank)
            gone += pods[:-1]
        kept.append(pods[-1])
    return gone, kept


def rank(pod: Obj) -> tuple[Any, ...]:
    """Sort key: first pods without a node, then not running, not ready, shorter ready, more restarts, new."""
    ready = conditions.find(pod, "Ready") or {}
    is_ready = ready.get("status") == "True"
    regular, sidecar = _most_restarts(pod)
    return (
        bool(pod["spec"].get("nodeName")),
        _PHASES.get(pod_state.phase_of(pod), 0),
        is_ready,
        _newest_first(ready.get("lastTransitionTime")) if is_ready else 0.0,
        -regular,
        -sidecar,
        _newest_first(pod["metadata"].get("creationTimestamp")),
    )


def _newest_first(text: str | None) -> float:
    return -rfc3339.seconds(text) if text else _ZERO_TIME_FIRST


def _most_restarts(pod: Obj) -> tuple[int, int]:
    """Returns the highest restart count among regular containers, and among sidecars."""
    regular, sidecars = (
        max((each.get("restartCount") or 0 for each in statuses), default=0)
        for statuses in pod_facts.lasting(pod)
    )
    return regular, sidecars
