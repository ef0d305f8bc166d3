"""The controllers of a plane, by name. The only place that wires them to a client."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Coroutine, Iterable, Mapping
from functools import partial
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from longshore.api.facts import kinds
from longshore.machinery.informers.heard_objects import OnChange
from longshore.plane import bootstrap
from longshore.plane.supervising import supervised

if TYPE_CHECKING:
    from longshore.api.facts.kinds import Kind
    from longshore.api.types import Obj
    from longshore.client import Client
    from longshore.client.projection import Projection
    from longshore.machinery.informers.informer import Informers
    from longshore.machinery.reason_book import Kinds
    from longshore.plane.wiring import Wiring

Awaited: TypeAlias = "Mapping[Kind, Callable[[Obj], bool]]"
"""The kinds, each with a test of which objects count."""


class Controller(NamedTuple):
    """One controller: how it is started, and what the rest of longshore knows about it."""

    package: str
    """The module or package below `longshore.controllers`."""
    kind: Kinds
    """The kind of the objects about which its reasons are recorded."""
    who: str
    """The source of its reasons."""
    takes: tuple[str, ...] = ()
    """The parts of the wiring that it gets, if they are set, besides the namespace."""
    live: bool = False
    """Whether the reasons of its last sync can be asked for, including those that are not recorded."""
    workers: int = 0
    """Objects synced in parallel, unless configured otherwise; 0 if all are synced at once. More than
    upstream's 5 where syncs mostly wait for the journal: their writes share a transaction."""
    by_namespace: bool = False
    """Whether each sync concerns one object in one namespace. Then the controller can watch a single
    namespace, and be divided among replicas."""
    simulated: bool = True
    """Whether the simulator always runs the controller. It runs `volume` only if manifests have claims."""
    selects: bool = False
    """Whether it follows only some objects of the kinds it reads, unless another controller follows all."""
    only_here: str = ""
    """The reason why the controller runs only in `longshore up`; empty if it can serve another cluster."""
    begins_with: Awaited = MappingProxyType({})
    """If not empty, the controller starts with the first object of these kinds that counts."""


def _run(client: Client, wiring: Wiring, name: str) -> Coroutine[Any, Any, None]:
    """Runs the controller of this name until cancelled."""
    row = CONTROLLERS[name]
    tell = wiring.reasons.teller(row.kind, row.who)
    context = wiring.context(client, tell, name=name, workers=row.workers)
    if row.live:
        wiring.waits[str(row.kind)] = context.explanations.of
    takes = ("namespace", *row.takes) if row.by_namespace else row.takes
    given = {part: value for part in takes if (value := getattr(wiring, part)) not in (None, "")}
    running: Coroutine[Any, Any, None] = _package(name).run(context, **given)
    return running


def _package(name: str) -> Any:
    return import_module(f"longshore.controllers.{CONTROLLERS[name].package}")


_COLLECTED = {
    "jobs.batch": "job",
    "jobs.batch.volcano.sh": "vcjob",
    "persistentvolumeclaims": "pvc",
    "podgroups.scheduling.volcano.sh": "podgroup",
    "pods": "pod",
}
"""The kinds for which the garbage collector's reasons are recorded, by resource."""


def _differs_from_bootstrap(queue: Obj) -> bool:
    """Whether the queue is neither of the two that longshore makes, or has changed since."""
    meta = queue["metadata"]
    is_as_made = meta["generation"] == 1 and (queue.get("status") or {}).get("state") == "Open"
    return not is_as_made or meta["name"] not in _MADE_QUEUES


def _is_for_volcano(pod: Obj) -> bool:
    return bool(pod["spec"].get("schedulerName") == "volcano")


def _any_object(obj: Obj) -> bool:
    return True


_MADE_QUEUES: Final = frozenset(row["metadata"]["name"] for row in bootstrap.QUEUES)


_CRON: Final = "CronJob controller"
_TTL: Final = "TTL controller"
CONTROLLERS: Final[dict[str, Controller]] = {
    "aggregation": Controller(
        "aggregation",
        "clusterrole",
        "aggregation controller",
        simulated=False,
        only_here="every other cluster aggregates its roles itself",
    ),
    "cronjob": Controller(
        "cronjob",
        "cronjob",
        _CRON,
        ("zone",),
        workers=1000,
        by_namespace=True,
        begins_with={kinds.CRON_JOBS: _any_object},
    ),
    "garbage": Controller("garbage", _COLLECTED, "garbage collector", workers=20),
    "job": Controller(
        "job",
        "job",
        "Job controller",
        ("managed_by", "gathers_ends"),
        live=True,
        workers=32,
        by_namespace=True,
    ),
    "namespace": Controller("namespace", "namespace", "namespace controller", workers=1),
    "nodelifecycle": Controller(
        "nodelifecycle",
        "pod",
        "node lifecycle controller",
        ("local_nodes",),
        simulated=False,
        only_here="every other cluster looks after its nodes itself",
    ),
    "podgc": Controller("podgc", "pod", "pod collector", simulated=False),
    "rights": Controller(
        "rights",
        "namespace",
        "rights controller",
        simulated=False,
        only_here="in another cluster, rights are not longshore's to give",
    ),
    "serviceaccount": Controller(
        "serviceaccount",
        "namespace",
        "service account controller",
        ("ca",),
        only_here="it hands out its authority",
    ),
    "ttl": Controller("ttl", "job", _TTL, workers=5, by_namespace=True),
    "volcano-job": Controller(
        "volcano.job",
        "vcjob",
        "Job controller",
        ("keys",),
        workers=64,
        by_namespace=True,
        begins_with={kinds.VOLCANO_JOBS: _any_object, kinds.COMMANDS: _any_object},
    ),
    "volcano-cronjob": Controller(
        "volcano.cronjob",
        "cronvcjob",
        _CRON,
        ("zone",),
        workers=1000,
        by_namespace=True,
        begins_with={kinds.VOLCANO_CRON_JOBS: _any_object},
    ),
    "volcano-gc": Controller(
        "volcano.gc",
        "vcjob",
        _TTL,
        workers=1,
        by_namespace=True,
        begins_with={kinds.VOLCANO_JOBS: _any_object},
    ),
    "volcano-jobflow": Controller(
        "volcano.flow",
        "jobflow",
        "JobFlow controller",
        workers=5,
        by_namespace=True,
        begins_with={kinds.JOB_FLOWS: _any_object, kinds.JOB_TEMPLATES: _any_object},
    ),
    "volcano-podgroup": Controller(
        "volcano.podgroup",
        "podgroup",
        "PodGroup controller",
        workers=5,
        by_namespace=True,
        selects=True,
        begins_with={kinds.PODS: _is_for_volcano, kinds.POD_GROUPS: _any_object},
    ),
    "volcano-queue": Controller(
        "volcano.queue",
        "queue",
        "queue controller",
        workers=5,
        begins_with={
            kinds.QUEUES: _differs_from_bootstrap,
            kinds.POD_GROUPS: _any_object,
            kinds.COMMANDS: _any_object,
        },
    ),
    "volume": Controller(
        "volume",
        ("pvc", "pv"),
        "volume controller",
        ("volumes",),
        simulated=False,
        only_here="it makes directories of its own machine",
        begins_with={kinds.CLAIMS: _any_object, kinds.VOLUMES: _any_object},
    ),
}
"""All controllers by name. Each row imports its controller at start: the command line needs only the rows."""
WORKERS: Final = {name: row.workers for name, row in sorted(CONTROLLERS.items()) if row.workers}
BY_NAMESPACE: Final = frozenset(name for name, row in CONTROLLERS.items() if row.by_namespace)


def reads_of(names: Collection[str]) -> dict[Kind, Projection]:
    """The fields that the named controllers read of the kinds they follow: the union of their `READS`."""
    found: dict[Kind, Projection] = {}
    for name in sorted(names, key=lambda name: CONTROLLERS[name].selects):
        reads: dict[Kind, Projection] = getattr(_package(name), "READS", {})
        for kind, projection in reads.items():
            if kind in found:
                found[kind] |= projection
            elif not CONTROLLERS[name].selects:
                found[kind] = projection
    return found


def start(
    names: Iterable[str], client: Client, wiring: Wiring, *, at_first_objects: bool = False
) -> list[asyncio.Task[None]]:
    """Starts the named controllers; cancel the tasks to stop them.

    With `at_first_objects`, a controller is imported and run only once there is an object for it: then most
    of Volcano's are never loaded. Against another cluster the waiting would need watches of its own.
    """
    tasks: list[asyncio.Task[None]] = []
    for name in names:
        row, title = CONTROLLERS[name], f"controller {name}"
        run = partial(_run, client, wiring, name)
        if at_first_objects and row.begins_with:
            run = partial(_run_late, row, run, wiring)
        tasks.append(asyncio.create_task(supervised(title, run, wiring.clock), name=title))
    return tasks


async def _run_late(row: Controller, run: Callable[[], Awaitable[None]], wiring: Wiring) -> None:
    await _first_object(wiring.informers.share(), row.begins_with)
    await run()


async def _first_object(informers: Informers, awaited: Awaited) -> None:
    """Waits until there is an object of one of these kinds that counts."""
    found = asyncio.Event()
    for kind, counts in awaited.items():
        informers.get(kind).add_handler(OnChange(partial(_note_first, counts, found)))
    async with asyncio.TaskGroup() as tasks:
        following = tasks.create_task(informers.run())
        await found.wait()
        following.cancel()


def _note_first(counts: Callable[[Obj], bool], found: asyncio.Event, obj: Obj) -> None:
    if counts(obj):
        found.set()
