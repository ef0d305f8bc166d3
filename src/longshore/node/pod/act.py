"""Carries out plans, and records what containers do by themselves: end, answer hooks and probes.

Decides nothing. Each action ends with another sync of the pod. A request that the runtime has not answered is
marked in the memory first, so that it is not sent twice. Starts are in `starting.py`.
"""

from __future__ import annotations

import logging
import signal
from collections.abc import Callable
from typing import Any

from longshore.api.types import Obj
from longshore.node.pod import ends, plan
from longshore.node.pod.life import Life
from longshore.node.pod.memory import ContainerMemory, Stopping
from longshore.node.pod.starting import Starter
from longshore.node.probes import hooks
from longshore.node.probes.prober import Prober
from longshore.node.runtime import ContainerState, Key

_TERM, _KILL = signal.SIGTERM.value, signal.SIGKILL.value

log = logging.getLogger(__name__)


class PodActor:
    """Shares its tools with the starter, which prepares and starts. `handle` carries out hooks and probes."""

    def __init__(self, starter: Starter, handle: hooks.Handle = hooks.run) -> None:
        self._starter, self._events, self._clock = starter, starter.events, starter.clock
        self._spawn, self._wake, self._handle = starter.spawn, starter.wake, handle
        self._prober = Prober(self._clock, self.probed, handle)
        self._do: dict[type, Callable[[Life, Any], None]] = {
            plan.Start: self._starter.start,
            plan.Wait: self._wait,
            plan.BeginStop: self._begin_stop,
            plan.Shorten: self._shorten,
            plan.Signal: self._signal,
            plan.Hook: self._hook,
            plan.Probe: self._probe,
            plan.Prepare: self._starter.prepare,
            plan.Fail: self._fail,
        }

    def act(self, life: Life, decided: plan.PodPlan) -> None:
        for action in decided.actions:
            self._do[type(action)](life, action)

    @property
    def starts(self) -> int:
        """How often a runtime was asked to start something."""
        return self._starter.starts

    async def close(self) -> None:
        """Stops working; the next run of longshore does the rest."""
        await self._starter.close()

    def changed(self, life: Life, state: ContainerState) -> None:
        """Notes the runtime's report that a container has ended or is ready."""
        record = life.record(state.key.container)
        if record is None or state.key.attempt != record.attempt or record.over:
            return
        record.state = state
        if state.phase == "running":
            self.probed(life, record, "" if record.facts.has_readiness else "ready", "")
        else:
            ends.over(life, record)
            self._wake(life)

    # ---- waiting, failing, stopping

    def _wait(self, life: Life, action: plan.Wait) -> None:
        record, pod = action.record, life.memory.pod
        record.waiting = action.waiting
        facts, title = record.facts, life.memory.facts.title
        self._events.pod(pod, "BackOff", facts.path, container=facts.name, pod=title)

    def _fail(self, life: Life, action: plan.Fail) -> None:
        verdict = action.verdict
        life.memory.verdict = verdict
        self._events.pod(life.memory.pod, "PodStopped", verdict=verdict.reason, message=verdict.message)
        self._wake(life)

    def _begin_stop(self, life: Life, action: plan.BeginStop) -> None:
        memory, now = life.memory, self._clock.monotonic()
        if memory.stopping_since is None and action.record.doom is None:
            memory.stopping_since = now
        action.record.stopping = Stopping(now, action.grace, action.grace)
        self._events.pod(memory.pod, "Killing", action.record.facts.path, message=action.message)
        self._wake(life)

    def _shorten(self, life: Life, action: plan.Shorten) -> None:
        going = action.record.stopping
        assert going is not None
        going.given = action.grace
        going.grace = min(going.grace, self._clock.monotonic() - going.since + action.grace)
        self._wake(life)

    def _signal(self, life: Life, action: plan.Signal) -> None:
        record, now = action.record, self._clock.monotonic()
        going, state = record.stopping, record.state
        assert going is not None
        assert state is not None
        assert life.runtime is not None
        if action.name == "kill":
            going.killed, number = now, _KILL
        else:
            going.asked, number = now, _TERM
        self._spawn(life.runtime.signal(state.key, number))

    # ---- hooks and probes

    def _hook(self, life: Life, action: plan.Hook) -> None:
        record = action.record
        assert record.state is not None
        if action.name == "postStart":
            record.hook = "running"
            self._spawn(self._post_start(life, record, record.state.key))
        else:
            assert record.stopping is not None
            record.stopping.hook = "running"
            self._spawn(self._pre_stop(life, record, record.stopping))

    async def _post_start(self, life: Life, record: ContainerMemory, key: Key) -> None:
        assert record.facts.post_start is not None
        result = await self._handled(record.facts.post_start, life, record, key)
        if record.state is None or record.state.key != key:
            return
        record.hook = "done"
        if not result.ok:
            self._hook_failed(life, record, "FailedPostStartHook", result)
            if record.running:  # otherwise the run has ended, and the next run has its own hook
                record.doom = ("FailedPostStartHook", life.memory.facts.grace)
        elif record.running:
            record.started = not record.facts.has_startup
            record.ready = record.started and not record.facts.has_readiness
        self._wake(life)

    async def _pre_stop(self, life: Life, record: ContainerMemory, going: Stopping) -> None:
        assert record.facts.pre_stop is not None
        assert record.state is not None
        result = await self._handled(record.facts.pre_stop, life, record, record.state.key)
        if not result.ok:
            self._hook_failed(life, record, "FailedPreStopHook", result)
        going.hook = "done"
        self._wake(life)

    def _hook_failed(self, life: Life, record: ContainerMemory, code: str, result: hooks.HookResult) -> None:
        problem = {"problem": result.message} if result.message else {}
        self._events.pod(life.memory.pod, code, record.facts.path, **problem)

    async def _handled(self, handler: Obj, life: Life, record: ContainerMemory, key: Key) -> hooks.HookResult:
        try:
            return await self._handle(handler, self._target(life, record, key))
        except Exception as err:  # a bug; the container ends all the same
            log.exception("pod %s: hook of %s", life.memory.facts.title, record.facts.name)
            return hooks.HookResult(False, str(err))

    def _target(self, life: Life, record: ContainerMemory, key: Key) -> hooks.Target:
        assert life.runtime is not None
        return hooks.Target(life.runtime, key, record.facts.spec, life.memory.ip, self._clock)

    def _probe(self, life: Life, action: plan.Probe) -> None:
        record = action.record
        assert record.state is not None
        target = self._target(life, record, record.state.key)
        life.probing[record.facts.name] = self._prober.begin(life, record, target)
        record.probed = True

    def probed(self, life: Life, record: ContainerMemory, verdict: str, event: str) -> None:
        """Notes the verdict of a probe: `started`, `ready`, `unready`, or the probe's name if the container
        must stop. An empty verdict comes with an event about one failure."""
        if event:
            self._events.pod(life.memory.pod, "Unhealthy", record.facts.path, message=event)
        before = (record.started, record.ready, record.doom)
        if verdict == "started":
            record.started = True
            record.ready = record.ready or not record.facts.has_readiness
        elif verdict in ("ready", "unready"):
            record.ready = verdict == "ready"
        elif verdict in ("liveness", "startup") and record.doom is None:
            probe = record.facts.spec[f"{verdict}Probe"]
            grace = float(probe.get("terminationGracePeriodSeconds") or life.memory.facts.grace)
            text = f"Container {record.facts.name} failed {verdict} probe, will be restarted"
            record.doom = (text, grace)
        if before != (record.started, record.ready, record.doom):
            self._wake(life)
