"""Selects the pods that a kill deletes: all of the Job, or those that the request names. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from longshore.api.facts import pod_state
from longshore.api.types import Obj
from longshore.controllers.volcano.job.pods import tasks
from longshore.controllers.volcano.job.rules.table import Kind, Step
from longshore.controllers.volcano.job.view import VolcanoJobView
from longshore.controllers.volcano.job.waking.job_requests import JobRequest
from longshore.controllers.volcano.names import RESTART_PARTITION, RESTART_POD
from longshore.machinery.reasons import Number, Reason


class Selection(msgspec.Struct, frozen=True):
    """The pods that a kill deletes."""

    delete: Sequence[Obj]
    going: int
    """The number of pods that are terminating already."""
    total: int
    whole: bool
    why: Reason


NOTHING_LEFT: Final = Selection((), 0, 0, False, Reason("NothingLeft"))


def select(view: VolcanoJobView, step: Step, action: str, request: JobRequest) -> Selection | None:
    """Returns the pods that a kill deletes; None if the requested partition has no pods."""
    if step.kind is Kind.TARGETED:
        return _target(view, action, request)
    pods = [pod for found in view.pods.values() for pod in found.values()]
    going = sum(view.is_going(pod) for pod in pods)
    soft = step.soft or _last_retry(view.job)
    delete = [pod for pod in pods if not view.is_going(pod) and not (soft and pod_state.has_ended(pod))]
    kept = len(pods) - going - len(delete)
    why = Reason("PodsDeleted", {"pods": len(delete), "kept": kept})
    return Selection(delete, going, len(pods), True, why)


def _last_retry(job: Obj) -> bool:
    """Whether this is the last run. Its ended pods are kept, to show why it failed."""
    retries = (job.get("status") or {}).get("retryCount") or 0
    return retries >= (job["spec"].get("maxRetry") or 0) - 1


def _target(view: VolcanoJobView, action: str, request: JobRequest) -> Selection | None:
    """The pod for RestartPod, the pods of its partition for RestartPartition, of its task for RestartTask."""
    found: Iterable[Obj] = view.pods.get(request.task, {}).values()
    target: dict[str, Number] = {"task": request.task}
    if action == RESTART_POD:
        found = [pod for pod in found if pod["metadata"]["name"] == request.pod]
        target = {"pod": request.pod}
    elif action == RESTART_PARTITION:
        found = [pod for pod in found if request.partition and tasks.partition(pod) == request.partition]
        target["partition"] = request.partition
        if not found:
            return None
    pods = [*found]
    delete = [pod for pod in pods if not view.is_going(pod)]
    why = Reason("PodsDeleted", {"pods": len(delete), **target})
    return Selection(delete, len(pods) - len(delete), len(pods), False, why)
