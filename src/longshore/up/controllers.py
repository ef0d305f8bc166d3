"""The controllers a longshore runs, by name. The one place where they are wired to a client."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from longshore.machinery.metrics import Registry
from longshore.up import explained

if TYPE_CHECKING:
    from pathlib import Path

    from longshore.client import Client
    from longshore.machinery.clock import Clock

_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 60.0
log = logging.getLogger(__name__)


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
    explain: dict[str, explained.Explain] = field(default_factory=dict)
    """By plural; each controller that can explain itself puts an entry here as it starts."""


def _cronjob(client: Client, wiring: Wiring) -> Coroutine[Any, Any, None]:
    from longshore.controllers import cronjob
    from longshore.machinery.explanations import Explanations

    explanations = Explanations()
    wiring.explain["cronjobs"] = lambda namespace, name: [
        explained.entry(told.uid, told.at, told.why, told.problem, told.times)
        for told in explanations.of(namespace, name)
    ]
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

    history = job.History()
    wiring.explain["jobs"] = lambda namespace, name: [
        explained.entry(told.uid, told.at, told.why, told.problem, told.times)
        for told in history.of(namespace, name)
    ]
    return job.run(
        client,
        clock=wiring.clock,
        rng=wiring.rng,
        managed_by=wiring.managed_by or RESERVED_MANAGER,
        namespace=wiring.namespace,
        workers=wiring.workers or 5,
        registry=wiring.registry,
        history=history,
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


def _ttl(client: Client, wiring: Wiring) -> Coroutine[Any, Any, None]:
    from longshore.controllers import ttl

    return ttl.run(
        client,
        clock=wiring.clock,
        rng=wiring.rng,
        namespace=wiring.namespace,
        registry=wiring.registry,
    )


def _volcano_job(client: Client, wiring: Wiring) -> Coroutine[Any, Any, None]:
    from longshore.controllers import volcano
    from longshore.machinery.explanations import Explanations

    explanations = Explanations()
    wiring.explain["vcjobs"] = lambda namespace, name: [
        explained.entry(told.uid, told.at, told.why, told.problem, told.times)
        for told in explanations.of(namespace, name)
    ]
    return volcano.run(
        client,
        clock=wiring.clock,
        rng=wiring.rng,
        namespace=wiring.namespace,
        workers=wiring.workers or volcano.WORKERS,
        registry=wiring.registry,
        explanations=explanations,
    )


def _volcano_cronjob(client: Client, wiring: Wiring) -> Coroutine[Any, Any, None]:
    from longshore.controllers import volcano_cronjob

    return volcano_cronjob.run(
        client,
        clock=wiring.clock,
        rng=wiring.rng,
        namespace=wiring.namespace,
        registry=wiring.registry,
    )


def _volcano_flow(client: Client, wiring: Wiring) -> Coroutine[Any, Any, None]:
    from longshore.controllers import volcano_flow

    return volcano_flow.run(
        client,
        clock=wiring.clock,
        rng=wiring.rng,
        namespace=wiring.namespace,
        registry=wiring.registry,
    )


def _volcano_gc(client: Client, wiring: Wiring) -> Coroutine[Any, Any, None]:
    from longshore.controllers import volcano_gc

    return volcano_gc.run(
        client,
        clock=wiring.clock,
        rng=wiring.rng,
        namespace=wiring.namespace,
        registry=wiring.registry,
    )


def _volcano_podgroup(client: Client, wiring: Wiring) -> Coroutine[Any, Any, None]:
    from longshore.controllers import volcano_podgroup

    return volcano_podgroup.run(
        client,
        clock=wiring.clock,
        rng=wiring.rng,
        namespace=wiring.namespace,
        registry=wiring.registry,
    )


def _volcano_queue(client: Client, wiring: Wiring) -> Coroutine[Any, Any, None]:
    from longshore.controllers import volcano_queue

    return volcano_queue.run(client, clock=wiring.clock, rng=wiring.rng, registry=wiring.registry)


def _volume(client: Client, wiring: Wiring) -> Coroutine[Any, Any, None]:
    from longshore.controllers import volume

    if wiring.volumes is None:
        raise ValueError("the volume controller needs a directory for its volumes")
    return volume.run(client, wiring.volumes, clock=wiring.clock, rng=wiring.rng)


Factory = Callable[["Client", Wiring], Coroutine[Any, Any, None]]

CONTROLLERS: dict[str, Factory] = {
    "cronjob": _cronjob,
    "garbage": _garbage,
    "job": _job,
    "namespace": _namespace,
    "podgc": _podgc,
    "rights": _rights,
    "serviceaccount": _serviceaccount,
    "ttl": _ttl,
    "volcano-job": _volcano_job,
    "volcano-cronjob": _volcano_cronjob,
    "volcano-gc": _volcano_gc,
    "volcano-jobflow": _volcano_flow,
    "volcano-podgroup": _volcano_podgroup,
    "volcano-queue": _volcano_queue,
    "volume": _volume,
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
        await wiring.clock.sleep(pause)
        pause = min(pause * 2, _LONGEST_PAUSE)
