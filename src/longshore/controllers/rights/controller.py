"""The loop of the rights controller: looks at all namespaces whenever one of them, or a binding, changed."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Iterable
from typing import Final

from longshore.api.errors import StatusError
from longshore.api.facts import kinds
from longshore.api.time.doubling import Doubling
from longshore.client import Client, DeleteOptions
from longshore.controllers.rights.decide import NAME, ROLE, Plan, View, decide
from longshore.machinery.explanations import Explanation, Explanations
from longshore.machinery.informers.informer import OnChange
from longshore.machinery.informers.shared import Informers
from longshore.machinery.queues.workers import run_workers
from longshore.machinery.queues.workqueue import WorkQueue
from longshore.machinery.time.clock import Clock

_EVERYTHING: Final = "workload rights"
_MAX_PAUSE_SECONDS: Final = 30.0


async def run(
    client: Client,
    *,
    clock: Clock,
    rng: random.Random,
    informers: Informers | None = None,
    explanations: Explanations | None = None,
) -> None:
    """Keeps the bindings in place until cancelled. Reasons go to `explanations`, by namespace."""
    told = explanations or Explanations()
    queue: WorkQueue[str] = WorkQueue(clock, pauses=Doubling(0.005, _MAX_PAUSE_SECONDS))
    informers = informers or Informers(client, clock=clock, rng=rng)
    namespaces = informers.get(kinds.NAMESPACES)
    bindings = informers.get(kinds.ROLE_BINDINGS, fields=f"metadata.name={NAME}")
    for informer in (namespaces, bindings):
        informer.add_handler(OnChange(lambda _: queue.add(_EVERYTHING)))
    await _make_role(client)

    async def sync(_: str) -> None:
        await informers.synced()  # an empty copy would look like missing bindings
        there = {binding["metadata"]["namespace"]: binding for binding in bindings.cache}
        plans = decide(View([*namespaces.cache], there))
        now = clock.now().timestamp()
        for plan in plans:
            meta = plan.namespace["metadata"]
            told.add(("", meta["name"]), Explanation(meta["uid"], now, plan.why))
        await _act(client, plans)

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(informers.run())
        tasks.create_task(run_workers(queue, sync))


async def _make_role(client: Client) -> None:
    try:
        await client.get(kinds.CLUSTER_ROLES, NAME)
    except StatusError as err:
        if err.code != 404:
            raise
        await client.create(kinds.CLUSTER_ROLES, ROLE)


async def _act(client: Client, plans: Iterable[Plan]) -> None:
    """Tries everything, then raises the first error that the next change does not put right by itself."""
    writes: list[Awaitable[object]] = []
    for plan in plans:
        if plan.create is not None:
            writes.append(client.create(kinds.ROLE_BINDINGS, plan.create))
        if plan.delete is not None:
            meta = plan.delete["metadata"]
            writes.append(
                client.delete(kinds.ROLE_BINDINGS, NAME, meta["namespace"], DeleteOptions(uid=meta["uid"]))
            )
    for result in await asyncio.gather(*writes, return_exceptions=True):
        if isinstance(result, BaseException) and not _expected(result):
            raise result


def _expected(err: BaseException) -> bool:
    """Whether someone was quicker, or the namespace is gone or about to go."""
    return isinstance(err, StatusError) and (
        err.reason == "AlreadyExists" or err.code == 404 or err.has_cause("NamespaceTerminating")
    )
