"""Wires the schedulers of one longshore: one ledger, pods and gangs, and what `longshore why` may ask."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from longshore.up import explained

if TYPE_CHECKING:
    from longshore.client import Client
    from longshore.up.controllers import Wiring

_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 60.0
log = logging.getLogger(__name__)


def start(
    client: Client,
    wiring: Wiring,
    actions: tuple[str, ...] | None = None,
    names: tuple[str, ...] | None = None,
) -> list[asyncio.Task[None]]:
    """Starts scheduling; cancel the tasks to stop it.

    `actions` are those of a cycle for gangs, None for Volcano's own; `names` the schedulers, None for all.
    """
    return [asyncio.create_task(_supervised(client, wiring, actions, names), name="scheduler")]


async def _supervised(
    client: Client, wiring: Wiring, actions: tuple[str, ...] | None, names: tuple[str, ...] | None
) -> None:
    """A scheduler that fails is a bug, logged as one; the server goes on and it starts again."""
    pause = _FIRST_PAUSE
    while True:
        try:
            await _run(client, wiring, actions, names)
        except Exception:
            log.exception("the scheduler failed; starting it again in %g s", pause)
        await wiring.clock.sleep(pause)
        pause = min(pause * 2, _LONGEST_PAUSE)


async def _run(
    client: Client, wiring: Wiring, actions: tuple[str, ...] | None, names: tuple[str, ...] | None
) -> None:
    from longshore.scheduler import Schedulers
    from longshore.scheduler.gang.settings import Settings

    gangs = Settings() if actions is None else Settings(actions=actions)
    schedulers = Schedulers(
        client, clock=wiring.clock, rng=wiring.rng, registry=wiring.registry, gangs=gangs, names=names
    )
    wiring.explain["pods"] = lambda namespace, name: [
        explained.entry(told.uid, told.at, told.why, told.problem, told.times)
        for told in schedulers.explain_pod(namespace, name)
    ]
    wiring.explain["podgroups"] = lambda namespace, name: [
        explained.entry(told.uid, told.at, told.why, told.problem, told.times)
        for told in schedulers.explain_group(namespace, name)
    ]
    await schedulers.run()
