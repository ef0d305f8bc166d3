"""Prepares a pod, starts its containers, and records the results in its memory.

Decides nothing. A request is marked in the memory before it is sent, so that it is not sent twice. A failed
request gets a time before which `decide` does not try again.
"""

from __future__ import annotations

import asyncio
import errno
import logging
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, Final

import msgspec

from longshore.api.facts import owners
from longshore.api.time.backoff import Doubling
from longshore.api.types import Obj
from longshore.machinery.background import cancelled
from longshore.machinery.events.siblings import Siblings
from longshore.machinery.reasons import Reason
from longshore.machinery.time.clock import Clock
from longshore.node.events import Events
from longshore.node.pod import backoff, ends, plan
from longshore.node.pod.facts import Facts
from longshore.node.pod.life import Life, Paths
from longshore.node.pod.memory import ContainerMemory, Waiting
from longshore.node.preparing.types import CannotPrepare, NotReady, Preparation, PreparedPod
from longshore.node.runtime import CannotStart, ContainerState, Key, Runtime

PREPARE_PAUSES: Final = Doubling(0.5, 122.0)
"""Delays before volumes are tried again, as upstream."""
_FULL_DISK_ERRORS: Final = (errno.ENOSPC, errno.EDQUOT)
CONFIG_PAUSES: Final = Doubling(1.0, 10.0)
"""Delays before a container is prepared again; the missing object may be created any moment."""

log = logging.getLogger(__name__)


class Starter:
    """`runtime_of` finds the runtime of a pod, `spawn` runs a coroutine in the background, `wake` has the pod
    synced again."""

    def __init__(
        self,
        preparer: Preparation,
        events: Events,
        clock: Clock,
        *,
        runtime_of: Callable[[Obj], Runtime | None],
        spawn: Callable[[Coroutine[Any, Any, None]], None],
        wake: Callable[[Life], None],
        tells_unused_images: bool,
    ) -> None:
        self.starts = 0
        """How often a runtime was asked to start a container."""
        self._preparer, self.events, self.clock = preparer, events, clock
        self._runtime_of, self.spawn, self.wake = runtime_of, spawn, wake
        self._unused_images, self._siblings = UnusedImages(tells_unused_images), Siblings()
        self._starting: set[asyncio.Future[ContainerState]] = set()
        """The starts that runtimes have not answered yet."""

    async def close(self) -> None:
        """Cancels starts without an answer; the next run finds their containers in the runtime."""
        await cancelled(self._starting)

    # ---- preparing

    def prepare(self, life: Life, action: plan.Prepare) -> None:
        if life.runtime is None:
            life.runtime = self._runtime_of(life.memory.pod)
        if life.runtime is None:
            wanted = life.memory.facts.spec.get("runtimeClassName")
            text = f'RuntimeClass "{wanted}" asks for a runtime that this node does not have'
            self._not_prepared(life, NotReady("FailedCreatePodSandBox", text))
            return
        try:
            prepared = self._preparer.at_once(life.memory.pod)
        except Exception as err:  # the pod waits, and its status says why
            self._not_prepared(life, err)
            return
        if prepared is not None:
            self._prepared(life, prepared)
        else:
            life.memory.preparing = True
            self.spawn(self._preparing(life))

    async def _preparing(self, life: Life) -> None:
        memory = life.memory
        try:
            prepared = await self._preparer.pod(memory.pod)
        except Exception as err:  # the pod waits, and its status says why
            memory.preparing = False
            self._not_prepared(life, err)
            return
        memory.preparing = False
        self._prepared(life, prepared)
        self.wake(life)

    def _prepared(self, life: Life, prepared: PreparedPod) -> None:
        memory = life.memory
        life.prepared, memory.prepared = prepared, True
        memory.unprepared, memory.failures, memory.unstartable_since = None, 0, None
        for warning in prepared.warnings:
            self.events.pod(memory.pod, "NotSupported", problem=warning)

    def _not_prepared(self, life: Life, err: Exception) -> None:
        if isinstance(err, NotReady):
            self._unprepared(life, err.reason, err.message)
        elif isinstance(err, OSError) and err.errno in _FULL_DISK_ERRORS:
            self._unprepared(life, "FailedMount", f"the disk is full: {err.strerror}; free some space")
        else:
            log.error("pod %s: could not be prepared", life.memory.facts.title, exc_info=err)
            self._unprepared(life, "FailedMount", str(err))
        self.wake(life)

    def _unprepared(self, life: Life, reason: str, message: str) -> None:
        memory, now = life.memory, self.clock.monotonic()
        memory.failures += 1
        memory.unprepared = Waiting(reason, message)
        memory.retry_at = now + PREPARE_PAUSES.after(memory.failures)
        if memory.unstartable_since is None:
            memory.unstartable_since = now
        self.events.pod(memory.pod, "Unprepared", reason=reason, message=message)

    # ---- starting

    def start(self, life: Life, action: plan.Start) -> None:
        record = action.record
        if action.again:
            assert record.state is not None
            self._forget_old(life, record)
            record.last, record.ended, record.state = record.ended, None, None
            record.attempt += 1
            record.backoff, record.backoff_set = action.backoff, self.clock.now().timestamp()
            record.waiting, record.failures, record.hook = None, 0, ""
            record.started = record.ready = False
        record.starting = True
        if record.failures or record.facts.is_ephemeral:
            self.spawn(self._begin_anew(life, record))
        else:
            self._begin(life, record)

    async def _begin_anew(self, life: Life, record: ContainerMemory) -> None:
        """Reads references again before the start: a missing object may exist by now, and an ephemeral
        container was added after its pod was prepared."""
        try:
            if record.facts.is_ephemeral:
                life.prepared = await self._preparer.pod(life.memory.pod)
            elif life.prepared is not None:
                await self._preparer.refresh(life.prepared, life.memory.pod)
        except Exception as err:  # the container waits, and its status says why
            self._not_started(life, record, err)
        else:
            self._begin(life, record)

    def _begin(self, life: Life, record: ContainerMemory) -> None:
        memory, runtime, facts = life.memory, life.runtime, record.facts
        assert runtime is not None
        assert life.prepared is not None
        try:
            container = self._preparer.container(
                life.prepared, memory.pod, facts.spec, record.attempt, memory.ip
            )
            if target := facts.spec.get("targetContainerName"):
                container = msgspec.structs.replace(container, target=_running(life, target))
            life.paths[facts.name] = Paths(container.termination_message, container.log)
            life.keys.add(container.key)
            self.starts += 1
            starting = asyncio.ensure_future(runtime.start(container))
        except Exception as err:  # the container waits, and its status says why
            self._not_started(life, record, err)
        else:
            self._starting.add(starting)
            starting.add_done_callback(partial(self._answered, life, record))

    def _answered(
        self, life: Life, record: ContainerMemory, starting: asyncio.Future[ContainerState]
    ) -> None:
        self._starting.discard(starting)
        if starting.cancelled():
            return
        problem = starting.exception()
        if isinstance(problem, Exception):
            self._not_started(life, record, problem)
        else:
            record.starting = False
            self._started(life, record, starting.result())
            self.wake(life)

    def _not_started(self, life: Life, record: ContainerMemory, err: Exception) -> None:
        if isinstance(err, CannotPrepare):
            self._unstarted(life, record, err.reason, err.message, CONFIG_PAUSES)
            self._note_never(life, record, err.for_good)
        elif isinstance(err, CannotStart):
            self._unstarted(life, record, err.reason, err.message, backoff.PAUSES, err)
            self._note_never(life, record, err.for_good)
        else:
            title, name = life.memory.facts.title, record.facts.name
            log.error("pod %s: container %s could not be started", title, name, exc_info=err)
            self._unstarted(life, record, "CreateContainerError", str(err), backoff.PAUSES)
        record.starting = False
        self.wake(life)

    def _unstarted(
        self,
        life: Life,
        record: ContainerMemory,
        reason: str,
        message: str,
        pauses: Doubling,
        refusal: CannotStart | None = None,
    ) -> None:
        memory, now = life.memory, self.clock.monotonic()
        record.failures += 1
        record.waiting = Waiting(reason, message)
        after = refusal.after if refusal is not None else 0.0
        record.retry_at = now + (after or pauses.after(record.failures))
        if memory.unstartable_since is None and not record.facts.is_ephemeral:
            memory.unstartable_since = now
        told = refusal.why if refusal is not None else ()
        for why in told or (Reason("NotStarted", {"message": message}),):
            self.events.pod(memory.pod, why.code, record.facts.path, **why.numbers)

    def _note_never(self, life: Life, record: ContainerMemory, for_good: bool) -> None:
        if for_good and not record.facts.is_ephemeral:
            life.memory.never_starts = True

    def _started(self, life: Life, record: ContainerMemory, state: ContainerState) -> None:
        memory, facts = life.memory, record.facts
        record.waiting, record.failures = None, 0
        if not facts.is_ephemeral:
            memory.unstartable_since = None
            memory.initialized = memory.initialized or not facts.is_init
        events, pod = self.events, memory.pod
        if life.runtime_name == "process" and self._unused_images.is_news(pod, memory.facts):
            events.pod(pod, "ImageNotUsed")
        if self._siblings.is_told_of(pod, self.clock.monotonic()):
            events.pod(pod, "ContainerCreated", facts.path)
            events.pod(pod, "ContainerStarted", facts.path)
        if record.state is not None:
            return  # its end was reported before its start
        record.state = state
        if state.phase == "running":
            record.started = not facts.has_startup and facts.post_start is None
            record.ready = record.started and not facts.has_readiness and not state.unready
        else:
            ends.over(life, record)

    def _forget_old(self, life: Life, record: ContainerMemory) -> None:
        """Has the runtime remove all but the last two runs of the container, which are in the status."""
        old = [k for k in life.keys if k.container == record.facts.name and k.attempt < record.attempt]
        if old and life.runtime is not None:
            life.keys.difference_update(old)
            self.spawn(life.runtime.remove(old))


def _running(life: Life, name: str) -> Key:
    """The run that an ephemeral container has as its target. Raises CannotPrepare when there is none."""
    record = life.record(name)
    if record is None or record.state is None or not record.running:
        raise CannotPrepare("CreateContainerConfigError", f"unable to find target container {name}")
    return record.state.key


_MAX_REMEMBERED: Final = 1024


class UnusedImages:
    """Remembers the owners whose pods got the event `ImageNotUsed`, and forgets the oldest."""

    def __init__(self, tells: bool = True) -> None:
        self._tells, self._told = tells, dict[tuple[str, ...], None]()

    def is_news(self, pod: Obj, facts: Facts) -> bool:
        """True the first time a pod of this owner with these images is seen, if the node tells of it."""
        owner = owners.controller_of(pod)
        images = [each.spec.get("image") or "" for each in (*facts.inits, *facts.mains)]
        what = (facts.uid if owner is None else owner["uid"], *images)
        if not self._tells or what in self._told:
            return False
        if len(self._told) >= _MAX_REMEMBERED:
            del self._told[next(iter(self._told))]
        self._told[what] = None
        return True
