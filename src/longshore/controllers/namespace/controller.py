"""The loop of the namespace controller: which namespace to look at, and when."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from longshore.api.errors import StatusError
from longshore.client import Client, Unreachable
from longshore.controllers.mirror import Key, Mirror
from longshore.controllers.namespace.act import act
from longshore.controllers.namespace.decide import decide
from longshore.controllers.namespace.observe import NAMESPACES, observe, wanted
from longshore.controllers.worklist import Worklist

log = logging.getLogger(__name__)


async def run(client: Client, now: Callable[[], str]) -> None:
    """Empties terminating namespaces until cancelled. `now` gives RFC 3339 in whole seconds."""
    todo: Worklist[str] = Worklist()

    def changed(key: Key) -> None:
        namespace = mirror.objects.get(key)
        if namespace is not None and wanted(namespace):
            todo.add(key[1])

    mirror = Mirror(client, NAMESPACES, changed)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(mirror.run())
        tasks.create_task(_work(client, todo, now))


async def _work(client: Client, todo: Worklist[str], now: Callable[[], str]) -> None:
    failures: dict[str, tuple[str, ...]] = {}
    while True:
        name = await todo.next()
        try:
            view = await observe(client, name, now(), failures.pop(name, ()))
            if view is None:
                continue
            plan = decide(view)
            log.debug("namespace %s: %s", name, plan.why)
            failed = await act(client, view, plan)
        except (StatusError, Unreachable) as err:
            # Someone else changed it, or the server is away: look again at what is there then.
            log.info("namespace %s: trying again: %s", name, err)
            todo.failed(name)
            continue
        todo.succeeded(name)
        if failed:
            failures[name] = failed
            todo.failed(name)
        elif plan.look_again is not None:
            todo.add(name, plan.look_again)
