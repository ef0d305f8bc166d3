"""The loop of the service account controller: looks at all namespaces whenever something changed."""

from __future__ import annotations

import asyncio
import logging

from longshore.api.errors import StatusError
from longshore.client import Client, Unreachable
from longshore.controllers.mirror import Key, Mirror
from longshore.controllers.serviceaccount.decide import ACCOUNT, CA_CONFIG_MAP, Plan, View, decide
from longshore.controllers.worklist import Worklist

ACCOUNTS = ("v1", "serviceaccounts")
CONFIG_MAPS = ("v1", "configmaps")
_EVERYTHING = "everything"
log = logging.getLogger(__name__)


async def run(client: Client, ca: str) -> None:
    """Keeps accounts and ConfigMaps in place until cancelled. `ca` is the PEM of the authority."""
    todo: Worklist[str] = Worklist()

    def changed(_: Key) -> None:
        todo.add(_EVERYTHING)

    namespaces = Mirror(client, ("v1", "namespaces"), changed)
    accounts = Mirror(client, ACCOUNTS, changed, fields=f"metadata.name={ACCOUNT}")
    config_maps = Mirror(client, CONFIG_MAPS, changed, fields=f"metadata.name={CA_CONFIG_MAP}")
    mirrors = (namespaces, accounts, config_maps)

    async def work() -> None:
        for mirror in mirrors:
            await mirror.filled.wait()  # an empty copy would look like missing objects
        while True:
            await todo.next()
            plan = decide(View(namespaces.objects.values(), accounts.objects, config_maps.objects, ca))
            if await _act(client, plan):
                todo.succeeded(_EVERYTHING)
            else:
                todo.failed(_EVERYTHING)

    async with asyncio.TaskGroup() as tasks:
        for mirror in mirrors:
            tasks.create_task(mirror.run())
        tasks.create_task(work())


async def _act(client: Client, plan: Plan) -> bool:
    """Whether everything went well. What exists already or is about to go is well."""
    well = True
    for what, objects in ((ACCOUNTS, plan.accounts), (CONFIG_MAPS, plan.config_maps)):
        for obj in objects:
            try:
                await client.create(what, obj)
            except (StatusError, Unreachable) as err:
                well = _expected(err) and well
    for obj in plan.repairs:
        try:
            await client.update(CONFIG_MAPS, obj)
        except (StatusError, Unreachable) as err:
            well = _expected(err) and well
    return well


def _expected(err: StatusError | Unreachable) -> bool:
    """Whether the next change we see puts this right by itself."""
    if isinstance(err, StatusError) and (
        err.reason == "AlreadyExists" or err.code == 404 or err.has_cause("NamespaceTerminating")
    ):
        return True
    log.info("service account or its ConfigMap: trying again: %s", err)
    return False
