"""The controllers of a plane, by name. The one place where they are wired to a client."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from longshore.plane.supervising import supervised

if TYPE_CHECKING:
    from longshore.client import Client
    from longshore.plane.wiring import Wiring


Factory = Callable[["Client", "Wiring"], Coroutine[Any, Any, None]]


def _scheduled(package: str, plural: str) -> Factory:
    """A controller of CronJobs, from the package of this name."""

    def run(client: Client, wiring: Wiring) -> Coroutine[Any, Any, None]:
        from longshore.controllers.scheduled.loop import WORKERS
        from longshore.machinery.explanations import Explanations

        explanations = Explanations()
        wiring.explain.tell(plural, "controller", explanations.of)
        running: Coroutine[Any, Any, None] = import_module(f"longshore.controllers.{package}").run(
            client,
            clock=wiring.clock,
            rng=wiring.rng,
            informers=wiring.informers.share(),
            zone=wiring.zone,
            namespace=wiring.namespace,
            workers=wiring.workers or WORKERS,
            registry=wiring.registry,
            explanations=explanations,
        )
        return running

    return run


def _garbage(client: Client, wiring: Wiring) -> Coroutine[Any, Any, None]:
    from longshore.controllers import garbage
    from longshore.machinery.explanations import Explanations

    explanations = Explanations()
    for plural, resource in _COLLECTED.items():
        wiring.explain.add(plural, "garbage", garbage.told_of(explanations, resource))
    return garbage.run(
        client,
        clock=wiring.clock,
        rng=wiring.rng,
        informers=wiring.informers.share(),
        registry=wiring.registry,
        explanations=explanations,
    )


_COLLECTED = {
    "jobs": "jobs.batch",
    "persistentvolumeclaims": "persistentvolumeclaims",
    "podgroups": "podgroups.scheduling.volcano.sh",
    "pods": "pods",
    "vcjobs": "jobs.batch.volcano.sh",
}
"""Plurals that `longshore why` may ask the garbage collector for, with the resource as the API names it."""


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
        informers=wiring.informers.share(),
        managed_by=wiring.managed_by or RESERVED_MANAGER,
        namespace=wiring.namespace,
        workers=wiring.workers or job.WORKERS,
        registry=wiring.registry,
        explanations=explanations,
    )


def _namespace(client: Client, wiring: Wiring) -> Coroutine[Any, Any, None]:
    from longshore.controllers import namespace
    from longshore.machinery.explanations import Explanations

    explanations = Explanations()
    wiring.explain.tell("namespaces", "controller", explanations.of)
    return namespace.run(
        client,
        clock=wiring.clock,
        rng=wiring.rng,
        informers=wiring.informers.share(),
        explanations=explanations,
    )


def _podgc(client: Client, wiring: Wiring) -> Coroutine[Any, Any, None]:
    from longshore.controllers import podgc
    from longshore.machinery.explanations import Explanations

    explanations = Explanations()
    wiring.explain.add("pods", "podgc", explanations.of)
    return podgc.run(
        client,
        clock=wiring.clock,
        rng=wiring.rng,
        informers=wiring.informers.share(),
        registry=wiring.registry,
        explanations=explanations,
    )


def _rights(client: Client, wiring: Wiring) -> Coroutine[Any, Any, None]:
    from longshore.controllers import rights
    from longshore.machinery.explanations import Explanations

    explanations = Explanations()
    wiring.explain.add("namespaces", "rights", explanations.of)
    return rights.run(
        client,
        clock=wiring.clock,
        rng=wiring.rng,
        informers=wiring.informers.share(),
        explanations=explanations,
    )


def _serviceaccount(client: Client, wiring: Wiring) -> Coroutine[Any, Any, None]:
    from longshore.controllers import serviceaccount
    from longshore.machinery.explanations import Explanations

    explanations = Explanations()
    wiring.explain.add("namespaces", "serviceaccount", explanations.of)
    return serviceaccount.run(
        client,
        wiring.ca,
        clock=wiring.clock,
        rng=wiring.rng,
        informers=wiring.informers.share(),
        explanations=explanations,
    )


def _volcano_job(client: Client, wiring: Wiring) -> Coroutine[Any, Any, None]:
    from longshore.controllers.volcano import job
    from longshore.machinery.explanations import Explanations

    explanations = Explanations()
    wiring.explain.tell("vcjobs", "controller", explanations.of)
    return job.run(
        client,
        clock=wiring.clock,
        rng=wiring.rng,
        informers=wiring.informers.share(),
        keys=wiring.keys,
        namespace=wiring.namespace,
        workers=wiring.workers or job.WORKERS,
        registry=wiring.registry,
        explanations=explanations,
    )


def _volcano_queue(client: Client, wiring: Wiring) -> Coroutine[Any, Any, None]:
    from longshore.controllers.volcano import queue
    from longshore.machinery.explanations import Explanations

    explanations = Explanations()
    wiring.explain.tell("queues", "controller", explanations.of)
    return queue.run(
        client,
        clock=wiring.clock,
        rng=wiring.rng,
        informers=wiring.informers.share(),
        registry=wiring.registry,
        explanations=explanations,
    )


def _volume(client: Client, wiring: Wiring) -> Coroutine[Any, Any, None]:
    from longshore.controllers import volume
    from longshore.machinery.explanations import Explanations

    if wiring.volumes is None:
        raise ValueError("the volume controller needs a maker of directories for its volumes")
    explanations = Explanations()
    wiring.explain.tell("persistentvolumeclaims", "controller", explanations.of)
    wiring.explain.tell("persistentvolumes", "controller", explanations.of)
    return volume.run(
        client,
        wiring.volumes,
        clock=wiring.clock,
        rng=wiring.rng,
        informers=wiring.informers.share(),
        explanations=explanations,
    )


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
            informers=wiring.informers.share(),
            namespace=wiring.namespace,
            registry=wiring.registry,
            **more,
        )
        return running

    return run


CONTROLLERS: dict[str, Factory] = {
    "cronjob": _scheduled("cronjob", "cronjobs"),
    "garbage": _garbage,
    "job": _job,
    "namespace": _namespace,
    "podgc": _podgc,
    "rights": _rights,
    "serviceaccount": _serviceaccount,
    "ttl": _usual("ttl", ("jobs", "ttl")),
    "volcano-job": _volcano_job,
    "volcano-cronjob": _scheduled("volcano.cronjob", "vccronjobs"),
    "volcano-gc": _usual("volcano.gc", ("vcjobs", "ttl")),
    "volcano-jobflow": _usual("volcano.flow", ("jobflows", "controller")),
    "volcano-podgroup": _usual("volcano.podgroup", ("podgroups", "controller")),
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
