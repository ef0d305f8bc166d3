"""Plays one question to its end: the plane, the fleet and the chronicle on one virtual clock."""

from __future__ import annotations

import asyncio
import gc
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, timedelta
from functools import partial
from typing import Final

from longshore.api import cron
from longshore.api.errors import StatusError
from longshore.api.types import Obj
from longshore.apiserver.api import Api
from longshore.machinery.time import virtual
from longshore.machinery.time.virtual import VirtualClock
from longshore.plane.plane import Parts, Plane
from longshore.plane.supervising import cancelled
from longshore.sim import outcome_notes, sim_result
from longshore.sim.chronicle import Chronicle
from longshore.sim.fleet import Fleet
from longshore.sim.settings import DEFAULT_RUN_SECONDS, Settings, check_node, nodes
from longshore.sim.sim_client import SimClient
from longshore.sim.sim_result import Result
from longshore.sim.sim_store import SimStore
from longshore.store import Store
from longshore.testing import MemoryDirectories, SeededKeys
from longshore.testing.pod_outcomes import Outcome, Run
from longshore.testing.scripts import Rule, Scripts
from longshore.up import startup

_CONTROLLERS: Final = (
    "cronjob",
    "garbage",
    "job",
    "namespace",
    "serviceaccount",
    "ttl",
    "volcano-cronjob",
    "volcano-gc",
    "volcano-job",
    "volcano-jobflow",
    "volcano-podgroup",
    "volcano-queue",
)
_FIRST: Final = (
    "Namespace",
    "PriorityClass",
    "StorageClass",
    "Queue",
    "ResourceQuota",
    "LimitRange",
    "ConfigMap",
)
"""Kinds that others rely on, in the order in which they are created."""
_WORK: Final = ("Command", "Job", "JobFlow", "Pod")
"""Kinds that begin at the start; everything else is there before."""
_LEAD_SECONDS: Final = 2.0
"""From the first moment of the clock to the start: one for the plane, and one for what is there before."""
_STEP_SECONDS: Final = 3600.0
_QUIET_SECONDS: Final = 7200.0
"""While no pod runs, nothing happens for so long only if nothing can: every pause of a controller is shorter,
but for what `_quiet_seconds` adds."""

Progress = Callable[[float], None]
"""Is told how many seconds have passed."""


def simulate(settings: Settings, progress: Progress | None = None) -> Result:
    """The answer. Raises StatusError for a manifest that the API refuses."""
    start = settings.start.astimezone(UTC) - timedelta(seconds=_LEAD_SECONDS)
    with _collecting_seldom():
        return virtual.run(lambda clock: _play(settings, clock, progress), start=start, seed=settings.seed)


@contextmanager
def _collecting_seldom() -> Iterator[None]:
    """Lets the collector of garbage look less often, and not at what was there before: 800 gangs of four took
    14.0 s of CPU without this, and 10.6 s with it (bench/sim.py)."""
    before, was_frozen = gc.get_threshold(), gc.get_freeze_count() > 0
    gc.freeze()
    gc.set_threshold(*startup.THRESHOLDS)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        if not was_frozen:
            gc.unfreeze()


async def _play(settings: Settings, clock: VirtualClock, progress: Progress | None) -> Result:
    store = SimStore() if settings.shortcuts else Store.open(None)
    objects = [*settings.objects]
    given = [obj for obj in objects if obj["kind"] == "Node"]
    for node in given:
        check_node(node)
    fleet_nodes = given or [*settings.nodes] or nodes(1, {})
    claims = any(obj["kind"] == "PersistentVolumeClaim" for obj in objects)
    parts = Parts(
        store,
        clock,
        clock.rng,
        cron.load(settings.zone),
        SeededKeys(clock.rng),
        (*_CONTROLLERS, *(("volume",) if claims else ())),
        volumes=MemoryDirectories() if claims else None,
        keeps_records=False,
    )
    chronicle = Chronicle(clock)
    api = Api(store, clock=clock, rng=clock.rng, shortcuts=settings.shortcuts)
    plane = Plane(parts, SimClient(api, chronicle.heard))
    await plane.prepare()
    unruled = Rule("*", (partial(_unruled, chronicle),))
    scripts = Scripts(random.Random(f"outcomes {settings.seed}"), [unruled, *settings.rules])
    dice = random.Random(f"troubles {settings.seed}")
    fleet = Fleet(plane.client, clock, scripts, fleet_nodes, settings.troubles, dice)
    await fleet.prepare()
    informers = plane.wiring.informers.share()
    async with plane.running():
        chronicle.follow(informers, events=not api.shortcuts.on)
        playing = asyncio.create_task(fleet.run(informers))
        try:
            await _create_all(plane, [obj for obj in objects if obj["kind"] != "Node"])
            await _wait(settings, clock, chronicle, fleet, progress)
        finally:
            await cancelled([playing])
        answer = sim_result.of(
            settings, chronicle, plane, fleet_nodes, _LEAD_SECONDS, clock.monotonic(), fleet.failures
        )
    await store.close()
    return answer


def _unruled(chronicle: Chronicle, pod: Obj) -> Outcome:
    """How a pod goes that no rule is about."""
    if outcome_notes.is_annotated(pod):
        return outcome_notes.annotated(pod)
    chronicle.went_unsaid(pod)
    return Run(DEFAULT_RUN_SECONDS)


async def _create_all(plane: Plane, objects: list[Obj]) -> None:
    """Creates the manifests, and namespaces that nobody gave: work at the start, and a second before it what
    work relies on. Raises StatusError, or ValueError where that would not name the object."""

    def order(obj: Obj) -> int:
        return _FIRST.index(obj["kind"]) if obj["kind"] in _FIRST else len(_FIRST)

    given = {obj["metadata"]["name"] for obj in objects if obj["kind"] == "Namespace"} | {"default"}
    wanted = {obj["metadata"].get("namespace") or "default" for obj in objects} - given
    missing = [_namespace(name) for name in sorted(wanted)]
    ordered = sorted([*missing, *objects], key=order)
    await _until(plane, _LEAD_SECONDS - 1.0)
    await _create(plane, [obj for obj in ordered if not _begins_at_the_start(obj)])
    await _until(plane, _LEAD_SECONDS)  # by now namespaces have their service accounts
    await _create(plane, [obj for obj in ordered if _begins_at_the_start(obj)])


def _begins_at_the_start(obj: Obj) -> bool:
    """Whether it is work, or a CronJob that counts from its creation. One with times of the day is there
    before, so that it also runs at a time that is the start."""
    spec = obj.get("spec")
    if obj["kind"] != "CronJob" or not isinstance(spec, dict):
        return obj["kind"] in _WORK
    return "@every " in str(spec.get("schedule"))


async def _until(plane: Plane, moment: float) -> None:
    """Sleeps until the clock has come so far. A sleep may end a moment early, and would be in the second
    before."""
    while (left := moment - plane.clock.monotonic()) > 0:
        await plane.clock.sleep(left)


async def _create(plane: Plane, objects: list[Obj]) -> None:
    for obj in objects:
        what = (obj["apiVersion"], obj["kind"])
        try:
            row = await plane.client.resource(what)
        except LookupError as err:
            raise ValueError(f"{obj['kind']} {obj['metadata'].get('name')}: {err}") from None
        body = {key: value for key, value in obj.items() if key not in ("apiVersion", "kind", "status")}
        meta = {
            k: v
            for k, v in obj["metadata"].items()
            if k not in ("uid", "resourceVersion", "creationTimestamp")
        }
        namespace = (meta.get("namespace") or "default") if row.namespaced else ""
        try:
            await plane.client.create(what, {**body, "metadata": meta}, namespace)
        except StatusError as err:
            if f'"{meta.get("name")}"' in err.message:
                raise
            raise ValueError(f"{obj['kind']} {meta.get('name')}: {err.message}") from None


def _namespace(name: str) -> Obj:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


async def _wait(
    settings: Settings,
    clock: VirtualClock,
    chronicle: Chronicle,
    fleet: Fleet,
    progress: Progress | None,
) -> None:
    """Lets time pass until the end, or until nothing is left to do, or nothing can happen any more."""
    end, quiet_since, seen = _LEAD_SECONDS + settings.seconds, clock.monotonic(), -1
    quiet_seconds = _quiet_seconds(settings)
    while (left := end - clock.monotonic()) > 0:
        await clock.sleep(min(_STEP_SECONDS, left))
        if progress is not None:
            progress(clock.monotonic() - _LEAD_SECONDS)
        if chronicle.changes != seen or chronicle.cron_jobs or fleet.is_busy:
            seen, quiet_since = chronicle.changes, clock.monotonic()
        is_quiet = clock.monotonic() - quiet_since >= quiet_seconds
        if settings.until_done and (_is_done(chronicle) or is_quiet):
            return


def _quiet_seconds(settings: Settings) -> float:
    """How long nothing happens only if nothing can: a node may be repaired, and a Job that waits may reach
    its deadline."""
    repair = settings.troubles.node_repair if settings.troubles.node_mtbf else 0.0
    specs = [obj["spec"] for obj in settings.objects if isinstance(obj.get("spec"), dict)]
    deadlines = [spec.get("activeDeadlineSeconds") for spec in specs]
    return _QUIET_SECONDS + repair + max((each for each in deadlines if isinstance(each, int)), default=0)


def _is_done(chronicle: Chronicle) -> bool:
    works = chronicle.works.values()
    return bool(works) and all(work.ended is not None for work in works) and not chronicle.cron_jobs
