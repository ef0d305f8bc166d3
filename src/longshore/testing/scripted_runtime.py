"""A runtime on the virtual clock that runs nothing: containers end when and how a script says.

Implements `node.runtime`: a key starts at most once (a second start returns its state), containers are
remembered until they are removed, ends are recorded before they are reported. A `ScriptedMachine` survives
the death of longshore: give it to a new `ScriptedRuntime`. Its `calls` has every call.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from functools import partial
from typing import Final, Literal

import msgspec

from longshore.api.container_streams import Session
from longshore.api.time import rfc3339
from longshore.api.time.backoff import Doubling
from longshore.machinery.reasons import Reason
from longshore.machinery.time.clock import Clock, Timer
from longshore.node.runtime import CannotStart, Container, ContainerState, Features, Key, Usage
from longshore.scripts.runs import Exec, Run

RunScript = Callable[[Container], Run]
End = tuple[float, int, int]
"""Seconds, exit code and signal of an end."""
Execs = Callable[[Key, tuple[str, ...]], Exec]


PULL_FAILED: Final = "ErrImagePull"
_PULL_PAUSES: Final = Doubling(10.0, 300.0)
"""Pauses between two attempts to pull an image, as kubelets have them."""
_BACK_OFF_AFTER_SECONDS: Final = 1.0
"""Seconds after a failed pull at which a kubelet syncs the pod again and reports the back-off."""


class ScriptedMachine(msgspec.Struct, eq=False):
    """The machine below the runtime: its containers and their states outlive longshore."""

    clock: Clock
    script: RunScript = lambda container: Run()
    execs: Execs = lambda key, command: Exec()
    states: dict[Key, ContainerState] = msgspec.field(default_factory=dict)
    rng: random.Random = msgspec.field(default_factory=lambda: random.Random(0))
    """The dice for durations that a run leaves open."""
    problem: str = ""
    """Why the machine cannot run containers; empty while it can."""
    started: Counter[Key] = msgspec.field(default_factory=Counter)
    """The number of starts of each key: never more than one."""
    moments: dict[Key, float] = msgspec.field(default_factory=dict)
    """When each key was started, by the monotonic clock."""
    calls: list[tuple[str, str]] = msgspec.field(default_factory=list)
    signals: list[tuple[float, Key, int]] = msgspec.field(default_factory=list)
    containers: dict[Key, Container] = msgspec.field(default_factory=dict)
    runs: dict[Key, Run] = msgspec.field(default_factory=dict)
    told: Callable[[ContainerState], None] | None = None
    """The callback for the state of a container that has ended or become ready; None while no runtime is
    connected."""
    _timers: dict[Key, Timer] = msgspec.field(default_factory=dict)
    _ends: dict[Key, End] = msgspec.field(default_factory=dict)
    """The end of each running container; `seconds` is a moment of the monotonic clock."""

    _pulls: dict[Key, tuple[float, float, str]] = msgspec.field(default_factory=dict)
    """Images that cannot be pulled: when the next attempt is due, after which pause, and why."""

    @property
    def is_busy(self) -> bool:
        """Whether a container will end by itself, or is being stopped."""
        return bool(self._timers)

    @property
    def running(self) -> list[Key]:
        return [key for key, state in self.states.items() if state.phase == "running"]

    def begin(self, container: Container) -> ContainerState:
        key, now = container.key, self.clock.timestamp()
        until, pause, why = self._pulls.get(key, (0.0, 0.0, ""))
        if (left := until - self.clock.monotonic()) > 0:
            raise _backing_off(container.image, why, left)
        run = self.script(container).drawn(self.rng)
        if run.fails is not None:
            if run.fails.reason != PULL_FAILED:
                raise CannotStart(run.fails.reason, run.fails.message)
            pause = _PULL_PAUSES.following(pause)
            self._pulls[key] = (self.clock.monotonic() + pause, pause, run.fails.message)
            raise _not_pulled(container.image, run.fails.message)
        self._pulls.pop(key, None)
        self.started[key] += 1
        self.moments[key] = self.clock.monotonic()
        self.containers[key], self.runs[key] = container, run
        ready_after = run.is_ready_after
        state = ContainerState(
            key,
            "running",
            f"{key.container}-{key.attempt}",
            100 + len(self.started),
            started_at=now,
            unready=ready_after > 0,
        )
        self.states[key] = state
        if run.logs and container.log:
            _write_log(container, run.logs, now)
        if ready_after:
            self.clock.call_later(ready_after, lambda: self.ready(key))
        if (length := run.ends_after) is not None:
            self._later(key, length, run.code, run.signal)
        return state

    def ready(self, key: Key) -> None:
        """Marks the container as ready, if it still runs."""
        state = self.states.get(key)
        if state is not None and state.phase == "running" and state.unready:
            self.states[key] = msgspec.structs.replace(state, unready=False)
            if self.told is not None:
                self.told(self.states[key])

    def end(self, key: Key, code: int = 0, number: int = 0, reason: str = "") -> None:
        """Ends the container now. If `reason` is empty, the run's reason counts, else one that follows from
        the code."""
        state = self.states.get(key)
        if state is None or state.phase != "running":
            return
        if (timer := self._timers.pop(key, None)) is not None:
            timer.cancel()
        run, file = self.runs[key], self.containers[key].termination_message
        if run.message and file is not None:
            os.makedirs(os.path.dirname(file), exist_ok=True)
            with open(file, "w") as opened:
                opened.write(run.message)
        ended = msgspec.structs.replace(
            state,
            phase="exited",
            unready=False,
            finished_at=self.clock.timestamp(),
            exit_code=code,
            signal=number,
            reason=reason or run.reason or ("Error" if code else "Completed"),
        )
        self.states[key] = ended
        if self.told is not None:
            self.told(ended)

    def lose(self) -> None:
        """Crashes and restarts the machine: exit codes of its containers are lost."""
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
        for key, state in self.states.items():
            if state.phase == "running":
                self.states[key] = msgspec.structs.replace(state, phase="lost")

    def signal(self, key: Key, number: int) -> None:
        self.signals.append((self.clock.monotonic(), key, number))
        state = self.states.get(key)
        if state is None or state.phase != "running":
            return
        run = self.runs[key]
        if number == signal.SIGKILL:
            self._later(key, 0.0, 137, 9)
        elif (length := run.stops_after) is not None:
            self._later(key, length, run.term_code, number if run.term_code > 128 else 0)

    def _later(self, key: Key, seconds: float, code: int, number: int) -> None:
        if (timer := self._timers.pop(key, None)) is not None:
            timer.cancel()
        self._ends[key] = (self.clock.monotonic() + seconds, code, number)
        self._timers[key] = self.clock.call_later(seconds, lambda: self.end(key, code, number))

    def remaining(self) -> dict[Key, End]:
        """How each running container will end by itself, and in how many seconds."""
        now, ends = self.clock.monotonic(), self._ends
        return {key: (ends[key][0] - now, *ends[key][1:]) for key in self.running if key in self._timers}

    def become(
        self,
        states: dict[Key, ContainerState],
        runs: dict[Key, Run],
        containers: dict[Key, Container],
        ends: dict[Key, End],
    ) -> None:
        """Replaces the state by these containers; their ends count seconds from now."""
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
        self.states, self.runs, self.containers = dict(states), dict(runs), dict(containers)
        for key, (seconds, code, number) in ends.items():
            self._later(key, max(seconds, 0.0), code, number)
        for key, state in states.items():
            if state.unready:
                left = state.started_at + runs[key].is_ready_after - self.clock.timestamp()
                self.clock.call_later(max(left, 0.0), partial(self.ready, key))


def _not_pulled(image: str, why: str) -> CannotStart:
    """The refusal of a container whose image cannot be pulled, with a kubelet's events."""
    reasons = (
        Reason("Pulling", {"image": image}),
        Reason("ImageNotPulled", {"image": image, "problem": why}),
        Reason("NotStarted", {"message": PULL_FAILED}),
    )
    return CannotStart(PULL_FAILED, why, why=reasons, after=_BACK_OFF_AFTER_SECONDS)


def _backing_off(image: str, why: str, left: float) -> CannotStart:
    """The refusal between two attempts, the next of which is due in `left` seconds."""
    waits = Reason("ImageBackOff", {"image": image})
    reasons = (waits, Reason("NotStarted", {"message": "ImagePullBackOff"}))
    return CannotStart("ImagePullBackOff", f"{waits}: {PULL_FAILED}: {why}", why=reasons, after=left)


def _write_log(container: Container, text: str, now: float) -> None:
    """Writes output in the form of a runtime's log file."""
    stamp = f"{rfc3339.from_seconds(int(now))[:-1]}.{int(now % 1 * 1e9):09d}Z"
    os.makedirs(os.path.dirname(container.log), exist_ok=True)
    with open(container.log, "a", encoding="utf-8") as opened:
        opened.writelines(f"{stamp} stdout F {line}\n" for line in text.removesuffix("\n").split("\n"))


class ScriptedRuntime:
    """A runtime over a `ScriptedMachine`. `pause` is the time that each call takes."""

    def __init__(self, machine: ScriptedMachine, *, name: str = "process", pause: float = 0.0) -> None:
        self.name, self.machine = name, machine
        self._pause = pause

    async def open(self, changed: Callable[[ContainerState], None]) -> list[ContainerState]:
        await self._called("open")
        self.machine.told = changed
        return list(self.machine.states.values())

    async def features(self) -> Features:
        return Features(mounts=True, limits="none")

    async def problem(self) -> str:
        return self.machine.problem

    def start(self, container: Container) -> Awaitable[ContainerState]:
        if container.key not in self.machine.states:
            self.machine.begin(container)
        if self._pause:
            return self._slow_start(container.key)
        self._note("start", container.key)
        started: asyncio.Future[ContainerState] = asyncio.get_running_loop().create_future()
        started.set_result(self.machine.states[container.key])
        return started

    async def _slow_start(self, key: Key) -> ContainerState:
        await self._called("start", key)
        return self.machine.states[key]

    async def signal(self, key: Key, number: int) -> None:
        self.machine.signal(key, number)
        await self._called(f"signal {number}", key)

    async def remove(self, keys: Iterable[Key]) -> None:
        for key in keys:
            state = self.machine.states.get(key)
            if state is not None and state.phase != "running":
                del self.machine.states[key], self.machine.containers[key], self.machine.runs[key]
        await self._called("remove")

    async def exec(self, key: Key, command: tuple[str, ...], *, stdin: bool, tty: bool) -> Session:
        await self._called(f"exec {' '.join(command)}", key)
        return _Session(self.machine.execs(key, command), self.machine, key)

    async def attach(self, key: Key) -> Session:
        raise CannotStart("CreateContainerError", "nothing runs here, so there is nothing to attach to")

    async def usage(self, keys: Iterable[Key]) -> dict[Key, Usage]:
        return {key: Usage(0.0, 0) for key in keys if key in self.machine.running}

    async def close(self, *, kill: bool) -> None:
        self.machine.told = None
        if kill:
            for key in self.machine.running:
                self.machine.end(key, 137, 9)

    def _note(self, what: str, key: Key | None) -> None:
        self.machine.calls.append((what, str(key) if key is not None else ""))

    async def _called(self, what: str, key: Key | None = None) -> None:
        self._note(what, key)
        if self._pause:
            await self.machine.clock.sleep(self._pause)


class _Session:
    def __init__(self, run: Exec, machine: ScriptedMachine, key: Key) -> None:
        self._run, self._machine, self._key = run, machine, key
        self._has_input = asyncio.Event()

    async def write(self, data: bytes) -> None:
        self._has_input.set()

    async def close_input(self) -> None:
        self._has_input.set()

    async def resize(self, width: int, height: int) -> None: ...

    async def output(self) -> AsyncIterator[tuple[Literal["stdout", "stderr"], bytes]]:
        run = self._run
        if run.reads_input:
            await self._has_input.wait()
        await self._machine.clock.sleep(run.seconds)
        if run.output:
            yield "stdout", run.output.encode()
        if run.ends is not None:
            self._machine.end(self._key, run.ends)

    async def wait(self) -> int:
        return self._run.code

    async def close(self) -> None:
        await asyncio.sleep(0)


__all__ = ["Exec", "Execs", "Run", "RunScript", "ScriptedMachine", "ScriptedRuntime"]
