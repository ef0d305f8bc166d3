"""CronJobs, their Jobs, and a server that answers what `decide` asks, for tests of single decisions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace

from longshore.api import errors
from longshore.api.time import instants, rfc3339
from longshore.api.types import Obj
from longshore.controllers.cronjob.decide import decide
from longshore.controllers.scheduled.plan import ScheduledPlan
from longshore.controllers.scheduled.view import Answer, Ask, ScheduledView

NAME = "backup"
UID = "uid-of-backup"
TEMPLATE: Obj = {"spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c"}]}}}}


def cronjob(
    schedule: str = "0 * * * *",
    *,
    created: str = "2026-06-15T08:30:00Z",
    last: str | None = None,
    active: tuple[Obj, ...] = (),
    last_success: str | None = None,
    annotations: dict[str, str] | None = None,
    meta: Obj | None = None,
    **spec: Any,
) -> Obj:
    """One with Kubernetes' defaults; `active` are Jobs. None in `spec` leaves a field out."""
    status: Obj = {}
    if active:
        status["active"] = [ref(job) for job in active]
    if last:
        status["lastScheduleTime"] = last
    if last_success:
        status["lastSuccessfulTime"] = last_success
    wanted = {
        "schedule": schedule,
        "concurrencyPolicy": "Allow",
        "suspend": False,
        "jobTemplate": TEMPLATE,
        "successfulJobsHistoryLimit": 3,
        "failedJobsHistoryLimit": 1,
        **spec,
    }
    return {
        "metadata": {
            "name": NAME,
            "namespace": "ns",
            "uid": UID,
            "resourceVersion": "7",
            "creationTimestamp": created,
            **({"annotations": annotations} if annotations else {}),
            **(meta or {}),
        },
        "spec": {key: value for key, value in wanted.items() if value is not None},
        "status": status,
    }


def job(
    name: str = "",
    *,
    at: str = "2026-06-15T09:00:00Z",
    ended: str = "",
    start: str | None = None,
    done: str | None = None,
    owner: str = NAME,
    owner_uid: str = UID,
    labels: dict[str, str] | None = None,
) -> Obj:
    """A Job started for `at`; `ended` is Complete or Failed, `done` its completion time."""
    name = name or f"{NAME}-{rfc3339.parse(at) // (60 * instants.SECOND)}"
    status: Obj = {} if start is None else {"startTime": start}
    if ended:
        status["conditions"] = [{"type": ended, "status": "True"}]
        if ended == "Complete":
            status["completionTime"] = done or at
    controller = {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "name": owner,
        "uid": owner_uid,
        "controller": True,
    }
    return {
        "metadata": {
            "name": name,
            "namespace": "ns",
            "uid": f"uid-of-{name}",
            "resourceVersion": "5",
            "creationTimestamp": at,
            "ownerReferences": [controller],
            **({"labels": labels} if labels else {}),
        },
        "spec": {},
        "status": status,
    }


def ref(job: Obj) -> Obj:
    meta = job["metadata"]
    return {
        "kind": "Job",
        "namespace": "ns",
        "name": meta["name"],
        "uid": meta["uid"],
        "apiVersion": "batch/v1",
        "resourceVersion": meta["resourceVersion"],
    }


@dataclass
class Server:
    """What is there when one looks. `fails` are answers to give instead, by verb and name."""

    jobs: dict[str, Obj] = field(default_factory=dict)
    cronjob: Obj | None = None
    fails: dict[tuple[str, str], Exception] = field(default_factory=dict)
    now: str = ""
    asked: list[str] = field(default_factory=list)

    def answer(self, ask: Ask) -> Answer:
        self.asked.append(f"{ask.verb} {ask.kind} {ask.name}")
        if (failure := self.fails.get((ask.verb, ask.name))) is not None:
            return failure
        if ask.kind == "CronJob":
            return self.cronjob or errors.not_found("batch", "cronjobs", ask.name)
        found = self.jobs.get(ask.name)
        if found is None or (ask.uid and found["metadata"]["uid"] != ask.uid):
            return errors.not_found("batch", "jobs", ask.name)
        if ask.verb == "delete":
            del self.jobs[ask.name]
            return None
        return found

    def create(self, body: Obj) -> Answer:
        meta = body["metadata"]
        self.asked.append(f"create Job {meta['name']}")
        if (failure := self.fails.get(("create", meta["name"]))) is not None:
            return failure
        if meta["name"] in self.jobs:
            return errors.already_exists("batch", "jobs", meta["name"])
        more = {"uid": f"uid-of-{meta['name']}", "resourceVersion": "9", "creationTimestamp": self.now}
        made = self.jobs[meta["name"]] = {**body, "metadata": {**meta, **more}, "status": {}}
        return made


@dataclass
class Outcome:
    """The final plan and what was done on the way."""

    plan: ScheduledPlan
    created: list[Obj]
    asked: list[str]

    @property
    def reasons(self) -> list[str]:
        return [event.reason for event in self.plan.events]

    @property
    def warnings(self) -> list[str]:
        return [event.reason for event in self.plan.events if event.type == "Warning"]

    @property
    def names(self) -> list[str]:
        return [job["metadata"]["name"] for job in self.created]

    @property
    def deleted(self) -> list[str]:
        return [text.removeprefix("delete Job ") for text in self.asked if text.startswith("delete")]

    @property
    def active(self) -> list[str]:
        """Names on the active list as it will be written."""
        assert self.plan.status is not None
        return [entry["name"] for entry in self.plan.status.get("active", ())]


def sync(cronjob: Obj, now: str, *jobs: Obj, server: Server | None = None, **more: Any) -> Outcome:
    """Decides until the plan is final; by default the server has what the cache has."""
    if server is None:
        server = Server()
    if not server.jobs:
        server.jobs = {job["metadata"]["name"]: job for job in jobs}
    server.cronjob = server.cronjob or cronjob
    server.now = now
    created: list[Obj] = []
    view = ScheduledView(cronjob, rfc3339.parse(now), jobs=jobs, **more)

    def create(plan: ScheduledPlan, name: str) -> Answer:
        assert plan.create is not None
        answer = server.create(plan.create)
        if isinstance(answer, dict):
            created.append(answer)
        return answer

    return Outcome(settled(view, server.answer, create), created, server.asked)


def settled(
    view: ScheduledView, answer: Callable[[Ask], Answer], create: Callable[[ScheduledPlan, str], Answer]
) -> ScheduledPlan:
    """Decides until the plan is final; `create` is given each plan that starts a Job, and the Job's name."""
    answers: dict[Ask, Answer] = {}
    for _ in range(20):
        plan = decide(replace(view, answers=dict(answers)) if answers else view)
        if plan.final:
            return plan
        answers |= {ask: answer(ask) for ask in (*plan.read, *plan.delete)}
        if plan.create is not None:
            name = plan.create["metadata"]["name"]
            answers[Ask("create", "Job", name)] = create(plan, name)
    raise AssertionError(f"never final: {[*answers]}")
