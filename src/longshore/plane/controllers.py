"""The controllers of a plane, by name. The one place where they are wired to a client."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from longshore.plane.supervising import supervised

if TYPE_CHECKING:
    from longshore.client import Client
    from longshore.machinery.informers.cache import Key
    from longshore.machinery.reasons import Reason
    from longshore.plane.wiring import Wiring


Factory = Callable[["Client", "Wiring", str], Coroutine[Any, Any, None]]
"""Runs the controller of this name."""


def _of(package: str, *takes: str, kind: str, who: str, live: bool = False) -> Factory:
    """The controller of a package, which `takes` these parts of the wiring as far as they are given.

    Its reasons are kept for objects of this kind, as `who` says them (`Wiring.context`). A `live` one also
    tells its last look, with what is not kept.
    """

    def run(client: Client, wiring: Wiring, name: str) -> Coroutine[Any, Any, None]:
        context = wiring.context(client, wiring.reasons.teller(kind, who), name=name)
        if live:
            wiring.waits[kind] = context.explanations.of
        given = {part: value for part in takes if (value := getattr(wiring, part)) not in (None, "")}
        running: Coroutine[Any, Any, None]
        running = import_module(f"longshore.controllers.{package}").run(context, **given)
        return running

    return run


def _garbage(client: Client, wiring: Wiring, name: str) -> Coroutine[Any, Any, None]:
    from longshore.controllers import garbage

    tell = wiring.reasons.teller_of_many(_COLLECTED, "garbage collector")
    return garbage.run(wiring.context(client, tell, name=name))


_COLLECTED = {
    "jobs.batch": "job",
    "jobs.batch.volcano.sh": "vcjob",
    "persistentvolumeclaims": "pvc",
    "podgroups.scheduling.volcano.sh": "podgroup",
    "pods": "pod",
}
"""The kinds of which the garbage collector's reasons are kept, by resource."""


def _volume(client: Client, wiring: Wiring, name: str) -> Coroutine[Any, Any, None]:
    from longshore.controllers import volume

    if wiring.volumes is None:
        raise ValueError("the volume controller needs a maker of directories for its volumes")
    of_claims, of_volumes = (wiring.reasons.teller(kind, "volume controller") for kind in ("pvc", "pv"))

    def tell(key: Key, uid: str, at: float, reason: Reason) -> None:
        (of_claims if key[0] else of_volumes)(key, uid, at, reason)

    return volume.run(wiring.context(client, tell, name=name), volumes=wiring.volumes)


_CRON: Final = "CronJob controller"
_TTL: Final = "TTL controller"
CONTROLLERS: dict[str, Factory] = {
    "aggregation": _of("aggregation", kind="clusterrole", who="aggregation controller"),
    "cronjob": _of("cronjob", "namespace", "zone", kind="cronjob", who=_CRON),
    "garbage": _garbage,
    "job": _of("job", "managed_by", "namespace", "gathers_ends", kind="job", who="Job controller", live=True),
    "namespace": _of("namespace", kind="namespace", who="namespace controller"),
    "podgc": _of("podgc", kind="pod", who="pod collector"),
    "rights": _of("rights", kind="namespace", who="rights controller"),
    "serviceaccount": _of("serviceaccount", "ca", kind="namespace", who="service account controller"),
    "ttl": _of("ttl", "namespace", kind="job", who=_TTL),
    "volcano-job": _of("volcano.job", "keys", "namespace", kind="vcjob", who="Job controller"),
    "volcano-cronjob": _of("volcano.cronjob", "namespace", "zone", kind="cronvcjob", who=_CRON),
    "volcano-gc": _of("volcano.gc", "namespace", kind="vcjob", who=_TTL),
    "volcano-jobflow": _of("volcano.flow", "namespace", kind="jobflow", who="JobFlow controller"),
    "volcano-podgroup": _of("volcano.podgroup", "namespace", kind="podgroup", who="PodGroup controller"),
    "volcano-queue": _of("volcano.queue", kind="queue", who="queue controller"),
    "volume": _volume,
}
ALPHA: Final[dict[str, Factory]] = {
    "workload": _of("workload", "namespace", kind="workload", who="workload controller"),
}
"""The controllers of features that are off unless a person turns them on."""
"""Each imports its controller when it starts: the command line needs only the names."""
WORKERS: Final = {
    "cronjob": 1000,
    "garbage": 20,
    "job": 32,
    "namespace": 1,
    "ttl": 5,
    "volcano-cronjob": 1000,
    "volcano-gc": 1,
    "volcano-job": 64,
    "volcano-jobflow": 5,
    "volcano-podgroup": 5,
    "volcano-queue": 5,
}
"""Objects that controllers look at side by side, where nothing else is said. The others look at one at a time
and cannot do otherwise."""


def start(names: Iterable[str], client: Client, wiring: Wiring) -> list[asyncio.Task[None]]:
    """Starts the named controllers; cancel the tasks to stop them."""
    return [
        asyncio.create_task(
            supervised(
                f"controller {name}", partial((CONTROLLERS | ALPHA)[name], client, wiring, name), wiring.clock
            ),
            name=f"controller {name}",
        )
        for name in names
    ]
