"""The node's side of the door that the API server knocks at: logs, commands, ports.

It runs nothing itself: engines do. What a container may be asked depends on what its engine says of it, and
where that is silent on the pod's status.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path
from typing import Final

from longshore.api import errors
from longshore.api.exec_session import Session
from longshore.api.log_options import LogOptions
from longshore.api.time import rfc3339
from longshore.api.time.instants import SECOND
from longshore.api.types import Obj
from longshore.api.usage import Measured
from longshore.machinery.time.clock import Clock
from longshore.node.archive import Archive
from longshore.node.runtime import CannotStart, Key
from longshore.node.serving import attempts, logs
from longshore.node.serving.followed_engine import Watched
from longshore.node.serving.measuring import Meter

_CONNECT_SECONDS: Final = 10.0


class Door:
    """`node` is the node's name, `root` its directory with the logs in it, `archive` where those of failed
    pods are when the pods are gone."""

    def __init__(
        self, node: str, engines: Sequence[Watched], root: Path, clock: Clock, archive: Archive
    ) -> None:
        self.node, self.archive = node, archive
        self._engines, self._logs, self._clock = engines, root / "logs", clock
        self._meter = Meter(engines, clock)

    async def logs(self, pod: Obj, container: str, options: LogOptions) -> AsyncGenerator[bytes, None]:
        meta = pod["metadata"]
        running = self._running(pod, container)
        attempt = options.attempt
        if attempt is None:
            attempt = attempts.of_log(
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
        engine, key = self._found(pod, container)
        try:
            return await engine.exec(key, command, stdin=stdin, tty=tty)
        except CannotStart as problem:
            raise errors.internal(f"error executing command in container: {problem.message}") from None

    async def attach(self, pod: Obj, container: str) -> Session:
        engine, key = self._found(pod, container)
        try:
            return await engine.attach(key)
        except CannotStart as problem:
            raise errors.internal(f"error attaching to container: {problem.message}") from None

    async def port_forward(self, pod: Obj, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """At the pod's own address, else at the loopback address, where most programs listen that do not
        listen everywhere."""
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

    def _running(self, pod: Obj, container: str) -> tuple[Watched, Key] | None:
        uid = pod["metadata"]["uid"]
        for engine in self._engines:
            state = engine.running.get((uid, container))
            if state is not None:
                return engine, state.key
        return None

    def _found(self, pod: Obj, container: str) -> tuple[Watched, Key]:
        found = self._running(pod, container)
        if found is None:
            raise errors.internal(f'container not found ("{container}")')
        return found
