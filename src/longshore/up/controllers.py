"""The controllers a longshore runs, by name. The one place where they are wired to a client."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import dataclass
from typing import Any

from longshore.client import Client
from longshore.controllers import namespace, serviceaccount

_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 60.0
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Wiring:
    """What controllers get beside a client."""

    now: Callable[[], str]
    ca: str
    """PEM of the authority that signed the server's certificate."""


Factory = Callable[[Client, Wiring], Coroutine[Any, Any, None]]

CONTROLLERS: dict[str, Factory] = {
    "namespace": lambda client, wiring: namespace.run(client, wiring.now),
    "serviceaccount": lambda client, wiring: serviceaccount.run(client, wiring.ca),
}


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
