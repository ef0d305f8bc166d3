"""The node's access to its containers for the API server: logs, commands, ports, usage.

It runs nothing itself: runtimes do. Whether a container can serve a request depends on its state in the
runtime, or else on the pod's status.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Mapping, Sequence
from pathlib import Path
from typing import Final

from longshore.api import errors
from longshore.api.container_streams import LogOptions, Session
from longshore.api.facts import pod_state
from longshore.api.time import rfc3339
from longshore.api.time.instants import SECOND
from longshore.api.types import Obj
from longshore.api.usage import Measured, Used
from longshore.machinery.time.clock import Clock
from longshore.node.archive import Archive
from longshore.node.runtime import CannotStart, Key, Usage
from longshore.node.serving import logs
from longshore.node.serving.followed_runtime import FollowedRuntime

_CONNECT_SECONDS: Final = 10.0


class NodeAccess:
    """`node` is the node's name, `root` its directory with the logs in it, `archive` the logs of failed pods
    that were deleted."""

    def __init__(
        self, node: str, runtimes: Sequence[FollowedRuntime], root: Path, clock: Clock, archive: Archive
    ) -> None:
        self.node, self.archive = node, archive
        self._runtimes, self._logs, self._clock = runtimes, root / "logs", clock
        self._meter = Meter(runtimes, clock)

    async def logs(self, pod: Obj, container: str, options: LogOptions) -> AsyncGenerator[bytes, None]:
        meta = pod["metadata"]
        running = self._running(pod, container)
        attempt = options.attempt
        if attempt is None:
            attempt = attempt_of_log(
                pod, container, previous=options.previous, running=running[1].attempt if running else None
            )
        key = Key(meta["uid"], container, attempt)
        path = self._logs / f"{meta['namespace']}_{meta['name']}_{meta['uid']}" / container / f"{attempt}.log"
        if running is None or not options.follow:
            ended = asyncio.Event()
            ended.set()
        else:
            ended = running[0].end_of(key)
        return logs.read(path, options, self._since(options), ended, self._clock)

    def _since(self, options: LogOptions) -> bytes:
        if options.since_time is not None:
            seconds, nanos = divmod(options.since_time, SECOND)
            if seconds < 0:
                return b""
        elif options.since_seconds is not None:
            now = self._clock.now().timestamp() - options.since_seconds
            if now < 0:
                return b""
            seconds, nanos = int(now), int(now % 1 * 1_000_000_000)
        else:
            return b""
        return f"{rfc3339.from_seconds(seconds)[:-1]}.{nanos:09d}Z".encode()

    def check_running(self, pod: Obj, container: str) -> None:
        if self._running(pod, container) is None:
            raise errors.internal(f'unable to upgrade connection: container not found ("{container}")')

    async def exec(
        self, pod: Obj, container: str, command: tuple[str, ...], *, stdin: bool, tty: bool
    ) -> Session:
        runtime, key = self._found(pod, container)
        try:
            return await runtime.exec(key, command, stdin=stdin, tty=tty)
        except CannotStart as problem:
            raise errors.internal(f"error executing command in container: {problem.message}") from None

    async def attach(self, pod: Obj, container: str) -> Session:
        runtime, key = self._found(pod, container)
        try:
            return await runtime.attach(key)
        except CannotStart as problem:
            raise errors.internal(f"error attaching to container: {problem.message}") from None

    async def port_forward(self, pod: Obj, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Connects to the pod's own address, or else to the loopback address, on which most programs listen
        that do not listen on all."""
        if (pod.get("status") or {}).get("phase") != "Running":
            raise errors.bad_request(f"pod {pod['metadata']['name']} is not running")
        hosts = [pod["status"].get("podIP") or "127.0.0.1", "127.0.0.1"]
        problem: OSError | None = None
        for host in dict.fromkeys(hosts):
            try:
                async with self._clock.timeout(_CONNECT_SECONDS):
                    return await asyncio.open_connection(host, port)
            except OSError as err:
                problem = problem or err
        assert problem is not None
        raise OSError(f"dial tcp {hosts[0]}:{port}: {problem.strerror or problem}")

    async def measure(self) -> Measured:
        return await self._meter.measure()

    def _running(self, pod: Obj, container: str) -> tuple[FollowedRuntime, Key] | None:
        uid = pod["metadata"]["uid"]
        for runtime in self._runtimes:
            state = runtime.running.get((uid, container))
            if state is not None:
                return runtime, state.key
        return None

    def _found(self, pod: Obj, container: str) -> tuple[FollowedRuntime, Key]:
        found = self._running(pod, container)
        if found is None:
            raise errors.internal(f'container not found ("{container}")')
        return found


_MIN_INTERVAL_SECONDS: Final = 1.0
"""Seconds for which a measurement is reused: rates over less time would be random."""
_PROC: Final = Path("/proc")


class Meter:
    """Measures usage. The first measurement of a container counts its CPU since its start."""

    def __init__(self, runtimes: Sequence[FollowedRuntime], clock: Clock) -> None:
        self._runtimes, self._clock = runtimes, clock
        self._at = clock.monotonic()
        self._machine = machine_seconds()
        self._cpu: dict[Key, float] = {}
        self._last: Measured | None = None

    async def measure(self) -> Measured:
        now = self._clock.monotonic()
        window = now - self._at
        if self._last is not None and window < _MIN_INTERVAL_SECONDS:
            return self._last
        wall = self._clock.now().timestamp()
        found: dict[Key, Usage] = {}
        pods: dict[str, dict[str, Used]] = {}
        for runtime in self._runtimes:
            states = {state.key: state for state in runtime.running.values()}
            for key, usage in (await runtime.usage(list(states))).items():
                found[key] = usage
                since = self._cpu.get(key)
                seconds = window if since is not None else wall - states[key].started_at
                cores = max(usage.cpu_seconds - (since or 0.0), 0.0) / max(seconds, 0.001)
                pods.setdefault(key.pod_uid, {})[key.container] = Used(cores, usage.memory)
        machine = machine_seconds()
        cores = (machine - self._machine) / max(window, 0.001)
        self._at, self._machine = now, machine
        self._cpu = {key: usage.cpu_seconds for key, usage in found.items()}
        self._last = Measured(int(wall), window, Used(cores, machine_memory()), pods)
        return self._last


def machine_seconds() -> float:
    """CPU seconds of all processors since the machine started."""
    ticks = [int(text) for text in (_PROC / "stat").read_text().split("\n", 1)[0].split()[1:9]]
    user, nice, system, _idle, _waiting, irq, softirq, steal = ticks
    return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")


def machine_memory() -> int:
    """Bytes in use that the kernel cannot reclaim."""
    values: Mapping[str, int] = {
        name: int(rest.split()[0]) * 1024
        for name, _, rest in (line.partition(":") for line in (_PROC / "meminfo").read_text().splitlines())
    }
    return values["MemTotal"] - values["MemAvailable"]


_WAITING: Final = {
    "ErrImagePull": "image can't be pulled",
    "ImagePullBackOff": "trying and failing to pull image",
}


def attempt_of_log(pod: Obj, container: str, *, previous: bool, running: int | None) -> int:
    """The attempt whose log is requested. `running` is the attempt that runs now, which the runtime knows
    before the status shows it."""
    name = pod["metadata"]["name"]
    what = f'container "{container}" in pod "{name}"'
    report = status_of(pod, container)
    if report is None and running is None:
        raise errors.bad_request(f"{what} is not available")
    now = (report or {}).get("state") or {}
    last = ((report or {}).get("lastState") or {}).get("terminated")
    count = int((report or {}).get("restartCount") or 0)
    if running is not None and (running > count or not now.keys() & {"running", "terminated"}):
        now, count = {"running": {}}, running
        last = {"containerID": "known"} if running else None
    if previous:
        if not last or not last.get("containerID"):
            raise errors.bad_request(f"previous terminated {what} not found")
        return count if "waiting" in now else count - 1
    if "running" in now:
        return count
    if "terminated" in now:
        if now["terminated"].get("containerID"):
            return count
        if last and last.get("containerID"):
            return count
        raise errors.bad_request(f"{what} is terminated")
    if last:
        if not last.get("containerID"):
            raise errors.bad_request(f"{what} is terminated")
        return count
    if "waiting" in now:
        reason = now["waiting"].get("reason", "")
        raise errors.bad_request(f"{what} is waiting to start: {_WAITING.get(reason, reason)}")
    raise errors.bad_request(f"{what} is waiting to start - no logs yet")


def status_of(pod: Obj, container: str) -> Obj | None:
    """The status of a container of any sort."""
    found = pod_state.statuses_of(pod, *pod_state.ALL_STATUSES)
    return next((each for each in found if each["name"] == container), None)
