"""The controllers a longshore runs, by name. The one place where they are wired to a client."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from longshore.machinery.metrics import Registry
from longshore.up import why_page
from longshore.up.supervising import supervised

if TYPE_CHECKING:
    from pathlib import Path

    from longshore.client import Client
    from longshore.machinery.time.clock import Clock


@dataclass(frozen=True, slots=True)
class Wiring:
    """What controllers get beside a client."""

    clock: Clock
    rng: random.Random
    ca: str = ""
    """PEM of the authority that signed the server's certificate."""
    volumes: Path | None = None
    """Where directories for claims are made; None where none can be."""
    namespace: str = ""
    """Look after this namespace alone; empty for all."""
    managed_by: str = ""
    """Look after Jobs with this `spec.managedBy`; empty for those that are Kubernetes' own."""
    workers: int | None = None
    """Objects looked at side by side; None leaves it to each controller."""
    registry: Registry = field(default_factory=Registry)
    explain: why_page.Reasons = field(default_factory=why_page.Reasons)
    """Whoever can explain itself says so here as it starts."""


def _cronjob(client: Client, wiring: Wiring) -> Coroutine[Any, Any, None]:
    from longshore.controllers import cronjob
    from longshore.machinery.explanations import Explanations

    explanations = Explanations()
    wiring.explain.tell("cronjobs", "controller", explanations.of)
    return cronjob.run(
        client,
        clock=wiring.clock,
        rng=wiring.rng,
        namespace=wiring.namespace,
        workers=wiring.workers or cronjob.WORKERS,
        registry=wiring.registry,
        explanations=explanations,
    )


def _garbage(client: Client, wiring: Wiring) -> Coroutine[Any, Any, None]:
    from longshore.controllers import garbage

    return garbage.run(client, clock=wiring.clock, rng=wiring.rng, registry=wiring.registry)


def _job(client: Client, wiring: Wiring) -> Coroutine[Any, Any, None]:
    from longshore.controllers import job
    from longshore.controllers.job.spec import RESERVED_MANAGER
    from longshore.machinery.explanations import Explanations

    explanations = Explanations()
    wiring.explain.tell("jobs", "controller", explanations.of)
    return job.run(
        client,
        clock=wiring.clock,
        rng=wiring.rng,
        managed_by=wiring.managed_by or RESERVED_MANAGER,
        namespace=wiring.namespace,
        workers=wiring.workers or job.WORKERS,
        registry=wiring.registry,
        explanations=explanations,
    )


def _namespace(client: Client, wiring: Wiring) -> Coroutine[Any, Any, None]:
    from longshore.controllers import namespace

    return namespace.run(client, clock=wiring.clock, rng=wiring.rng)


def _podgc(client: Client, wiring: Wiring) -> Coroutine[Any, Any, None]:
    from longshore.controllers import podgc

    return podgc.run(client, clock=wiring.clock, rng=wiring.rng, registry=wiring.registry)


def _rights(client: Client, wiring: Wiring) -> Coroutine[Any, Any, None]:
    from longshore.controllers import rights

    return rights.run(client, clock=wiring.clock, rng=wiring.rng)


def _serviceaccount(client: Client, wiring: Wiring) -> Coroutine[Any, Any, None]:
    from longshore.controllers import serviceaccount

    return serviceaccount.run(client, wiring.ca, clock=wiring.clock, rng=wiring.rng)


def _volcano_job(client: Client, wiring: Wiring) -> Coroutine[Any, Any, None]:
    from longshore.controllers.volcano import job
    from longshore.machinery.explanations import Explanations

    explanations = Explanations()
    wiring.explain.tell("vcjobs", "controller", explanations.of)
    return job.run(
        client,
        clock=wiring.clock,
        rng=wiring.rng,
        namespace=wiring.namespace,
        workers=wiring.workers or job.WORKERS,
        registry=wiring.registry,
        explanations=explanations,
    )


def _volcano_queue(client: Client, wiring: Wiring) -> Coroutine[Any, Any, None]:
    from longshore.controllers.volcano import queue

    return queue.run(client, clock=wiring.clock, rng=wiring.rng, registry=wiring.registry)


def _volume(client: Client, wiring: Wiring) -> Coroutine[Any, Any, None]:
    from longshore.controllers import volume

    if wiring.volumes is None:
        raise ValueError("the volume controller needs a directory for its volumes")
    return volume.run(client, wiring.volumes, clock=wiring.clock, rng=wiring.rng)


Factory = Callable[["Client", Wiring], Coroutine[Any, Any, None]]


def _usual(package: str, explains: tuple[str, str] | None = None) -> Factory:
    """A controller that takes what most take, from the package of this name. `explains` says of which objects
    it tells why, and as whom."""

    def run(client: Client, wiring: Wiring) -> Coroutine[Any, Any, None]:
        controller = import_module(f"longshore.controllers.{package}")
        more: dict[str, Any] = {}
        if explains is not None:
            from longshore.machinery.explanations import Explanations

            more["explanations"] = Explanations()
            wiring.explain.tell(*explains, more["explanations"].of)
        running: Coroutine[Any, Any, None] = controller.run(
            client,
            clock=wiring.clock,
            rng=wiring.rng,
            namespace=wiring.namespace,
            registry=wiring.registry,
            **more,
        )
        return running

    return run


CONTROLLERS: dict[str, Factory] = {
    "cronjob": _cronjob,
    "garbage": _garbage,
    "job": _job,
    "namespace": _namespace,
    "podgc": _podgc,
    "rights": _rights,
    "serviceaccount": _serviceaccount,
    "ttl": _usual("ttl", ("jobs", "ttl")),
    "volcano-job": _volcano_job,
    "volcano-cronjob": _usual("volcano.cronjob"),
    "volcano-gc": _usual("volcano.gc", ("vcjobs", "ttl")),
    "volcano-jobflow": _usual("volcano.flow"),
    "volcano-podgroup": _usual("volcano.podgroup"),
    "volcano-queue": _volcano_queue,
    "volume": _volume,
}
"""Each imports its controller when it starts: the command line needs only the names."""


def start(names: Iterable[str], client: Client, wiring: Wiring) -> list[asyncio.Task[None]]:
    """Starts the named controllers; cancel the tasks to stop them."""
    return [
        asyncio.create_task(
            supervised(f"controller {name}", partial(CONTROLLERS[name], client, wiring), wiring.clock),
            name=f"controller {name}",
        )
        for name in names
    ]
