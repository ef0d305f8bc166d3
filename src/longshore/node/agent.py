"""The node agent: runs the pods bound to this node, and reports their status. It only connects its parts.

Every pod has a `Life`. An event (a change in the API: `bound_pods.py`, a container that ended, a timer) marks
the pod for a sync; once per turn of the loop each marked pod is synced (`pod_sync.py`): `decide`, then `act`,
then its status goes to the writer. No pod has a task of its own.

A container starts at most once per attempt, whatever process dies, because the runtime remembers its starts.
A new agent first reads these from the runtime, then lists the pods. Containers that belong to no pod are
killed.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any, Final, Literal

from longshore.api.facts import kinds
from longshore.machinery.background import Background
from longshore.machinery.controller_context import ControllerContext
from longshore.machinery.in_thread import InThread
from longshore.machinery.informers.informer import Handler
from longshore.machinery.unavailable import Unavailable
from longshore.node import ending
from longshore.node.addresses import Addresses
from longshore.node.admission import Ledger
from longshore.node.archive import Archive
from longshore.node.bound_pods import BoundPods
from longshore.node.capacity import Capacity
from longshore.node.cleaning import Cleaner
from longshore.node.disk_pressure import DiskPressure, Free
from longshore.node.ending import Endings
from longshore.node.events import Events
from longshore.node.eviction import Evictions
from longshore.node.metrics import NodeMetrics
from longshore.node.open_runtimes import OpenRuntimes, described
from longshore.node.pod.act import PodActor
from longshore.node.pod.life import Life
from longshore.node.pod.memory import PodVerdict
from longshore.node.pod.starting import Starter
from longshore.node.pod_sync import PodSync
from longshore.node.preparing.types import Preparation
from longshore.node.probes import hooks
from longshore.node.registration import Machine, Registration
from longshore.node.runtime import ContainerState, Runtime
from longshore.node.runtime_choice import RuntimeByImage, RuntimeClasses
from longshore.node.status.writer import StatusWriter

COMPONENT: Final = "kubelet"
"""The source in the node's events; kubectl and people look for it."""
OnStop = Literal["keep", "kill"]

log = logging.getLogger(__name__)


class Agent:
    """The agent of node `name`.

    The first of `runtimes` runs pods that ask for none by `runtimeClassName`. `root` is the node's directory,
    with the pods' logs in `logs/`. `machine` describes the machine in the node's status. `archive` keeps the
    logs of failed pods that were deleted. `free` returns the free space of the disk. `classes` holds the
    RuntimeClasses. `by_image` chooses runtimes; the preparer uses it too. `handle` runs hooks and probes.
    Without `heartbeats` only `report` renews the node's status. Without `tells_unused_images` no Event speaks
    of images. `hears` registers the handler of this node's pods if many nodes share an informer."""

    def __init__(
        self,
        context: ControllerContext,
        *,
        name: str,
        runtimes: Mapping[str, Runtime],
        preparer: Preparation,
        root: Path,
        capacity: Capacity,
        in_thread: InThread,
        archive: Archive | None = None,
        free: Callable[[], Free | None] = lambda: None,
        machine: Machine | None = None,
        classes: RuntimeClasses | None = None,
        by_image: RuntimeByImage | None = None,
        handle: hooks.Handle = hooks.run,
        heartbeats: bool = True,
        tells_unused_images: bool = True,
        hears: Callable[[Handler], None] | None = None,
    ) -> None:
        client, clock, informers = context.client, context.clock, context.informers
        self._clock, self._informers, self._name = clock, informers, name
        self._preparer, self._heartbeats, self._hears = preparer, heartbeats, hears
        self._classes = classes or RuntimeClasses()
        self._runtimes = OpenRuntimes(runtimes, self._changed, self._classes, by_image)
        self._recorder = context.recorder(COMPONENT)
        self._events = Events(self._recorder, clock)
        # If this process follows all pods anyway, a second watch would receive each change again.
        fields = "" if informers.follows_all(kinds.PODS) else f"spec.nodeName={name}"
        self._pods = informers.get(kinds.PODS, fields=fields)
        ledger, addresses = Ledger(capacity), Addresses()
        metrics = NodeMetrics(
            context.registry,
            pods=lambda: len(self.lives),
            starts=lambda: self.starts,
            writes=lambda: self.status_writes,
        )
        self.lives: dict[str, Life] = {}
        """The pods with something to run, to report or to stop, by uid."""
        disk = DiskPressure(free)
        self._cleaner = Cleaner(
            preparer, root / "logs", clock, disk, spawn=self._spawn, in_thread=in_thread, kept_in=archive
        )
        self._endings = Endings(
            client,
            clock,
            self._pods.cache,
            self.lives,
            ledger=ledger,
            addresses=addresses,
            cleaner=self._cleaner,
            metrics=metrics,
            spawn=self._spawn,
        )
        self._sync = PodSync(clock, context.explanations)
        wake = self._sync.wake
        self._actor = PodActor(
            Starter(
                preparer,
                self._events,
                clock,
                runtime_of=self._runtimes.of,
                spawn=self._spawn,
                wake=wake,
                tells_unused_images=tells_unused_images,
            ),
            handle,
        )
        self._writer = StatusWriter(client, clock, spawn=self._spawn, closed=self._endings.closed, wake=wake)
        self._sync.connect(self._actor, self._writer, self._endings)
        self._bound = BoundPods(
            name,
            self.lives,
            clock,
            pods=self._pods.cache,
            sync=self._sync,
            runtimes=self._runtimes,
            endings=self._endings,
            ledger=ledger,
            addresses=addresses,
            cleaner=self._cleaner,
            events=self._events,
            preparer=preparer,
            spawn=self._spawn,
        )
        self._evictions = Evictions(clock, root, self.evict, in_thread, memory=capacity.number("memory"))
        self._registration = Registration(
            client,
            clock,
            name,
            capacity,
            runtimes=tuple(runtimes),
            machine=machine or Machine(),
            disk=disk,
            problem=self._runtimes.problem,
        )
        self._background = Background()

    @property
    def starts(self) -> int:
        """How often a runtime was asked to start a container."""
        return self._actor.starts

    @property
    def status_writes(self) -> int:
        return self._writer.writes

    async def run(self, *, on_stop: OnStop = "keep", ready: asyncio.Event | None = None) -> None:
        """Runs the node's pods until cancelled. Then `keep` leaves containers running for the next run to
        adopt, and `kill` stops them within some seconds and reports their pods as failed. `ready` is set once
        the node takes pods."""
        try:
            await self._runtimes.open()
        except Unavailable as err:
            await self._registration.cannot_run(str(err))
            raise
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._recorder.run())
                tasks.create_task(self._preparer.run(self._informers))
                classes = self._informers.get(kinds.RUNTIME_CLASSES)
                classes.add_handler(self._classes)
                tasks.create_task(classes.run())
                await classes.synced()
                # After the runtimes are open: the handler treats cached pods that no runtime knows as new.
                (self._hears or self._pods.add_handler)(self._bound)
                tasks.create_task(self._pods.run())
                await self._pods.synced()
                await self._reap()
                features = await self._runtimes.features()
                self._registration.annotations = described(features)
                await self._registration.register()
                for warning in filter(None, (each.isolation_warning for each in features.values())):
                    self._events.node(self._name, "WeakIsolation", problem=warning)
                log.debug("node %s is ready", self._name)
                if ready is not None:
                    ready.set()
                if self._heartbeats:
                    tasks.create_task(self._registration.run())
                    tasks.create_task(self._cleaner.run(self.lives))
                    tasks.create_task(self._evictions.run(self.lives))
                try:
                    await asyncio.get_running_loop().create_future()
                finally:
                    if on_stop == "kill":
                        await ending.stop_all(self.lives, self._clock, self._sync.wake)
        finally:
            self._sync.stopped = True
            await asyncio.gather(*self._background.cancel(), return_exceptions=True)
            await self._actor.close()
            for life in self.lives.values():
                ending.quiet(life)
            await self._runtimes.close(kill=on_stop == "kill")

    async def report(self) -> None:
        """Checks the machine, and writes the node's status."""
        await self._registration.report()

    async def _reap(self) -> None:
        """Kills containers and removes files that belong to no pod."""
        await self._runtimes.reap()
        present = {pod["metadata"]["uid"] for pod in self._pods.cache.facts() if self._bound.is_ours(pod)}
        await self._cleaner.remove_strangers(present | self.lives.keys())

    # ---- changes that a runtime reports

    def _changed(self, runtime: Runtime, state: ContainerState) -> None:
        life = self.lives.get(state.key.pod_uid)
        if life is not None:
            self._actor.changed(life, state)
        elif not self._runtimes.changed(runtime, state) and state.phase != "running":
            self._cleaner.keys(runtime, [state.key])

    # ---- ends

    def evict(self, life: Life, verdict: PodVerdict) -> None:
        """Stops the pod, which fails with this verdict."""
        life.memory.verdict = verdict
        self._events.pod(life.memory.pod, "PodStopped", verdict=verdict.reason, message=verdict.message)
        self._sync.wake(life)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        if self._sync.stopped:
            work.close()  # a timer fired too late: the next run does its work
        else:
            self._background.spawn(work)


__all__ = ["Agent", "OnStop"]
