"""A loop for controllers that keep objects in every namespace: each change syncs all namespaces.

Used by `rights` and `serviceaccount`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Protocol, TypeVar

from longshore.api.errors import StatusError
from longshore.api.types import Obj
from longshore.machinery import reasons
from longshore.machinery.controller_context import ControllerContext
from longshore.machinery.informers.informer import Informer, OnChange
from longshore.machinery.queues.workers import run_workers
from longshore.machinery.queues.workqueue import SHORT_PAUSES


class EveryNamespacePlan(reasons.Plan, Protocol):
    @property
    def namespace(self) -> Obj:
        """The namespace that the plan is for."""


P = TypeVar("P", bound=EveryNamespacePlan)


async def run(
    context: ControllerContext,
    informers: Iterable[Informer],
    decide: Callable[[], Sequence[P]],
    writes: Callable[[P], Iterable[Awaitable[object]]],
) -> None:
    """Syncs until cancelled: `decide` makes the plans, each for one namespace; `writes` carries one out.

    Explanations are stored under the name of the namespace."""
    queue = context.queue(pauses=SHORT_PAUSES)
    for informer in informers:
        informer.add_handler(OnChange(lambda _: queue.add("every namespace")))

    async def sync(_: str) -> None:
        await context.informers.synced()  # a cache that is still filling lacks objects
        plans = decide()
        for plan in plans:
            context.explain(("", plan.namespace["metadata"]["name"]), plan.namespace, plan.why)
        await _all([write for plan in plans for write in writes(plan)])

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(context.informers.run())
        tasks.create_task(run_workers(queue, sync))


async def _all(writes: Iterable[Awaitable[object]]) -> None:
    """Awaits all writes, then raises the first unexpected error."""
    for result in await asyncio.gather(*writes, return_exceptions=True):
        if isinstance(result, BaseException) and not _expected(result):
            raise result


def _expected(err: BaseException) -> bool:
    """Whether the object exists already, or the namespace is gone or terminating."""
    return isinstance(err, StatusError) and (
        err.reason == "AlreadyExists" or err.code == 404 or err.has_cause("NamespaceTerminating")
    )
