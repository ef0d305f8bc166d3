"""The loop of the service account controller: looks at all namespaces whenever something changed."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Iterable

from longshore.api.errors import StatusError
from longshore.api.facts import kinds
from longshore.api.time.doubling import Doubling
from longshore.client import Client
from longshore.controllers.serviceaccount.decide import ACCOUNT, CA_CONFIG_MAP, Plan, View, decide
from longshore.machinery.explanations import Explanation, Explanations
from longshore.machinery.informers.informer import OnChange
from longshore.machinery.informers.shared import Informers
from longshore.machinery.queues.workers import run_workers
from longshore.machinery.queues.workqueue import WorkQueue
from longshore.machinery.time.clock import Clock

_EVERYTHING = "service accounts"
_MAX_PAUSE_SECONDS = 30.0


async def run(
    client: Client,
    ca: str,
    *,
    clock: Clock,
    rng: random.Random,
    informers: Informers | None = None,
    explanations: Explanations | None = None,
) -> None:
    """Keeps accounts and ConfigMaps in place until cancelled.

    `ca` is the PEM of the authority. Reasons go to `explanations`, by the name of the namespace.
    """
    told = explanations or Explanations()
    queue: WorkQueue[str] = WorkQueue(clock, pauses=Doubling(0.005, _MAX_PAUSE_SECONDS))
    informers = informers or Informers(client, clock=clock, rng=rng)
    namespaces = informers.get(kinds.NAMESPACES)
    accounts = informers.get(kinds.SERVICE_ACCOUNTS, fields=f"metadata.name={ACCOUNT}")
    config_maps = informers.get(kinds.CONFIG_MAPS, fields=f"metadata.name={CA_CONFIG_MAP}")
    for informer in (namespaces, accounts, config_maps):
        informer.add_handler(OnChange(lambda _: queue.add(_EVERYTHING)))

    async def sync(_: str) -> None:
        await informers.synced()  # an empty copy would look like missing objects
        view = View(
            namespaces=[*namespaces.cache],
            accounts={obj["metadata"]["namespace"] for obj in accounts.cache},
            config_maps={obj["metadata"]["namespace"]: obj for obj in config_maps.cache},
            ca=ca,
        )
        plans = decide(view)
        now = clock.now().timestamp()
        for plan in plans:
            meta = plan.namespace["metadata"]
            told.add(("", meta["name"]), Explanation(meta["uid"], now, plan.why))
        await _act(client, plans)

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(informers.run())
        tasks.create_task(run_workers(queue, sync))


async def _act(client: Client, plans: Iterable[Plan]) -> None:
    """Tries everything, then raises the first error that the next change does not put right by itself."""
    writes: list[Awaitable[object]] = []
    for plan in plans:
        if plan.account is not None:
            writes.append(client.create(kinds.SERVICE_ACCOUNTS, plan.account))
        if plan.config_map is not None:
            writes.append(client.create(kinds.CONFIG_MAPS, plan.config_map))
        if plan.repair is not None:
            writes.append(client.update(kinds.CONFIG_MAPS, plan.repair))
    for result in await asyncio.gather(*writes, return_exceptions=True):
        if isinstance(result, BaseException) and not _expected(result):
            raise result


def _expected(err: BaseException) -> bool:
    """Whether someone was quicker, or the namespace is gone or about to go."""
    return isinstance(err, StatusError) and (
        err.reason == "AlreadyExists" or err.code == 404 or err.has_cause("NamespaceTerminating")
    )
