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


def _common(
    wiring: Wiring, *, tells: tuple[str, ...] = (), adds: tuple[str, ...] = (), who: str = "controller"
) -> dict[str, Any]:
    """Arguments that every controller takes. Its reasons are told, as `who`, with objects of these plurals:
    `tells` of all that it looks at, `adds` only of those that it did something about."""
    from longshore.machinery.explanations import Explanations

    explanations = Explanations()
    for plural in tells:
        wiring.explain.tell(plural, who, explanations.of)
    for plural in adds:
        wiring.explain.add(plural, who, explanations.of)
    return {
        "clock": wiring.clock,
        "rng": wiring.rng,
        "informers": wiring.informers.share(),
        "explanations": explanations,
    }


def _workers(wiring: Wiring) -> dict[str, Any]:
    """The number that was asked for; without one, each controller has its own."""
    return {} if wiring.workers is None else {"workers": wiring.workers}


def _usual(package: str, plural: str, who: str = "controller") -> Factory:
    """A controller that takes what most take, from the package of this name. It explains the objects of
    `plural`, as `who`."""

    def run(client: Client, wiring: Wiring) -> Coroutine[Any, Any, None]:
        running: Coroutine[Any, Any, None] = import_module(f"longshore.controllers.{package}").run(
            client,
            namespace=wiring.namespace,
            registry=wiring.registry,
            **_common(wiring, tells=(plural,), who=who),
        )
        return running

    return run


def _scheduled(package: str, plural: str) -> Factory:
    """A controller of CronJobs, from the package of this name."""

    def run(client: Client, wiring: Wiring) -> Coroutine[Any, Any, None]:
        running: Coroutine[Any, Any, None] = import_module(f"longshore.controllers.{package}").run(
            client,
            zone=wiring.zone,
            namespace=wiring.namespace,
            registry=wiring.registry,
            **_workers(wiring),
            **_common(wiring, tells=(plural,)),
        )
        return running

    return run


def _garbage(client: Client, wiring: Wiring) -> Coroutine[Any, Any, None]:
    from longshore.controllers import garbage

    common = _common(wiring)
    for plural, resource in _COLLECTED.items():
        wiring.explain.add(plural, "garbage", garbage.told_of(common["explanations"], resource))
    return garbage.run(client, registry=wiring.registry, **common)


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

    return job.run(
        client,
        managed_by=wiring.managed_by or RESERVED_MANAGER,
        namespace=wiring.namespace,
        registry=wiring.registry,
        **_workers(wiring),
        **_common(wiring, tells=("jobs",)),
    )


def _namespace(client: Client, wiring: Wiring) -> Coroutine[Any, Any, None]:
    from longshore.controllers import namespace

    return namespace.run(client, **_common(wiring, tells=("namespaces",)))


def _podgc(client: Client, wiring: Wiring) -> Coroutine[Any, Any, None]:
    from longshore.controllers import podgc

    return podgc.run(client, registry=wiring.registry, **_common(wiring, adds=("pods",), who="podgc"))


def _rights(client: Client, wiring: Wiring) -> Coroutine[Any, Any, None]:
    from longshore.controllers import rights

    return rights.run(client, **_common(wiring, adds=("namespaces",), who="rights"))


def _serviceaccount(client: Client, wiring: Wiring) -> Coroutine[Any, Any, None]:
    from longshore.controllers import serviceaccount

    return serviceaccount.run(
        client, wiring.ca, **_common(wiring, adds=("namespaces",), who="serviceaccount")
    )


def _volcano_job(client: Client, wiring: Wiring) -> Coroutine[Any, Any, None]:
    from longshore.controllers.volcano import job

    return job.run(
        client,
        keys=wiring.keys,
        namespace=wiring.namespace,
        registry=wiring.registry,
        **_workers(wiring),
        **_common(wiring, tells=("vcjobs",)),
    )


def _volcano_queue(client: Client, wiring: Wiring) -> Coroutine[Any, Any, None]:
    from longshore.controllers.volcano import queue

    return queue.run(client, registry=wiring.registry, **_common(wiring, tells=("queues",)))


def _volume(client: Client, wiring: Wiring) -> Coroutine[Any, Any, None]:
    from longshore.controllers import volume

    if wiring.volumes is None:
        raise ValueError("the volume controller needs a maker of directories for its volumes")
    explained = ("persistentvolumeclaims", "persistentvolumes")
    return volume.run(client, wiring.volumes, **_common(wiring, tells=explained))


CONTROLLERS: dict[str, Factory] = {
    "cronjob": _scheduled("cronjob", "cronjobs"),
    "garbage": _garbage,
    "job": _job,
    "namespace": _namespace,
    "podgc": _podgc,
    "rights": _rights,
    "serviceaccount": _serviceaccount,
    "ttl": _usual("ttl", "jobs", "ttl"),
    "volcano-job": _volcano_job,
    "volcano-cronjob": _scheduled("volcano.cronjob", "vccronjobs"),
    "volcano-gc": _usual("volcano.gc", "vcjobs", "ttl"),
    "volcano-jobflow": _usual("volcano.flow", "jobflows"),
    "volcano-podgroup": _usual("volcano.podgroup", "podgroups"),
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
