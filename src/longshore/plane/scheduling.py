"""Wires the schedulers of one longshore: one ledger, pods and gangs, and the reasons for `longshore why`."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING

from longshore.plane.supervising import supervised

if TYPE_CHECKING:
    from collections.abc import Callable

    from longshore.apiserver.shortcuts.placed_pods import Placer
    from longshore.client import Client
    from longshore.plane.wiring import Wiring
    from longshore.scheduler.gang.conf.conf_file import ConfFile

    PlaceBy = Callable[[Placer | None], None]


def start(
    client: Client,
    wiring: Wiring,
    gangs: ConfFile | tuple[str, ...] | None = None,
    names: tuple[str, ...] | None = None,
    place_by: PlaceBy | None = None,
) -> list[asyncio.Task[None]]:
    """Starts scheduling; cancel the tasks to stop it.

    `gangs` is the file with the gang scheduler's settings, or a list of its actions, None for Volcano's
    defaults; `names` are the schedulers, None for all. `place_by` is called with the scheduler that an API in
    this process may ask to place new pods.
    """
    return [
        asyncio.create_task(
            supervised("the scheduler", partial(_run, client, wiring, gangs, names, place_by), wiring.clock),
            name="scheduler",
        )
    ]


async def _run(
    client: Client,
    wiring: Wiring,
    gangs: ConfFile | tuple[str, ...] | None,
    names: tuple[str, ...] | None,
    place_by: PlaceBy | None,
) -> None:
    from longshore.machinery.explanations import Explanations
    from longshore.scheduler import Schedulers

    conf = None if gangs is None or isinstance(gangs, tuple) else gangs
    settings = None if conf is None else conf.settings
    if isinstance(gangs, tuple):
        from longshore.scheduler.gang.settings import Settings

        settings = Settings(actions=gangs)
    schedulers = Schedulers(
        wiring.context(client, wiring.reasons.teller("pod", "scheduler")),
        group_explanations=Explanations(wiring.reasons.teller("podgroup", "scheduler"), per_object=1),
        gangs=settings,
        names=names,
    )
    wiring.waits["pod"] = schedulers.explain_pod
    wiring.waits["podgroup"] = schedulers.explain_group
    if place_by is not None:
        place_by(schedulers.pods)
    try:
        async with asyncio.TaskGroup() as tasks:
            if conf is not None:
                tasks.create_task(conf.follow(wiring.clock, schedulers.configure_gangs))
            tasks.create_task(schedulers.run())
    finally:
        if place_by is not None:
            place_by(None)
