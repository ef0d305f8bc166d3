"""The loop of the JobFlow controller: watches flows, templates and Jobs, and carries plans out."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Final

from longshore.api import errors
from longshore.api.errors import StatusError
from longshore.api.facts import kinds
from longshore.api.time import rfc3339
from longshore.api.types import Obj
from longshore.client import Client, DeleteOptions
from longshore.client.projection import Projection
from longshore.controllers.volcano.flow.decide import (
    BY_FLOW,
    BY_TEMPLATE,
    FlowPlan,
    FlowView,
    decide,
    job_name,
    key_of_mark,
    mark,
    marked_by,
)
from longshore.machinery.controller_context import ControllerContext
from longshore.machinery.events.recorder import reference
from longshore.machinery.informers.cache import Cache, Key, key_of
from longshore.machinery.informers.informer import Handler, Informer, OnChange
from longshore.machinery.queues.try_again import TryAgain
from longshore.machinery.queues.workers import run_workers
from longshore.machinery.queues.workqueue import WorkQueue

COMPONENT: Final = "vc-controller-manager"
COMPLAIN_AFTER: Final = 15
"""Failed tries before a warning event is sent; upstream gives up after as many."""
_COUNTERS: Final = {
    "Succeed": "volcano_jobflow_succeed_phase_count",
    "Failed": "volcano_jobflow_failed_phase_count",
}
READS: Final = {
    kinds.VOLCANO_JOBS: Projection("metadata.labels", "metadata.creationTimestamp", "status"),
}
"""All that flows need of a Job."""
_BACKGROUND: Final = DeleteOptions(propagation="Background")


async def run(context: ControllerContext, *, namespace: str = "") -> None:
    """Syncs JobFlows and JobTemplates until cancelled, in one namespace or in all."""
    await FlowController(context, namespace).run()


def _entries(flow: Obj) -> list[str]:
    """Returns the templates that a flow needs, as `namespace/name`."""
    namespace = flow["metadata"]["namespace"]
    return [f"{namespace}/{entry['name']}" for entry in (flow.get("spec") or {}).get("flows") or ()]


def _flow(job: Obj) -> tuple[str, ...]:
    return marked_by(job, BY_FLOW)


class FlowController(Handler):
    def __init__(self, context: ControllerContext, namespace: str) -> None:
        client, informers, registry = context.client, context.informers, context.registry
        self._context, self._recorder = context, context.recorder(COMPONENT)
        self._flows = informers.get(kinds.JOB_FLOWS, namespace=namespace, indexers={"template": _entries})
        self._templates = informers.get(kinds.JOB_TEMPLATES, namespace=namespace)
        indexers = {"flow": _flow, _TEMPLATE_INDEX: _by_template}
        self._jobs = informers.get(
            kinds.VOLCANO_JOBS, namespace=namespace, indexers=indexers, reads=READS[kinds.VOLCANO_JOBS]
        )
        self._queue, self._listed = context.queue("jobflow"), context.queue("jobtemplate")
        self._ended = {
            phase: registry.counter(name, f"Number of jobflow {phase.lower()} phase", ("jobflow_namespace",))
            for phase, name in _COUNTERS.items()
        }
        self._listing = _Templates(client, self._templates, self._jobs.cache, self._listed)
        self._flows.add_handler(OnChange(lambda flow: self._queue.add(key_of(flow))))
        self._templates.add_handler(self)
        self._jobs.add_handler(_Jobs(self._job_changed, self._listing))

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._recorder.run())
            tasks.create_task(self._context.informers.run())
            await self._context.informers.synced()
            tasks.create_task(run_workers(self._queue, self._sync, count=self._context.workers))
            tasks.create_task(run_workers(self._listed, self._listing.sync))

    def on_add(self, obj: Obj, initial: bool) -> None:
        """Queues the flows that may wait for a new template."""
        if not initial:
            for flow in self._flows.cache.by_index("template", "/".join(key_of(obj))):
                self._queue.add(key_of(flow))

    def _job_changed(self, job: Obj) -> None:
        for label in _flow(job):
            self._queue.add(key_of_mark(label))

    async def _sync(self, key: Key) -> float | None:
        flow = self._flows.cache.get(*key)
        if flow is None:
            return None
        plan = decide(self._observe(flow))
        problem = ""
        try:
            await self._carry_out(flow, plan)
        except (StatusError, TryAgain) as err:
            problem = str(err)
            if self._queue.requeues(key) == COMPLAIN_AFTER:
                self._recorder.announce(reference(flow, kinds.JOB_FLOWS), "FlowNotSynced", problem=err)
            raise
        finally:
            self._context.explain(key, flow, plan.why, problem)
        return plan.look_again

    async def _carry_out(self, flow: Obj, plan: FlowPlan) -> None:
        """Writes Jobs, then the status. Raises `TryAgain` before the status if a template is missing. A crash
        after any single write is safe: a Job that exists is not created again."""
        client, namespace = self._context.client, flow["metadata"]["namespace"]
        for name in plan.delete:
            with errors.tolerated(404):
                await client.delete(kinds.VOLCANO_JOBS, name, namespace, _BACKGROUND)
        for job in plan.create:
            with errors.tolerated("AlreadyExists"):
                await client.create(kinds.VOLCANO_JOBS, job, namespace)
                ref, name = reference(flow, kinds.JOB_FLOWS), job["metadata"]["name"]
                self._recorder.announce(ref, "FlowJobCreated", job=name)
        if plan.missing:
            raise TryAgain(f'getting JobTemplate "{plan.missing}" in ns "{namespace}": not found')
        if plan.status is not None:
            await client.update_status(kinds.JOB_FLOWS, {**flow, "status": plan.status}, namespace)
            if plan.ended:
                self._ended[plan.ended].inc(namespace)

    def _observe(self, flow: Obj) -> FlowView:
        namespace = flow["metadata"]["namespace"]
        entries = [entry["name"] for entry in (flow.get("spec") or {}).get("flows") or ()]
        named = {name: self._jobs.cache.get(namespace, name) for name in (job_name(flow, e) for e in entries)}
        templates = {entry: self._templates.cache.get(namespace, entry) for entry in entries}
        return FlowView(
            flow,
            {name: job for name, job in named.items() if job is not None},
            self._jobs.cache.by_index("flow", mark(flow)),
            {entry: template for entry, template in templates.items() if template is not None},
            rfc3339.from_seconds(self._context.clock.now().timestamp()),
        )


class _Jobs(OnChange):
    """Queues the Job's flow on every change, and its template when the Job is new."""

    def __init__(self, changed: Callable[[Obj], None], listing: _Templates) -> None:
        super().__init__(changed)
        self._listing = listing

    def on_add(self, obj: Obj, initial: bool) -> None:
        super().on_add(obj, initial)
        self._listing.job_added(obj)


_TEMPLATE_INDEX = "template"


def _by_template(job: Obj) -> tuple[str, ...]:
    """Indexes a Job by its template."""
    return marked_by(job, BY_TEMPLATE)


def _new_list(template: Obj, jobs: Iterable[Obj]) -> list[str] | None:
    """Returns the names of the template's Jobs; None if the list does not change."""
    names = [job["metadata"]["name"] for job in jobs]
    listed = (template.get("status") or {}).get("jobDependsOnList") or ()
    return names if names and sorted(listed) != sorted(names) else None


class _Templates(Handler):
    """Lists in each JobTemplate the Jobs made from it. Deleted Jobs stay listed until the next Job is made.

    Handles changes of templates, and new Jobs through `job_added`."""

    def __init__(self, client: Client, templates: Informer, jobs: Cache, queue: WorkQueue[Key]) -> None:
        self._client, self._templates, self._jobs, self._queue = client, templates, jobs, queue
        templates.add_handler(self)

    def on_add(self, obj: Obj, initial: bool) -> None:
        self._queue.add(key_of(obj))

    def job_added(self, job: Obj) -> None:
        """Queues the template that the Job's label names."""
        for label in _by_template(job):
            self._queue.add(key_of_mark(label))

    async def sync(self, key: Key) -> float | None:
        """Writes the list if it has changed."""
        template = self._templates.cache.get(*key)
        if template is None:
            return None
        names = _new_list(template, self._jobs.by_index(_TEMPLATE_INDEX, mark(template)))
        if names is not None:
            status = {"status": {"jobDependsOnList": names}}
            await self._client.patch(kinds.JOB_TEMPLATES, key[1], status, key[0], subresource="status")
        return None
