"""Carries out plans: asks the engine and the preparer, and writes down what came of it.

Nothing here decides. Each action ends with the pod being looked at again; what the engine was asked for and
has not answered is marked in the memory first, so that nobody asks twice.
"""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, Final

from longshore.api.types import Obj
from longshore.machinery.clock import Clock
from longshore.node.events import Events
from longshore.node.pod import backoff, hooks, plan
from longshore.node.pod.life import Life, Paths
from longshore.node.pod.memory import Record, Stopping, Waiting
from longshore.node.pod.preparation import Preparation
from longshore.node.preparing.types import CannotPrepare, NotReady
from longshore.node.probes.prober import Prober
from longshore.node.runtime import CannotStart, Key, State
from longshore.node.status import termination
from longshore.node.status.containers import terminated

PREPARE_RETRY: Final = (0.5, 122.0)
"""First and longest pause after volumes could not be made: upstream's."""
CONFIG_RETRY: Final = (1.0, 10.0)
"""The same after a container could not be prepared: what it lacks may be created any moment."""
START_RETRY: Final = (backoff.FIRST, backoff.LONGEST)
_TERM, _KILL = signal.SIGTERM.value, signal.SIGKILL.value

log = logging.getLogger(__name__)


class Actor:
    """`spawn` runs a coroutine in the background, `wake` has the pod looked at again."""

    def __init__(
        self,
        preparer: Preparation,
        events: Events,
        clock: Clock,
        *,
        spawn: Callable[[Coroutine[Any, Any, None]], None],
        wake: Callable[[Life], None],
    ) -> None:
        self.starts = 0
        self._preparer, self._events, self._clock = preparer, events, clock
        self._spawn, self._wake = spawn, wake
        self._prober = Prober(clock, self.probed)
        self._starting: set[asyncio.Future[State]] = set()
        """What engines were asked to start and have not answered."""
        self._do: dict[type, Callable[[Life, Any], None]] = {
            plan.Start: self._start,
            plan.Wait: self._wait,
            plan.BeginStop: self._begin_stop,
            plan.Shorten: self._shorten,
            plan.Signal: self._signal,
            plan.Hook: self._hook,
            plan.Probe: self._probe,
            plan.Prepare: self._prepare,
            plan.Fail: self._fail,
        }

    def act(self, life: Life, decided: plan.Plan) -> None:
        for action in decided.actions:
            self._do[type(action)](life, action)

    async def close(self) -> None:
        """Nothing is heard any more of what an engine was asked to start; the next run finds it there."""
        starting = [*self._starting]
        for each in starting:
            each.cancel()
        await asyncio.gather(*starting, return_exceptions=True)

    # ---- preparing

    def _prepare(self, life: Life, action: plan.Prepare) -> None:
        memory = life.memory
        try:
            if life.runtime is None:
                wanted = memory.facts.spec.get("runtimeClassName")
                raise NotReady(
                    "FailedCreatePodSandBox", f'RuntimeClass "{wanted}" is none of this node\'s engines'
                )
            prepared = self._preparer.at_once(memory.pod)
        except Exception as err:
            self._not_prepared(life, err)
        else:
            if prepared is not None:
                self._prepared(life, action.start, prepared)
            else:
                memory.preparing = True
                self._spawn(self._preparing(life, action.start))

    async def _preparing(self, life: Life, first: Record | None) -> None:
        try:
            prepared = await self._preparer.pod(life.memory.pod)
        except Exception as err:
            life.memory.preparing = False
            self._not_prepared(life, err)
        else:
            life.memory.preparing = False
            self._prepared(life, first, prepared)

    def _prepared(self, life: Life, first: Record | None, prepared: Any) -> None:
        memory = life.memory
        memory.prepared, memory.unprepared, memory.failures = prepared, None, 0
        memory.unstartable_since = None
        for warning in getattr(prepared, "warnings", ()):
            self._events.pod(memory.pod, "Warning", "NotSupported", warning)
        if first is None or memory.unwanted:
            self._wake(life)
        else:
            first.starting = True
            self._begin(life, first)

    def _not_prepared(self, life: Life, err: Exception) -> None:
        if isinstance(err, NotReady):
            self._unprepared(life, err.reason, err.message)
        else:
            log.error("pod %s: could not be prepared", life.memory.facts.title, exc_info=err)
            self._unprepared(life, "FailedMount", str(err))
        self._wake(life)

    def _unprepared(self, life: Life, reason: str, message: str) -> None:
        memory, now = life.memory, self._clock.monotonic()
        memory.failures += 1
        memory.unprepared = Waiting(reason, message)
        memory.retry_at = now + backoff.pause(memory.failures, *PREPARE_RETRY)
        if memory.unstartable_since is None:
            memory.unstartable_since = now
        self._events.pod(memory.pod, "Warning", reason, message)

    # ---- starting

    def _start(self, life: Life, action: plan.Start) -> None:
        record = action.record
        if action.again:
            assert record.state is not None
            self._forget_old(life, record)
            record.last, record.ended, record.state = record.ended, None, None
            record.attempt += 1
            record.backoff, record.backoff_set = action.backoff, self._clock.now().timestamp()
            record.waiting, record.failures, record.hook = None, 0, ""
            record.started = record.ready = False
        record.starting = True
        if record.failures:
            self._spawn(self._begin_anew(life, record))
        else:
            self._begin(life, record)

    async def _begin_anew(self, life: Life, record: Record) -> None:
        """What it lacked may be there by now."""
        try:
            await self._preparer.refresh(life.memory.prepared, life.memory.pod)
        except Exception as err:
            self._not_started(life, record, err)
        else:
            self._begin(life, record)

    def _begin(self, life: Life, record: Record) -> None:
        memory, runtime, facts = life.memory, life.runtime, record.facts
        assert runtime is not None
        try:
            container = self._preparer.container(
                memory.prepared, memory.pod, facts.spec, record.attempt, memory.ip
            )
            life.paths[facts.name] = Paths(container.termination_message, container.log)
            life.keys.add(container.key)
            self.starts += 1
            starting = asyncio.ensure_future(runtime.start(container))
        except Exception as err:
            self._not_started(life, record, err)
        else:
            self._starting.add(starting)
            starting.add_done_callback(partial(self._answered, life, record))

    def _answered(self, life: Life, record: Record, starting: asyncio.Future[State]) -> None:
        self._starting.discard(starting)
        if starting.cancelled():
            return
        problem = starting.exception()
        if isinstance(problem, Exception):
            self._not_started(life, record, problem)
        else:
            record.starting = False
            self._started(life, record, starting.result())
            self._wake(life)

    def _not_started(self, life: Life, record: Record, err: Exception) -> None:
        if isinstance(err, CannotPrepare):
            self._unstarted(life, record, err.reason, err.message, CONFIG_RETRY)
        elif isinstance(err, CannotStart):
            self._unstarted(life, record, err.reason, err.message, START_RETRY)
        else:
            title, name = life.memory.facts.title, record.facts.name
            log.error("pod %s: container %s could not be started", title, name, exc_info=err)
            self._unstarted(life, record, "CreateContainerError", str(err), START_RETRY)
        record.starting = False
        self._wake(life)

    def _unstarted(
        self, life: Life, record: Record, reason: str, message: str, retry: tuple[float, float]
    ) -> None:
        memory, now = life.memory, self._clock.monotonic()
        record.failures += 1
        record.waiting = Waiting(reason, message)
        record.retry_at = now + backoff.pause(record.failures, *retry)
        if memory.unstartable_since is None:
            memory.unstartable_since = now
        self._events.pod(memory.pod, "Warning", "Failed", f"Error: {message}", record.facts.path)

    def _started(self, life: Life, record: Record, state: State) -> None:
        memory, facts = life.memory, record.facts
        record.waiting, record.failures, memory.unstartable_since = None, 0, None
        if not facts.is_init:
            memory.initialized = True
        events, pod = self._events, memory.pod
        if not memory.image_said and life.engine == "process":
            memory.image_said = True
            text = "Container images are not used: the process engine runs commands of this machine"
            events.pod(pod, "Normal", "ImageNotUsed", text)
        events.pod(pod, "Normal", "Created", "Container created", facts.path)
        events.pod(pod, "Normal", "Started", "Container started", facts.path)
        if record.state is not None:
            return  # its end was told before its start
        record.state = state
        if state.phase == "running":
            record.started = not facts.has_startup and facts.post_start is None
            record.ready = record.started and not facts.has_readiness
        else:
            self._over(life, record)

    # ---- ends

    def ended(self, life: Life, state: State) -> None:
        """The engine says that a container is over."""
        record = life.record(state.key.container)
        if record is None or state.key.attempt != record.attempt or record.over:
            return
        record.state = state
        self._over(life, record)
        self._wake(life)

    def _over(self, life: Life, record: Record) -> None:
        record.ended = self.end_of(life, record)
        record.ready = record.started = False
        record.stopping = record.doom = None
        if record.probing is not None:
            record.probing.stop()
            record.probing = None

    def end_of(self, life: Life, record: Record) -> Obj:
        """`state.terminated` of a run that is over, with its last words."""
        state, paths = record.state, life.paths.get(record.facts.name)
        assert state is not None
        said = ""
        if paths is not None and state.phase == "exited":
            said = termination.message(record.facts.spec, paths.termination, paths.log, state.exit_code)
        return terminated(state, life.engine, said)

    def _forget_old(self, life: Life, record: Record) -> None:
        """Of each container the engine keeps the last two runs: what the status tells of."""
        old = [k for k in life.keys if k.container == record.facts.name and k.attempt < record.attempt]
        if old and life.runtime is not None:
            life.keys.difference_update(old)
            self._spawn(life.runtime.remove(old))

    # ---- waiting, failing, stopping

    def _wait(self, life: Life, action: plan.Wait) -> None:
        record, pod = action.record, life.memory.pod
        record.waiting = action.waiting
        text = f"Back-off restarting failed container {record.facts.name} in pod {life.memory.facts.title}"
        self._events.pod(pod, "Warning", "BackOff", text, record.facts.path)

    def _fail(self, life: Life, action: plan.Fail) -> None:
        verdict = action.verdict
        life.memory.verdict = verdict
        self._events.pod(life.memory.pod, "Warning", verdict.reason, verdict.message)
        self._wake(life)

    def _begin_stop(self, life: Life, action: plan.BeginStop) -> None:
        memory, now = life.memory, self._clock.monotonic()
        if memory.stopping_since is None and action.record.doom is None:
            memory.stopping_since = now
        action.record.stopping = Stopping(now, action.grace, action.grace)
        self._events.pod(memory.pod, "Normal", "Killing", action.message, action.record.facts.path)
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

    async def _post_start(self, life: Life, record: Record, key: Key) -> None:
        assert record.facts.post_start is not None
        result = await self._handled(record.facts.post_start, life, record, key)
        if record.state is None or record.state.key != key:
            return
        record.hook = "done"
        if not result.ok:
            path, pod = record.facts.path, life.memory.pod
            text = f"PostStartHook failed: {result.message}" if result.message else "PostStartHook failed"
            self._events.pod(pod, "Warning", "FailedPostStartHook", text, path)
            record.doom = ("FailedPostStartHook", life.memory.facts.grace)
        elif record.running:
            record.started = not record.facts.has_startup
            record.ready = record.started and not record.facts.has_readiness
        self._wake(life)

    async def _pre_stop(self, life: Life, record: Record, going: Stopping) -> None:
        assert record.facts.pre_stop is not None
        assert record.state is not None
        result = await self._handled(record.facts.pre_stop, life, record, record.state.key)
        if not result.ok:
            path, pod = record.facts.path, life.memory.pod
            text = f"PreStopHook failed: {result.message}" if result.message else "PreStopHook failed"
            self._events.pod(pod, "Warning", "FailedPreStopHook", text, path)
        going.hook = "done"
        self._wake(life)

    async def _handled(self, handler: Obj, life: Life, record: Record, key: Key) -> hooks.Result:
        try:
            return await hooks.run(handler, self._target(life, record, key))
        except Exception as err:
            log.exception("pod %s: hook of %s", life.memory.facts.title, record.facts.name)
            return hooks.Result(False, str(err))

    def _target(self, life: Life, record: Record, key: Key) -> hooks.Target:
        assert life.runtime is not None
        return hooks.Target(life.runtime, key, record.facts.spec, life.memory.ip, self._clock)

    def _probe(self, life: Life, action: plan.Probe) -> None:
        record = action.record
        assert record.state is not None
        record.probing = self._prober.begin(life, record, self._target(life, record, record.state.key))

    def probed(self, life: Life, record: Record, verdict: str, event: str) -> None:
        """A probe has something to say: `started`, `ready`, `unready`, or its own name if the container must
        go; an empty verdict comes with an event about one failure."""
        if event:
            self._events.pod(life.memory.pod, "Warning", "Unhealthy", event, record.facts.path)
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
