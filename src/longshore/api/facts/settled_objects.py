"""Settled objects: nothing more happens to them except deletion, and controllers need not read them again.

A pod of a batch Job has settled once it has succeeded and its Job has counted it. A failed pod has not: a
rule of its Job may still need it. A Job has settled once it has ended.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from longshore.api.facts import job_state, kinds, pod_state
from longshore.api.facts.kinds import Kind
from longshore.api.facts.owners import controller_of
from longshore.api.types import Obj


def _is_left_alone(obj: Obj) -> bool:
    meta = obj["metadata"]
    return "deletionTimestamp" not in meta and not meta.get("finalizers")


def _pod(pod: Obj) -> bool:
    if pod_state.phase_of(pod) != "Succeeded" or not _is_left_alone(pod):
        return False
    owner = controller_of(pod)
    return owner is not None and (owner.get("apiVersion"), owner["kind"]) == kinds.JOBS


def _job(job: Obj) -> bool:
    return job_state.has_ended(job) and _is_left_alone(job)


RULES: Final[dict[Kind, Callable[[Obj], bool]]] = {kinds.PODS: _pod, kinds.JOBS: _job}
"""By kind, whether an object has settled: for the kinds that have many objects."""
