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


def _of(
    package: str,
    *takes: str,
    tells: tuple[str, ...] = (),
    adds: tuple[str, ...] = (),
    who: str = "controller",
) -> Factory:
    """The controller of a package, which `takes` these parts of the wiring as far as they are given.

    Its reasons are told, as `who`, with objects of the plurals `tells` and `adds` (`Wiring.context`).
    """

    def run(client: Client, wiring: Wiring) -> Coroutine[Any, Any, None]:
        context = wiring.context(client, tells=tells, adds=adds, who=who)
        given = {name: value for name in takes if (value := getattr(wiring, name)) not in (None, "")}
        running: Coroutine[Any, Any, None]
        running = import_module(f"longshore.controllers.{package}").run(context, **given)
        return running

    return run


def _garbage(client: Client, wiring: Wiring) -> Coroutine[Any, Any, None]:
    from longshore.controllers import garbage

    context = wiring.context(client)
    for plural, resource in _COLLECTED.items():
        wiring.explain.add(plural, "garbage", garbage.told_of(context.explanations, resource))
    return garbage.run(context)


_COLLECTED = {
    "jobs": "jobs.batch",
    "persistentvolumeclaims": "persistentvolumeclaims",
    "podgroups": "podgroups.scheduling.volcano.sh",
    "pods": "pods",
    "vcjobs": "jobs.batch.volcano.sh",
}
"""Plurals that `longshore why` may ask the garbage collector for, with the resource as the API names it."""


CONTROLLERS: dict[str, Factory] = {
    "cronjob": _of("cronjob", "namespace", "workers", "zone", tells=("cronjobs",)),
    "garbage": _garbage,
    "job": _of("job", "managed_by", "namespace", "workers", tells=("jobs",)),
    "namespace": _of("namespace", tells=("namespaces",)),
    "podgc": _of("podgc", adds=("pods",), who="podgc"),
    "rights": _of("rights", adds=("namespaces",), who="rights"),
    "serviceaccount": _of("serviceaccount", "ca", adds=("namespaces",), who="serviceaccount"),
    "ttl": _of("ttl", "namespace", tells=("jobs",), who="ttl"),
    "volcano-job": _of("volcano.job", "keys", "namespace", "workers", tells=("vcjobs",)),
    "volcano-cronjob": _of("volcano.cronjob", "namespace", "workers", "zone", tells=("vccronjobs",)),
    "volcano-gc": _of("volcano.gc", "namespace", tells=("vcjobs",), who="ttl"),
    "volcano-jobflow": _of("volcano.flow", "namespace", tells=("jobflows",)),
    "volcano-podgroup": _of("volcano.podgroup", "namespace", tells=("podgroups",)),
    "volcano-queue": _of("volcano.queue", tells=("queues",)),
    "volume": _of("volume", "volumes", tells=("persistentvolumeclaims", "persistentvolumes")),
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
