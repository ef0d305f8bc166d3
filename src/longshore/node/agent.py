"""The node agent: runs the pods bound to this node, and reports on them.

Every pod has a `Life`. Whatever happens (a change in the API, a container that ended, a timer) marks it to be
looked at; once per turn of the loop each marked one is looked at: `decide`, then `act`, then its status is
offered to the writer. No pod has a task of its own.

A pod's containers start at most once per attempt, whatever dies when: the engine remembers what it
started. On start the agent first hears that, then which pods there are. What runs and belongs to no pod is
killed.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Coroutine, Mapping
from pathlib import Path
from typing import Any, Final, Literal

from longshore.api.facts import kinds, pod_state
from longshore.api.time import rfc3339
from longshore.api.types import Obj
from longshore.client import Client
from longshore.machinery.background import Hands
from longshore.machinery.events.recorder import Recorder
from longshore.machinery.explanations import Explanation, Explanations
from longshore.machinery.in_thread import InThread
from longshore.machinery.informers.informer import Handler
from longshore.machinery.informers.shared import Informers
from longshore.machinery.metrics import Registry
from longshore.machinery.time.clock import Clock
from longshore.node import ending
from longshore.node.addresses import Addresses
from longshore.node.admission import Ledger
from longshore.node.archive import Archive
from longshore.node.capacity import Capacity
from longshore.node.cleaning import Cleaner
from longshore.node.ending import Endings
from longshore.node.engines import Engines
from longshore.node.events import Events
from longshore.node.eviction import Evictions
from longshore.node.metrics import NodeMetrics
from longshore.node.pod import recall
from longshore.node.pod.act import Actor
from longshore.node.pod.adoption import adopt
from longshore.node.pod.decide import decide
from longshore.node.pod.facts import facts_of
from longshore.node.pod.life import Life
from longshore.node.pod.memory import Verdict
from longshore.node.pod.preparation import Preparation
from longshore.node.registration import Machine, Registration
from longshore.node.runtime import Runtime, State
from longshore.node.status.build import HOST_IP
from longshore.node.status.writer import StatusWriter

COMPONENT: Final = "kubelet"
"""What events name as their source; kubectl and people look for it."""
OnStop = Literal["keep", "kill"]
SHUTDOWN: Final = "Pod was terminated in response to imminent node shutdown."

log = logging.getLogger(__name__)


async def run(
    client: Client,
    *,
    clock: Clock,
    rng: random.Random,
    informers: Informers | None = None,
    name: str,
    runtimes: Mapping[str, Runtime],
    preparer: Preparation,
    root: Path,
    capacity: Capacity,
    in_thread: InThread,
    machine: Machine | None = None,
    registry: Registry | None = None,
    explanations: Explanations | None = None,
    on_stop: OnStop = "keep",
    stop_grace: float = 5.0,
    labels: Mapping[str, str] | None = None,
    ready: asyncio.Event | None = None,
    archive: Archive | None = None,
    shortcuts: bool = True,
) -> None:
    """Runs the pods of node `name` until cancelled.

    The first of `runtimes` runs pods that ask for none by `runtimeClassName`. `root` is the node's directory,
    with the pods' logs in `logs/`. When cancelled, containers go on (`keep`: the next run finds them), or
    are stopped within `stop_grace` seconds and their pods reported as failed (`kill`). `ready` is set once
    the node takes pods. `machine` is what the node's status tells of the machine. `archive` is where the logs
    of failed pods go when the pods do. Without `shortcuts` a pod with one container is looked at once more
    between its preparation and its start.
    """
    agent = Agent(
        client,
        clock=clock,
        rng=rng,
        informers=informers or Informers(client, clock=clock, rng=rng),
        name=name,
        runtimes=runtimes,
        preparer=preparer,
        root=root,
        capacity=capacity,
        in_thread=in_thread,
        machine=machine,
        registry=registry or Registry(),
        explanations=explanations or Explanations(),
        labels=labels,
        archive=archive,
        shortcuts=shortcuts,
    )
    await agent.run(on_stop=on_stop, stop_grace=stop_grace, ready=ready)


class Agent(Handler):
    """Arguments as of `run`."""

    def __init__(
        self,
        client: Client,
        *,
        clock: Clock,
        rng: random.Random,
        informers: Informers,
        name: str,
        runtimes: Mapping[str, Runtime],
        preparer: Preparation,
        root: Path,
        capacity: Capacity,
        in_thread: InThread,
        registry: Registry,
        explanations: Explanations,
        labels: Mapping[str, str] | None = None,
        archive: Archive | None = None,
        machine: Machine | None = None,
        shortcuts: bool = True,
    ) -> None:
        self._client, self._clock, self._informers, self._name = client, clock, informers, name
        self._preparer = preparer
        self._engines = Engines(runtimes, self._changed)
        self._recorder = Recorder(client, COMPONENT, clock=clock, rng=rng)
        self._events = Events(self._recorder, clock)
        # Where all pods are followed by others of this process anyway, a watch of our own would tell twice.
        fields = "" if informers.follows_whole(kinds.PODS) else f"spec.nodeName={name}"
        self._pods = informers.get(kinds.PODS, fields=fields)
        self._ledger, self._addresses = Ledger(capacity), Addresses()
        self._explanations = explanations
        self._metrics = NodeMetrics(registry, self)
        self.lives: dict[str, Life] = {}
        """By uid: every pod that has something to run, to report or to stop."""
        self._cleaner = Cleaner(
            preparer, root / "logs", clock, spawn=self._spawn, in_thread=in_thread, kept_in=archive
        )
        self._endings = Endings(
            client,
            clock,
            self._pods.cache,
            self.lives,
            ledger=self._ledger,
            addresses=self._addresses,
            cleaner=self._cleaner,
            metrics=self._metrics,
            spawn=self._spawn,
        )
        self._actor = Actor(
            preparer, self._events, clock, spawn=self._spawn, wake=self.wake, shortcuts=shortcuts
        )
        self._writer = StatusWriter(
            client, clock, spawn=self._spawn, closed=self._endings.closed, wake=self.wake
        )
        self._evictions = Evictions(clock, root / "logs", self._evict, in_thread)
        self._registration = Registration(
            client,
            clock,
            name,
            capacity,
            engines=tuple(runtimes),
            machine=machine or Machine(),
            labels=labels,
        )
        self._ready: list[Life] = []
        self._awake = False
        self._leaving = False
        self._hands = Hands()

    @property
    def starts(self) -> int:
        """How often an engine was asked to start something."""
        return self._actor.starts

    @property
    def status_writes(self) -> int:
        return self._writer.writes

    async def run(
        self, *, on_stop: OnStop = "keep", stop_grace: float = 5.0, ready: asyncio.Event | None = None
    ) -> None:
        await self._engines.open()
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._recorder.run())
                tasks.create_task(self._preparer.run(self._informers))
                # Only now: what is cached is told at once, and what no engine knows is taken for new.
                self._pods.add_handler(self)
                tasks.create_task(self._pods.run())
                await self._pods.synced()
                await self._reap()
                self._registration.annotations = await self._engines.described()
                await self._registration.register()
                log.debug("node %s is ready", self._name)
                if ready is not None:
                    ready.set()
                tasks.create_task(self._registration.run())
                tasks.create_task(self._cleaner.run(self.lives))
                tasks.create_task(self._evictions.run(self.lives))
                try:
                    await asyncio.get_running_loop().create_future()
                finally:
                    if on_stop == "kill":
                        await self._stop_all(stop_grace)
        finally:
            self._leaving = True
            await asyncio.gather(*self._hands.cancel(), return_exceptions=True)
            await self._actor.close()
            for life in self.lives.values():
                ending.quiet(life)
            await self._engines.close(kill=on_stop == "kill")

    async def _reap(self) -> None:
        """Nothing runs, and nothing is on disk, that belongs to no pod."""
        await self._engines.reap()
        present = {pod["metadata"]["uid"] for pod in self._pods.cache if self._is_ours(pod)}
        await self._cleaner.remove_strangers(present | self.lives.keys())

    # ---- what the API says

    def _is_ours(self, pod: Obj) -> bool:
        return bool(pod["spec"].get("nodeName") == self._name)

    def on_add(self, obj: Obj, initial: bool) -> None:
        if obj["spec"].get("nodeName") != self._name:
            return
        uid = obj["metadata"]["uid"]
        states = self._engines.take(uid)
        status = obj.get("status") or {}
        is_over = pod_state.has_ended(obj)
        if uid in self._endings.reported:
            if is_over:
                self._endings.reported.discard(uid)
            return
        if is_over and states is None and not ending.waits_for_us(obj):
            return
        if states is None and not status.get("startTime"):
            self._new(obj)
        else:
            self._remember(obj, states or [])

    def on_update(self, old: Obj, new: Obj) -> None:
        life = self.lives.get(new["metadata"]["uid"])
        if life is None:
            self.on_add(new, False)
            return
        memory = life.memory
        if int(new["metadata"]["resourceVersion"]) > int(memory.pod["metadata"]["resourceVersion"]):
            memory.pod = new
        if not memory.terminal and not life.writing:
            phase = (new.get("status") or {}).get("phase")
            if phase in pod_state.ENDED:
                memory.terminal = phase  # by somebody else; our own is noted when it is written
                self.wake(life)
        if "deletionTimestamp" in new["metadata"]:
            self._deleted(life)
        elif (
            new["spec"] is not memory.facts.spec
            and new["spec"].get("activeDeadlineSeconds") != memory.facts.deadline
        ):
            memory.facts = facts_of(new)
            self.wake(life)

    def on_delete(self, obj: Obj, stale: bool) -> None:
        if not self._is_ours(obj):
            return
        uid = obj["metadata"]["uid"]
        self._endings.reported.discard(uid)
        life = self.lives.get(uid)
        if life is None:
            self._cleaner.pod_gone(obj)
            return
        life.memory.gone = True
        self.wake(life)

    def _deleted(self, life: Life) -> None:
        """Somebody wants the pod gone; how soon may have changed."""
        memory, meta = life.memory, life.memory.pod["metadata"]
        grace = float(meta.get("deletionGracePeriodSeconds") or 0)
        if memory.deleting is None:
            memory.deleting, memory.delete_grace = self._clock.monotonic(), grace
        elif grace < memory.delete_grace:
            memory.delete_grace = grace
        else:
            return
        self.wake(life)

    def _new(self, pod: Obj) -> None:
        """A pod that was bound just now."""
        uid, spec = pod["metadata"]["uid"], pod["spec"]
        memory = recall.new(pod, self._address(uid, pod))
        memory.started_at = float(int(self._clock.now().timestamp()))
        memory.start_time = rfc3339.from_seconds(memory.started_at)
        life = self._life(pod, memory)
        if "deletionTimestamp" in pod["metadata"]:
            self._deleted(life)
        elif (refused := self._ledger.admit(uid, spec)) is not None:
            memory.rejected, memory.verdict = True, refused
            self._events.pod(
                pod, "Warning", refused.reason, refused.message.removeprefix("Pod was rejected: ")
            )
        memory.leaving = self._leaving
        self.wake(life)

    def _remember(self, pod: Obj, states: list[State]) -> None:
        """A pod that was here before longshore was restarted."""
        uid = pod["metadata"]["uid"]
        memory = recall.recalled(pod, self._address(uid, pod), states)
        if not memory.start_time:
            memory.started_at = min((s.started_at for s in states if s.started_at), default=0.0)
            memory.started_at = float(int(memory.started_at or self._clock.now().timestamp()))
            memory.start_time = rfc3339.from_seconds(memory.started_at)
        life = self._life(pod, memory)
        life.keys = {state.key for state in states}
        life.written = pod.get("status")
        if not memory.terminal:
            self._ledger.hold(uid, pod["spec"])
        if "deletionTimestamp" in pod["metadata"]:
            self._deleted(life)
            # It had some of its grace period already. Whole seconds: the last one may not be over.
            ends = rfc3339.seconds(pod["metadata"]["deletionTimestamp"]) + 1.0
            left = max(ends - self._clock.now().timestamp(), 0.0)
            memory.delete_grace = min(memory.delete_grace, left)
        life.adopting = True
        self._spawn(self._adopted(life))

    async def _adopted(self, life: Life) -> None:
        await adopt(life, self._preparer)
        life.adopting = False
        self.wake(life)

    def _address(self, uid: str, pod: Obj) -> str:
        if pod["spec"].get("hostNetwork"):
            return HOST_IP
        return self._addresses.of(uid, (pod.get("status") or {}).get("podIP") or "")

    def _life(self, pod: Obj, memory: Any) -> Life:
        life = self.lives[memory.facts.uid] = Life(memory, self._engines.of(pod))
        return life

    # ---- what the engine says

    def _changed(self, runtime: Runtime, state: State) -> None:
        life = self.lives.get(state.key.pod_uid)
        if life is not None:
            self._actor.ended(life, state)
        elif not self._engines.ended(runtime, state):
            self._cleaner.keys(runtime, [state.key])

    # ---- looking

    def wake(self, life: Life) -> None:
        """Has the pod looked at in this turn of the loop."""
        if life.queued or self._leaving:
            return
        life.queued = True
        self._ready.append(life)
        if not self._awake:
            self._awake = True
            asyncio.get_running_loop().call_soon(self._look_at_all)

    def _look_at_all(self) -> None:
        self._awake = False
        ready, self._ready = self._ready, []
        wall, now = self._clock.now().timestamp(), self._clock.monotonic()
        for life in ready:
            life.queued = False
            try:
                self._look(life, now, wall)
            except Exception:
                log.exception("pod %s could not be looked at", life.memory.facts.title)

    def _look(self, life: Life, now: float, wall: float) -> None:
        if life.adopting or life.closed:
            return
        memory = life.memory
        plan = decide(memory, now, wall)
        facts = memory.facts
        self._explanations.add((facts.namespace, facts.name), Explanation(facts.uid, wall, plan.why))
        life.final = plan.done
        self._actor.act(life, plan)
        if plan.look_again is not None or life.timer is not None:
            self._arm(life, plan.look_again, now)
        if memory.gone:
            if plan.done:
                self._endings.forget(life)
        else:
            self._writer.offer(life)

    def _arm(self, life: Life, seconds: float | None, now: float) -> None:
        if seconds is None:
            if life.timer is not None:
                life.timer.cancel()
                life.timer = None
            return
        due = now + seconds
        if life.timer is not None:
            if life.due == due:
                return
            life.timer.cancel()
        life.due = due
        life.timer = self._clock.call_later(seconds, lambda: self._ring(life))

    def _ring(self, life: Life) -> None:
        life.timer = None
        self.wake(life)

    # ---- ends

    def _evict(self, life: Life, verdict: Verdict) -> None:
        life.memory.verdict = verdict
        self._events.pod(life.memory.pod, "Warning", verdict.reason, verdict.message)
        self.wake(life)

    async def _stop_all(self, grace: float) -> None:
        """Stops every pod that runs and waits until that is in the API. Pods that did not start stay as they
        are: they start when longshore does."""
        running = [
            life
            for life in self.lives.values()
            if any(r.running or r.starting for r in life.memory.records())
        ]
        for life in self.lives.values():
            life.memory.leaving = True
        for life in running:
            if life.memory.verdict is None:
                life.memory.verdict = Verdict(
                    "Terminated", SHUTDOWN, grace=min(grace, life.memory.facts.grace)
                )
            self.wake(life)
        end = self._clock.monotonic() + grace + 2.0
        while any(not life.closed for life in running) and self._clock.monotonic() < end:
            await self._clock.sleep(0.02)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        if self._leaving:  # a timer that went off too late; what it was to do is found again by the next run
            work.close()
        else:
            self._hands.spawn(work)


__all__ = ["Agent", "OnStop", "run"]
