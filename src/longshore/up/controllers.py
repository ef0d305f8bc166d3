"""The controllers a longshore runs, by name. The one place where they are wired to a client."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from longshore.client import Client
    from longshore.machinery.clock import Clock

_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 60.0
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Wiring:
    """What controllers get beside a client."""

    clock: Clock
    rng: random.Random
    ca: str
    """PEM of the authority that signed the server's certificate."""


def _namespace(client: Client, wiring: Wiring) -> Coroutine[Any, Any, None]:
    from longshore.controllers import namespace

    return namespace.run(client, clock=wiring.clock, rng=wiring.rng)


def _serviceaccount(client: Client, wiring: Wiring) -> Coroutine[Any, Any, None]:
    from longshore.controllers import serviceaccount

    return serviceaccount.run(client, wiring.ca, clock=wiring.clock, rng=wiring.rng)


def _job(client: Client, wiring: Wiring) -> Coroutine[Any, Any, None]:
    from longshore.controllers import job

    return job.run(client, clock=wiring.clock, rng=wiring.rng)


Factory = Callable[["Client", Wiring], Coroutine[Any, Any, None]]

CONTROLLERS: dict[str, Factory] = {
    "namespace": _namespace,
    "serviceaccount": _serviceaccount,
    "job": _job,
}
"""Each imports its controller when it starts: the command line needs only the names."""


def start(names: Iterable[str], client: Client, wiring: Wiring) -> list[asyncio.Task[None]]:
    """Starts the named controllers; cancel the tasks to stop them."""
    return [
        asyncio.create_task(_supervised(name, CONTROLLERS[name], client, wiring), name=f"controller {name}")
        for name in names
    ]


async def _supervised(name: str, factory: Factory, client: Client, wiring: Wiring) -> None:
    """A controller that fails is a bug, logged as one; the others and the server go on."""
    pause = _FIRST_PAUSE
    while True:
        try:
            await factory(client, wiring)
        except Exception:
            log.exception("controller %s failed; starting it again in %g s", name, pause)
        await asyncio.sleep(pause)
        pause = min(pause * 2, _LONGEST_PAUSE)
