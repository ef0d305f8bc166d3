"""Jobs, pods and whole syncs for the tests of the Job controller, without a server.

`sync` plays one sync through all its stages as if every write succeeded, or as far as it is told to.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from longshore.api.facts import pod_state
from longshore.api.facts.pod_state import COMPLETION_INDEX
from longshore.api.types import Obj
from longshore.controllers.job.decide import decide
from longshore.controllers.job.ends.finish import finish
from longshore.controllers.job.ends.tracking import track
from longshore.controllers.job.plan import Ending, JobPlan, PodResults, Tracking
from longshore.controllers.job.pods import pod_facts
from longshore.controllers.job.pods.roll import Roll
from longshore.controllers.job.spec import FINALIZER, INDEX_FAILURES, INDEX_IGNORED_FAILURES
from longshore.controllers.job.view import JobView

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC).timestamp()
LONG_AGO = -7200.0
"""A finish time that no back-off reaches."""


def at(offset: float) -> str:
    """A time stamp so many seconds after NOW."""
    return datetime.fromtimestamp(NOW + offset, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def a_job(
    parallelism: int | None = 1,
    completions: int | None = 1,
    *,
    status: Obj | None = None,
    deleting: bool = False,
    restart: str = "Never",
    template: Obj | None = None,
    name: str = "j",
    started: float | None = -60,
    **spec: Any,
) -> Obj:
    """A Job that started a minute ago; pass `started=None` for one never looked at."""
    meta: Obj = {"name": name, "namespace": "ns", "uid": "job-uid", "creationTimestamp": at(-60)}
    if deleting:
        meta["deletionTimestamp"] = at(-1)
    whole: Obj = {
        "parallelism": parallelism,
        "completions": completions,
        "selector": {"matchLabels": {"batch.kubernetes.io/controller-uid": "job-uid"}},
        "template": template
        or {
            "metadata": {"labels": {"batch.kubernetes.io/controller-uid": "job-uid"}},
            "spec": {"restartPolicy": restart, "containers": [{"name": "main", "image": "i"}]},
        },
        **spec,
    }
    if status is None:
        status = {} if started is None else {"startTime": at(started), "ready": 0, "terminating": 0}
    return {
        "metadata": meta,
        "spec": {key: value for key, value in whole.items() if value is not None},
        "status": status,
    }


def indexed(parallelism: int, completions: int, **more: Any) -> Obj:
    return a_job(parallelism, completions, completionMode="Indexed", **more)


def a_pod(
    name: str,
    phase: str = "Running",
    *,
    index: int | str | None = None,
    failures: int | str | None = None,
    ignored: int | None = None,
    ready: bool = False,
    tracked: bool = True,
    deleting: bool = False,
    exit: int | dict[str, int] | None = None,
    finished: float = LONG_AGO,
    restarts: int = 0,
    node: str = "n",
    conditions: Sequence[Obj] = (),
    created: float = -60,
) -> Obj:
    """A pod whose UID is its name. Ended ones finished long ago unless `finished` says otherwise."""
    annotations: dict[str, str] = {}
    for key, value in (
        (COMPLETION_INDEX, index),
        (INDEX_FAILURES, failures),
        (INDEX_IGNORED_FAILURES, ignored),
    ):
        if value is not None:
            annotations[key] = str(value)
    meta: Obj = {
        "name": name,
        "namespace": "ns",
        "uid": name,
        "creationTimestamp": at(created),
        "labels": {"batch.kubernetes.io/controller-uid": "job-uid"},
    }
    if annotations:
        meta["annotations"] = annotations
    if tracked:
        meta["finalizers"] = [FINALIZER]
    if deleting:
        meta["deletionTimestamp"] = at(finished + 30)
        meta["deletionGracePeriodSeconds"] = 30
    status: Obj = {"phase": phase, "conditions": list(conditions)}
    if ready:
        status["conditions"].append({"type": "Ready", "status": "True", "lastTransitionTime": at(-30)})
    codes = exit if isinstance(exit, dict) else {"main": exit}
    if phase in ("Succeeded", "Failed"):
        default = 0 if phase == "Succeeded" else 1
        status["containerStatuses"] = [
            {
                "name": container,
                "restartCount": restarts,
                "state": {
                    "terminated": {"exitCode": default if code is None else code, "finishedAt": at(finished)}
                },
            }
            for container, code in codes.items()
        ]
    elif phase == "Running" or restarts:
        status["containerStatuses"] = [{"name": "main", "restartCount": restarts, "state": {"running": {}}}]
    spec: Obj = {"containers": [{"name": "main", "image": "i"}]}
    if node:
        spec["nodeName"] = node
    return {"metadata": meta, "spec": spec, "status": status}


@dataclass
class Synced:
    """What one sync did, in the words of the tests."""

    plan: JobPlan
    tracking: Tracking
    ending: Ending

    @property
    def created(self) -> list[Obj]:
        return list(self.plan.create)

    @property
    def created_indexes(self) -> list[int]:
        return [pod_facts.index(pod) for pod in self.plan.create]

    @property
    def deleted(self) -> list[str]:
        return _names(self.plan.delete)

    @property
    def released(self) -> list[str]:
        return _names(self.plan.release)

    @property
    def stripped(self) -> list[str]:
        return _names(self.tracking.strip)

    @property
    def writes(self) -> list[Obj]:
        """The statuses written, in order."""
        stages = ((self.tracking.flush, self.tracking.status), (self.ending.flush, self.ending.status))
        return [status for flush, status in stages if flush]

    @property
    def status(self) -> Obj:
        return self.ending.status

    def counts(self, *names: str) -> tuple[int, ...]:
        return tuple(self.status.get(name) or 0 for name in names)

    @property
    def conditions(self) -> list[str]:
        return [f"{c['type']}={c['status']}" for c in self.status.get("conditions") or ()]

    @property
    def reasons(self) -> set[str]:
        return {c["reason"] for c in self.status.get("conditions") or ()}

    @property
    def events(self) -> list[str]:
        return [f"{e.type} {e.reason}" for e in (*self.tracking.events, *self.ending.events)]


def _names(pods: Sequence[Obj]) -> list[str]:
    return [pod["metadata"]["name"] for pod in pods]


def sync(
    job: Obj,
    *pods: Obj,
    now: float = 0.0,
    failed_creates: int = 0,
    failed_deletes: Collection[str] = (),
    failed_strips: Collection[str] = (),
    **view: Any,
) -> Synced:
    plan = decide(JobView(job, NOW + now, Roll.of(pods), **view))
    removed = [p for p in (*plan.delete, *plan.release) if p["metadata"]["name"] not in failed_deletes]
    results = PodResults(
        len(removed), sum(pod_state.is_ready(pod) for pod in removed), len(plan.create) - failed_creates
    )
    tracking = track(plan, results)
    stripped = frozenset(p["metadata"]["uid"] for p in tracking.strip) - set(failed_strips)
    ending = finish(tracking, tracking.status, stripped, failed=bool(failed_strips))
    return Synced(plan, tracking, ending)
