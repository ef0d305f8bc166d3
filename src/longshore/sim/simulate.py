"""Plays one question to its end: a scripted world and its chronicle on the virtual clock."""

from __future__ import annotations

import asyncio
import gc
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, timedelta
from functools import partial
from typing import Final

from msgspec.structs import replace

from longshore.api import cron
from longshore.api.errors import StatusError
from longshore.api.types import Obj
from longshore.apiserver.api import Api, ApiParts
from longshore.machinery.background import cancelled
from longshore.machinery.time import virtual
from longshore.machinery.time.virtual import VirtualClock
from longshore.node.capacity import Capacity
from longshore.plane.controllers import CONTROLLERS
from longshore.plane.plane import Plane
from longshore.scripts import annotated_pods
from longshore.scripts.pod_rules import Rule, Scripts
from longshore.scripts.runs import Outcome, Run
from longshore.sim import sim_result
from longshore.sim.chronicle import Chronicle
from longshore.sim.repeated_days import Differs, NotedDice, RepeatedDays
from longshore.sim.settings import DEFAULT_RUN_SECONDS, SimSettings, check_node, nodes
from longshore.sim.sim_result import SimResult
from longshore.sim.sim_store import SimStore
from longshore.store import Store
from longshore.testing.scripted_node import ScriptedNode
from longshore.testing.world import World
from longshore.up import startup

_FIRST: Final = (
    "Namespace", "PriorityClass", "StorageClass", "Queue", "ResourceQuota", "LimitRange", "ConfigMap",
)  # fmt: skip
"""Kinds that other objects rely on, in the order in which they are created."""
_WORK: Final = ("Command", "Job", "JobFlow", "Pod")
"""Kinds that are created at the start; all others are created before it."""
_LEAD_SECONDS: Final = 2.0
"""From the first moment of the clock to the start: 1 s for the plane, 1 s for objects created before."""
_GANGS_SECONDS: Final = 60.0
"""Gangs are created a second apart, but all within this time: those of one second start in the order of their
names, as Volcano has it, and not in that of their file."""
_STEP_SECONDS: Final = 3600.0
_QUIET_SECONDS: Final = 7200.0
"""A simulation in which no pod runs ends after this time without a change: every pause of a controller is
shorter, except for what `_quiet_seconds` adds."""

Progress = Callable[[float], None]
"""Called with the seconds that have passed."""


def simulate(settings: SimSettings, progress: Progress | None = None) -> SimResult:
    """Simulates, and returns the answer. Raises StatusError for a manifest that the API refuses."""
    if settings.shortcuts:
        with suppress(Differs):
            return in_full(settings, progress, leaves_out=True)
    return in_full(settings, progress)


def in_full(
    settings: SimSettings, progress: Progress | None = None, *, leaves_out: bool = False
) -> SimResult:
    """Plays everything, or `leaves_out` days that repeat the day before; then it may raise `Differs`."""
    start = settings.start.astimezone(UTC) - timedelta(seconds=_LEAD_SECONDS)

    async def play(clock: VirtualClock) -> SimResult:
        return await _play(settings, clock, progress, leaves_out)

    with _collecting_seldom():
        return virtual.run(play, start=start, seed=settings.seed)


@contextmanager
def _collecting_seldom() -> Iterator[None]:
    """Makes the garbage collector run less often and skip older objects: 800 gangs of four took 14.0 s of CPU
    without this, and 10.6 s with it (bench/sim.py)."""
    before, was_frozen = gc.get_threshold(), gc.get_freeze_count() > 0
    gc.freeze()
    gc.set_threshold(*startup.THRESHOLDS)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        if not was_frozen:
            gc.unfreeze()


async def _play(
    settings: SimSettings, clock: VirtualClock, progress: Progress | None, leaves_out: bool
) -> SimResult:
    clock.rng = dice = NotedDice(settings.seed)
    chronicle = Chronicle(clock)
    scripts = _scripts(settings, chronicle)
    world = world_of(settings, clock, chronicle, scripts)
    plane = world.plane
    chronicle.explains = plane.wiring.waits
    days = RepeatedDays(settings, plane.parts.store, chronicle, dice, scripts) if leaves_out else None
    async with world.running():
        informers = plane.wiring.informers.share()
        chronicle.follow(informers, events=not plane.api.shortcuts.on)
        following = asyncio.create_task(informers.run())
        try:
            await _create_all(plane, settings, chronicle)
            ended = await _wait(settings, chronicle, world, days, progress)
        finally:
            await cancelled([following])
        chronicle.unmet = [str(rule) for rule in settings.named if rule not in scripts.met]
        answer = sim_result.of(
            settings,
            chronicle,
            _nodes(settings),
            _LEAD_SECONDS,
            ended,
            world.troubles.failures,
        )
    await plane.parts.store.close()
    return answer


def _scripts(settings: SimSettings, chronicle: Chronicle) -> Scripts:
    return Scripts(
        random.Random(f"outcomes {settings.seed}"),
        settings.rules,
        default=Rule(runs=(partial(_unruled, chronicle),)),
    )


def world_of(
    settings: SimSettings, clock: VirtualClock, chronicle: Chronicle, scripts: Scripts | None = None
) -> World:
    """Makes the world in which a question is played; its parts report to the chronicle.

    It leaves out what no simulation needs: months pass in seconds. Bookmarks and renewals of watches were
    most of what happened in an idle day (`quiet_watches`). Shortcuts leave out three things more: Events are
    heard and not stored, fields have no owners, and statuses, which only controllers and nodes write here,
    are not validated. A CronJob's Job takes 7,544 calls (bench/sim.py --calls); Events would add 2,129,
    owners of fields 773, and validation 259.
    """
    store = SimStore() if settings.shortcuts else Store.open(None)
    claims = any(obj["kind"] == "PersistentVolumeClaim" for obj in settings.objects)
    fails = settings.troubles.node_mtbf or settings.troubles.failures
    running = {name for name, row in CONTROLLERS.items() if row.simulated}
    running |= ({"volume"} if claims else set()) | ({"nodelifecycle"} if fails else set())
    scripts = scripts or _scripts(settings, chronicle)
    long_way = not settings.shortcuts
    api = Api(
        ApiParts(
            store,
            clock,
            clock.rng,
            shortcuts=settings.shortcuts,
            quiet_watches=True,
            owns_fields=long_way,
            judges_statuses=long_way,
        )
    )
    return World(
        clock,
        seed=settings.seed,
        store=store,
        nodes=[_node(clock, scripts, node) for node in _nodes(settings)],
        troubles=replace(
            settings.troubles,
            failures=tuple(replace(each, at=each.at + _LEAD_SECONDS) for each in settings.troubles.failures),
        ),
        api=api,
        controllers=tuple(sorted(running)),
        zone=cron.load(settings.zone),
        serves=False,
        keeps_records=False,
        hears=None if long_way else chronicle.heard,
    )


def _nodes(settings: SimSettings) -> list[Obj]:
    """The nodes of the manifests, or else those of the question. Raises ValueError for a malformed Node."""
    given = [obj for obj in settings.objects if obj["kind"] == "Node"]
    for node in given:
        check_node(node)
    return given or [*settings.nodes] or nodes(1, {})


def _node(clock: VirtualClock, scripts: Scripts, given: Obj) -> ScriptedNode:
    has = given["status"].get("allocatable") or given["status"]["capacity"]
    amounts = {"pods": "0", **{name: str(amount) for name, amount in has.items()}}
    return ScriptedNode(
        clock, scripts, name=given["metadata"]["name"], capacity=Capacity(amounts), given=given
    )


def _unruled(chronicle: Chronicle, pod: Obj) -> Outcome:
    """The outcome of a pod that no rule matches."""
    if annotated_pods.is_annotated(pod):
        return annotated_pods.annotated(pod, DEFAULT_RUN_SECONDS)
    chronicle.went_unsaid(pod)
    return Run(DEFAULT_RUN_SECONDS)


async def _create_all(plane: Plane, settings: SimSettings, chronicle: Chronicle) -> None:
    """Creates the manifests and missing namespaces: work at the start, and other objects a second before.
    Notes kinds that longshore does not have in the chronicle. Raises StatusError, or ValueError if a
    StatusError would not name the object."""
    objects = [obj for obj in settings.objects if obj["kind"] != "Node"]

    def order(obj: Obj) -> int:
        return _FIRST.index(obj["kind"]) if obj["kind"] in _FIRST else len(_FIRST)

    given = {obj["metadata"]["name"] for obj in objects if obj["kind"] == "Namespace"} | {"default"}
    wanted = {obj["metadata"].get("namespace") or "default" for obj in objects} - given
    missing = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": each}} for each in sorted(wanted)
    ]
    ordered = sorted([*missing, *objects], key=order)
    await _until(plane, _LEAD_SECONDS - 1.0)
    await _create(plane, [obj for obj in ordered if not _begins_at_the_start(obj)], chronicle)
    await _until(plane, _LEAD_SECONDS)  # by now namespaces have their service accounts
    work = [obj for obj in ordered if _begins_at_the_start(obj)]
    await _create(plane, [obj for obj in work if not _is_gang(obj)], chronicle)
    gangs = [obj for obj in work if _is_gang(obj)]
    for number, gang in enumerate(gangs):
        pause = min(1.0, min(_GANGS_SECONDS, settings.seconds / 2) / len(gangs))
        await _until(plane, _LEAD_SECONDS + number * pause)
        await _create(plane, [gang], chronicle)


def _is_gang(obj: Obj) -> bool:
    return obj["kind"] == "Job" and str(obj["apiVersion"]).startswith("batch.volcano.sh/")


def _begins_at_the_start(obj: Obj) -> bool:
    """Whether the object is created at the start: work, or a CronJob that counts from its creation. A CronJob
    with times of the day is created before, so that it can also run at the start itself."""
    spec = obj.get("spec")
    if obj["kind"] != "CronJob" or not isinstance(spec, dict):
        return obj["kind"] in _WORK
    return "@every " in str(spec.get("schedule"))


async def _until(plane: Plane, moment: float) -> None:
    """Sleeps until `moment`. Sleeps again if a sleep ends early: even a little early would be in the second
    before."""
    while (left := moment - plane.clock.monotonic()) > 0:
        await plane.clock.sleep(left)


async def _create(plane: Plane, objects: list[Obj], chronicle: Chronicle) -> None:
    for obj in objects:
        what = (obj["apiVersion"], obj["kind"])
        try:
            row = await plane.client.resource(what)
        except LookupError:
            chronicle.went_unplayed(obj)
            continue
        body = {key: value for key, value in obj.items() if key not in ("apiVersion", "kind", "status")}
        meta = {
            k: v
            for k, v in obj["metadata"].items()
            if k not in ("uid", "resourceVersion", "creationTimestamp")
        }
        namespace = (meta.get("namespace") or "default") if row.namespaced else ""
        typed = "uid" not in obj["metadata"]  # a newer server's Node may have unknown fields
        try:
            await plane.client.create(what, {**body, "metadata": meta}, namespace, strict=typed)
        except StatusError as err:
            if f'"{meta.get("name")}"' in err.message:
                raise
            raise ValueError(f"{obj['kind']} {meta.get('name')}: {err.message}") from None


async def _wait(
    settings: SimSettings,
    chronicle: Chronicle,
    world: World,
    days: RepeatedDays | None,
    progress: Progress | None,
) -> float:
    """Lets time pass until the end, or until all work has ended or nothing can happen any more.

    Returns the moment at which the result ends: the end of the last work, if all work has ended."""
    clock = world.clock
    end, quiet_since, seen = _LEAD_SECONDS + settings.seconds, clock.monotonic(), -1
    quiet_seconds = _quiet_seconds(settings)
    while (left := end - chronicle.now()) > 0:
        await clock.sleep(min(_STEP_SECONDS, left, days.left if days is not None else left))
        if days is not None:
            days.reached(end)
        if progress is not None:
            progress(chronicle.now() - _LEAD_SECONDS)
        if chronicle.changes != seen or chronicle.cron_jobs or world.is_busy:
            seen, quiet_since = chronicle.changes, clock.monotonic()
        if settings.until_done and not chronicle.cron_jobs and (ended := chronicle.end()) is not None:
            return ended
        if settings.until_done and clock.monotonic() - quiet_since >= quiet_seconds:
            break
    return chronicle.now()


def _quiet_seconds(settings: SimSettings) -> float:
    """Seconds without a change after which nothing can happen any more; includes the repair of a node and the
    deadline of a Job that waits."""
    specs = [obj["spec"] for obj in settings.objects if isinstance(obj.get("spec"), dict)]
    deadlines = [spec.get("activeDeadlineSeconds") for spec in specs]
    return (
        _QUIET_SECONDS
        + settings.troubles.longest_failure
        + max((each for each in deadlines if isinstance(each, int)), default=0)
    )
