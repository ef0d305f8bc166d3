"""Views of Volcano Jobs, and a way through a sync, for tests of `decide`: view in, plan out, no client."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from longshore.api.errors import StatusError
from longshore.api.facts import kinds, owners
from longshore.api.types import Obj
from longshore.controllers.volcano.job.decide import decide
from longshore.controllers.volcano.job.plan import (
    Answer,
    Answers,
    Create,
    Delete,
    End,
    NewKey,
    Patch,
    Step,
    Update,
    VolcanoJobPlan,
    WriteStatus,
)
from longshore.controllers.volcano.job.view import Remembered, VolcanoJobView
from longshore.controllers.volcano.job.waking import job_requests
from longshore.controllers.volcano.names import OUT_OF_SYNC_MARK, PARTITION

NOW = 1767225600.0
"""2026-01-01T00:00:00Z."""
CREATED = "2025-12-31T23:00:00Z"


def a_task(name: str, replicas: int, **more: Any) -> Obj:
    spec = {"containers": [{"name": "main", "image": "i"}]}
    return {"name": name, "replicas": replicas, "template": {"spec": spec}, **more}


def a_job(*tasks: Obj, phase: str = "Running", status: Obj | None = None, **spec: Any) -> Obj:
    made = [*tasks] or [a_task("w", 2)]
    least = sum(task["replicas"] for task in made)
    state = {"state": {"phase": phase}, "minAvailable": least} if phase else {}
    return {
        "metadata": {
            "name": "j",
            "namespace": "ns",
            "uid": "u",
            "resourceVersion": "1",
            "creationTimestamp": CREATED,
        },
        "spec": {"tasks": made, "minAvailable": least, "maxRetry": 3, "queue": "default", **spec},
        "status": {**state, **(status or {})},
    }


def a_group(phase: str = "Inqueue") -> Obj:
    """The PodGroup of `a_job`, up to date with any Job that is compared with it by `view`."""
    return {"metadata": {"name": "j-u", "uid": "g"}, "spec": {}, "status": {"phase": phase}}


def a_pod(
    index: int, phase: str = "Running", task: str = "w", *, partition: str = "", mark: bool = False
) -> Obj:
    name = f"j-{task}-{index}"
    notes = {"volcano.sh/job-name": "j", "volcano.sh/task-spec": task, "volcano.sh/job-version": "0"}
    if mark:
        notes[OUT_OF_SYNC_MARK] = "true"
    owner = owners.controller_ref({"metadata": {"name": "j", "uid": "u"}}, kinds.VOLCANO_JOBS)
    labels = {PARTITION: partition} if partition else {}
    meta = {"name": name, "uid": f"uid of {name}", "annotations": notes, "labels": labels}
    return {"metadata": {**meta, "ownerReferences": [owner]}, "status": {"phase": phase}}


def view(job: Obj, *pods: Obj, **more: Any) -> VolcanoJobView:
    """A view of a Job whose past is known and whose PodGroup is up to date."""
    by_task: dict[str, dict[str, Obj]] = {}
    for pod in pods:
        task = pod["metadata"]["annotations"]["volcano.sh/task-spec"]
        by_task.setdefault(task, {})[pod["metadata"]["name"]] = pod
    group = more.setdefault("group", a_group())
    if group is not None:
        given: Remembered = more.get("remembered") or Remembered(known=True)
        more["remembered"] = given._replace(grouped=(job["spec"], group["spec"], {}))
    more.setdefault("queue", {"metadata": {"name": "default"}, "spec": {}})
    return VolcanoJobView(job, NOW, by_task, **more)


def failed(pod: Obj, **more: Any) -> job_requests.JobRequest:
    return about(pod, "PodFailed", **more)


def about(pod: Obj, event: str, **more: Any) -> job_requests.JobRequest:
    mine = job_requests.pod_of(pod)
    assert mine is not None
    return job_requests.about(pod, mine, event, **more)


class Server:
    """Has nothing against any step but those in `refuse`, by their short form."""

    def __init__(self, job: Obj, refuse: Mapping[str, Exception]) -> None:
        self._job, self._refuse = job, refuse

    def answer(self, step: Step) -> Answer:
        if (short := _short(step)) in self._refuse:
            return self._refuse[short]
        match step:
            case Create(_, body):
                return body
            case Update(kind, body):
                return self._is_now(body) if kind == kinds.VOLCANO_JOBS else body
            case WriteStatus(job, _):
                return self._is_now(job)
            case Patch(kind, _, body) if kind == kinds.VOLCANO_JOBS:
                meta = self._job["metadata"]
                notes = {**(meta.get("annotations") or {}), **body["metadata"]["annotations"]}
                notes = {key: value for key, value in notes.items() if value is not None}
                return self._is_now({**self._job, "metadata": {**meta, "annotations": notes}})
            case Delete() | Patch():
                return {}
        return StatusError(404, "NotFound", "not found")

    def _is_now(self, job: Obj) -> Obj:
        version = str(int(job["metadata"]["resourceVersion"]) + 1)
        self._job = {**job, "metadata": {**job["metadata"], "resourceVersion": version}}
        return self._job


def through(
    seen: VolcanoJobView, refuse: Mapping[str, Exception] | None = None, *, asked: bool = False
) -> tuple[list[VolcanoJobPlan], End]:
    """The plans of a sync, each decided from the view and all answers so far, and the last one."""
    server, answers, plans = Server(seen.job, refuse or {}), [], []
    while not isinstance(plan := decide(seen, answers), End):
        plans.append(plan)
        answers.append(Answers([server.answer(step) for step in plan.steps], asked))
        assert len(plans) < 100, "the sync never ends"
    return plans, plan


def _short(step: Step) -> str:
    """What is done to what."""
    match step:
        case WriteStatus(job, _):
            return f"status {job['status']['state']['phase']}"
        case Create(kind, body) | Update(kind, body):
            return f"{type(step).__name__.lower()} {kind[1]} {body['metadata']['name']}"
        case NewKey(bits):
            return f"key of {bits} bits"
        case Patch(kind, _, body) if kind == kinds.VOLCANO_JOBS:
            notes = body["metadata"]["annotations"]
            short = {key.partition("/")[2]: "set" if value else "removed" for key, value in notes.items()}
            return f"note {' '.join(f'{key} {value}' for key, value in short.items())}"
    return f"{type(step).__name__.lower()} {step.kind[1]} {step.name}"


def in_order(plans: Iterable[VolcanoJobPlan]) -> list[list[str]]:
    """The steps of each plan, in short."""
    return [[_short(step) for step in plan.steps] for plan in plans]


def codes(plan: VolcanoJobPlan | End) -> list[str]:
    return [reason.code for reason in plan.why]
