"""The loop of the JobFlow controller: hears of flows, templates and Jobs, and carries plans out."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from functools import partial
from typing import Final

from longshore.api.errors import StatusError
from longshore.api.facts import kinds
from longshore.api.metrics import Registry
from longshore.api.time import rfc3339
from longshore.api.types import Obj
from longshore.client import Client
from longshore.controllers.volcano.flow import templates as listing
from longshore.controllers.volcano.flow.act import Act
from longshore.controllers.volcano.flow.decide import View, decide
from longshore.controllers.volcano.flow.names import BY_FLOW, job_name, mark
from longshore.controllers.volcano.flow.templates import Templates
from longshore.machinery.events.recorder import Recorder, reference
from longshore.machinery.explanations import Explanation, Explanations
from longshore.machinery.informers.cache import Key, key_of
from longshore.machinery.informers.informer import Handler, Informer, OnChange
from longshore.machinery.informers.shared import Informers
from longshore.machinery.queues.queue_metrics import QueueMetrics
from longshore.machinery.queues.try_again import TryAgain
from longshore.machinery.queues.workers import run_workers
from longshore.machinery.queues.workqueue import WorkQueue
from longshore.machinery.time.clock import Clock

COMPONENT: Final = "vc-controller-manager"
WORKERS: Final = 5
COMPLAIN_AFTER: Final = 15
"""Tries in vain after which a person is told; as many as upstream makes before it gives up."""
_COUNTERS: Final = {
    "Succeed": "volcano_jobflow_succeed_phase_count",
    "Failed": "volcano_jobflow_failed_phase_count",
}


async def run(
    client: Client,
    *,
    clock: Clock,
    rng: random.Random,
    informers: Informers | None = None,
    namespace: str = "",
    registry: Registry | None = None,
    explanations: Explanations | None = None,
) -> None:
    """Looks after JobFlows and JobTemplates until cancelled, those of one namespace or all. Reasons go to
    `explanations`."""
    informers = informers or Informers(client, clock=clock, rng=rng)
    recorder = Recorder(client, COMPONENT, clock=clock, rng=rng)
    informer = partial(informers.get, namespace=namespace)
    flows = informer(kinds.JOB_FLOWS, indexers={"template": _entries})
    templates = informer(kinds.JOB_TEMPLATES)
    jobs = informer(
        kinds.VOLCANO_JOBS, indexers={"flow": _flow, listing.INDEX: listing.by_template}, transform=slim
    )
    controller = FlowController(
        client,
        flows,
        templates,
        jobs,
        recorder,
        clock=clock,
        registry=registry or Registry(),
        explanations=explanations or Explanations(),
    )
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(recorder.run())
        for each in (flows, templates, jobs):
            tasks.create_task(each.run())
        for each in (flows, templates, jobs):
            await each.synced()
        tasks.create_task(controller.run())


def slim(job: Obj) -> Obj:
    """The part of a Job that flows need: no specs."""
    meta = job["metadata"]
    kept = ("name", "namespace", "uid", "resourceVersion", "labels", "creationTimestamp", "deletionTimestamp")
    found: Obj = {"metadata": {key: meta[key] for key in kept if key in meta}}
    if "status" in job:
        found["status"] = job["status"]
    return found


def _entries(flow: Obj) -> list[str]:
    """The templates a flow needs, as `namespace/name`."""
    namespace = flow["metadata"]["namespace"]
    return [f"{namespace}/{entry['name']}" for entry in (flow.get("spec") or {}).get("flows") or ()]


def _flow(job: Obj) -> tuple[str, ...]:
    label = (job["metadata"].get("labels") or {}).get(BY_FLOW)
    return (label,) if label else ()


class FlowController(Handler):
    def __init__(
        self,
        client: Client,
        flows: Informer,
        templates: Informer,
        jobs: Informer,
        recorder: Recorder,
        *,
        clock: Clock,
        registry: Registry,
        explanations: Explanations,
    ) -> None:
        self._recorder, self._clock, self._explanations = recorder, clock, explanations
        self._flows, self._templates, self._jobs = flows, templates, jobs
        self._queue: WorkQueue[Key] = WorkQueue(clock, gauges=QueueMetrics(registry, "jobflow", clock))
        self._listed: WorkQueue[Key] = WorkQueue(clock, gauges=QueueMetrics(registry, "jobtemplate", clock))
        counters = {
            phase: registry.counter(name, f"Number of jobflow {phase.lower()} phase", ("jobflow_namespace",))
            for phase, name in _COUNTERS.items()
        }
        self._act = Act(client, recorder, counters)
        self._listing = Templates(client, templates, jobs.cache, self._listed)
        flows.add_handler(OnChange(lambda flow: self._queue.add(key_of(flow))))
        templates.add_handler(self)
        jobs.add_handler(_Jobs(self._job_changed, self._listing))

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(run_workers(self._queue, self._sync, count=WORKERS))
            tasks.create_task(run_workers(self._listed, self._listing.sync))

    def on_add(self, obj: Obj, initial: bool) -> None:
        """A template may be the one that a flow waits for."""
        if not initial:
            for flow in self._flows.cache.by_index("template", "/".join(key_of(obj))):
                self._queue.add(key_of(flow))

    def _job_changed(self, job: Obj) -> None:
        for label in _flow(job):
            namespace, _, name = label.partition(".")
            self._queue.add((namespace, name))

    async def _sync(self, key: Key) -> float | None:
        flow = self._flows.cache.get(*key)
        if flow is None:
            return None
        plan = decide(self._observe(flow))
        problem = ""
        try:
            await self._act.carry_out(flow, plan)
        except (StatusError, TryAgain) as err:
            problem = str(err)
            if self._queue.requeues(key) == COMPLAIN_AFTER:
                text = f"SyncJobFlow JobFlow failed for {err}"
                self._recorder.event(reference(flow, kinds.JOB_FLOWS), "Warning", "SyncJobFlow", text)
            raise
        finally:
            now = self._clock.now().timestamp()
            self._explanations.add(key, Explanation(flow["metadata"]["uid"], now, plan.why, problem))
        return plan.look_again

    def _observe(self, flow: Obj) -> View:
        namespace = flow["metadata"]["namespace"]
        entries = [entry["name"] for entry in (flow.get("spec") or {}).get("flows") or ()]
        named = {name: self._jobs.cache.get(namespace, name) for name in (job_name(flow, e) for e in entries)}
        templates = {entry: self._templates.cache.get(namespace, entry) for entry in entries}
        return View(
            flow,
            {name: job for name, job in named.items() if job is not None},
            self._jobs.cache.by_index("flow", mark(flow)),
            {entry: template for entry, template in templates.items() if template is not None},
            rfc3339.from_seconds(self._clock.now().timestamp()),
        )


class _Jobs(OnChange):
    """Every change concerns the Job's flow, a new Job its template too."""

    def __init__(self, changed: Callable[[Obj], None], listing: Templates) -> None:
        super().__init__(changed)
        self._listing = listing

    def on_add(self, obj: Obj, initial: bool) -> None:
        super().on_add(obj, initial)
        self._listing.job_added(obj)
