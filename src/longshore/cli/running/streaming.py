"""`--logs`: the output of every container of a run, line by line: as it is written, or index after index."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Final, Literal, NamedTuple

from longshore.api.errors import StatusError
from longshore.api.facts import kinds, own_names, pod_state
from longshore.api.types import Obj
from longshore.cli.running import run_watches
from longshore.cli.running.place import Place
from longshore.cli.running.progress import FollowedRun
from longshore.cli.running.turns import HeldOutput, Turns
from longshore.client import Unreachable

Line = Callable[[str, bytes], None]
"""Takes a prefix and a line with its end."""
Show = Callable[[bytes], None]
"""Takes a line with its end."""
Style = Literal["plain", "pod", "tag"]
_MAX_STREAMS = 64
"""Logs that are read at the same time; the others wait."""
_FAILURES: Final = "batch.kubernetes.io/job-index-failure-count"
_RETRY_SECONDS: Final = 0.5
_SILENT_SECONDS = 10.0
"""A log without a new byte for this long counts as ended."""


class Log(NamedTuple):
    """The log of one run of a container."""

    pod: Obj
    container: str
    attempt: int
    """The number of the run, from 0."""
    previous: bool
    """Whether the container has been restarted since."""

    @property
    def uid(self) -> str:
        uid: str = self.pod["metadata"]["uid"]
        return uid

    @property
    def restarts(self) -> bool:
        """Whether the container may be restarted."""
        return bool(self.pod["spec"].get("restartPolicy") != "Never")


class Streams:
    """The output of one run. Call `follow` until the run has ended, then `finish`.

    `style` is what stands before a line: nothing (`plain`), the pod (`[name-3] `), or the item and a tab
    (`tag`, as GNU parallel has it). With `in_order`, the indexes of a Job are printed one after the other."""

    def __init__(
        self, place: Place, run: FollowedRun, line: Line, *, style: Style = "pod", in_order: bool = False
    ) -> None:
        self._style: Style = style
        self._exact = style == "plain" and not sys.stdout.isatty()
        """Whether output that does not end with a line end is printed without one, byte for byte."""
        self._turns = _turns(run) if in_order and run.indexed else None
        self._place, self._run, self._line = place, run, line
        self._tasks: set[asyncio.Task[None]] = set()
        self._last: dict[tuple[str, str], asyncio.Task[None]] = {}
        """The task that copies the last log of each container that may be restarted."""
        self._seen: set[tuple[str, str, int]] = set()
        self._places = asyncio.Semaphore(_MAX_STREAMS)
        self._chunks = 0
        self._over = False
        """Whether the run has ended."""
        self._broken = False
        """Whether a log broke off before its end."""

    async def follow(self) -> None:
        """Follows each container from its start, until cancelled."""
        labels, fields = self._pods()
        async for event in run_watches.events(
            self._place, kinds.PODS, self._run.namespace, labels=labels, fields=fields
        ):
            if event.type in ("ADDED", "MODIFIED"):
                self._pod(event.object)

    async def finish(self) -> bool:
        """Waits for the remaining lines while any come. Returns whether all have come."""
        self._over = True
        labels, fields = self._pods()
        try:
            found = await self._place.client.list(
                kinds.PODS, self._run.namespace, labels=labels, fields=fields
            )
        except (StatusError, Unreachable):
            return False
        for pod in found.items:
            self._pod(pod)
        if self._turns is not None:
            self._turns.all_over()
        while self._tasks:
            before = self._chunks
            _, waiting = await asyncio.wait(self._tasks, timeout=_SILENT_SECONDS)
            if waiting and self._chunks == before:
                return False
        return not self._broken

    def _pods(self) -> tuple[str, str]:
        """The label and field selectors of the run's pods."""
        labels = run_watches.labels(self._run)
        return labels, "" if labels else f"metadata.name={self._run.name}"

    def cancel(self) -> None:
        for task in self._tasks:
            task.cancel()

    def _pod(self, pod: Obj) -> None:
        for each in pod_state.statuses_of(pod):
            for attempt, previous in attempts(each, exact=self._place.directory is not None):
                key = (pod["metadata"]["uid"], each["name"], attempt)
                if key not in self._seen:
                    self._seen.add(key)
                    self._begin(Log(pod, each["name"], attempt, previous))
        if self._turns is not None and self._is_last(pod):
            self._turns.over(pod_state.completion_index(pod) or 0)

    def _begin(self, log: Log) -> None:
        show = partial(self._line, self._prefix(log.pod, log.container))
        if self._turns is None:
            before = self._last.get((log.uid, log.container))
            copying = self._copy(log, show) if before is None else self._after(before, log, show)
        else:
            index = pod_state.completion_index(log.pod) or 0
            copying = self._in_turn(log, show, self._turns, index, self._turns.add(index))
        task = asyncio.create_task(copying)
        if log.restarts:
            self._last[log.uid, log.container] = task
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _after(self, before: asyncio.Task[None], log: Log, show: Show) -> None:
        """Copies the log of a restarted container after that of the run before."""
        await asyncio.wait([before])
        await self._copy(log, show)

    def _is_last(self, pod: Obj) -> bool:
        """Whether this is the last pod of its index."""
        phase = (pod.get("status") or {}).get("phase")
        if phase != "Failed" or self._run.retries is None:
            return bool(phase == "Succeeded")
        return int((pod["metadata"].get("annotations") or {}).get(_FAILURES, "0")) >= self._run.retries

    async def _in_turn(
        self, log: Log, show: Show, turns: Turns, index: int, turn: asyncio.Future[None]
    ) -> None:
        """Reads a log from the start, because its pod may be deleted, and shows it when its turn comes."""
        held = HeldOutput(show)
        turn.add_done_callback(lambda _: held.release())
        try:
            await self._copy(log, held.write)
            await turn
            held.release()
            turns.printed(index)
        finally:
            held.forget()
            self._broken = self._broken or held.broken

    def _prefix(self, pod: Obj, container: str) -> str:
        index = pod_state.completion_index(pod)
        if self._style == "tag":
            if self._run.items and index is not None:
                return self._run.item(index).replace("\n", " ") + "\t"
            return f"{pod['metadata']['name'] if index is None else index}\t"
        name = pod["metadata"]["name"] if index is None else f"{self._run.name}-{index}"
        several = len(pod["spec"]["containers"]) > 1 or bool(pod["spec"].get("initContainers"))
        return f"[{name}/{container}] " if several else f"[{name}] " if self._style == "pod" else ""

    async def _copy(self, log: Log, show: Show) -> None:
        rest = b""
        async with self._places:
            try:
                async for chunk in self._chunks_of(log):
                    self._chunks += 1
                    *lines, rest = (rest + chunk).split(b"\n")
                    for line in lines:
                        show(line + b"\n")
            except StatusError as err:
                kept = (
                    await run_watches.of_gone(self._place, log.pod, log.container) if err.code == 404 else ""
                )
                for text in kept.splitlines():
                    show(f"{text}\n".encode())
                if not kept:
                    self._broken = True
                    show(f"(no more output can be read: {err})\n".encode())
            except Unreachable as err:
                self._broken = True
                show(f"(no more output can be read: {err})\n".encode())
        if rest:
            show(rest if self._exact else rest + b"\n")

    async def _chunks_of(self, log: Log) -> AsyncIterator[bytes]:
        """Yields a log as it arrives. If it breaks off, continues when the server is back, until the run
        ends."""
        meta = log.pod["metadata"]
        query = {"container": log.container, own_names.LOG_ATTEMPT: str(log.attempt)}
        query |= {"previous": "true"} if log.previous else {"follow": "true"}
        read, broke = 0, False
        while True:
            skip = read
            try:
                last = not broke or not await self._runs(log)
                opened = self._place.client.log(meta["name"], meta["namespace"], query)
                async with opened as chunks:
                    async for chunk in chunks:
                        known, skip = min(skip, len(chunk)), max(0, skip - len(chunk))
                        read += len(chunk) - known
                        if len(chunk) > known:
                            yield chunk[known:]
                if last:
                    return
            except Unreachable:
                if self._over:
                    raise
                broke = True
            await asyncio.sleep(_RETRY_SECONDS)

    async def _runs(self, log: Log) -> bool:
        """Whether the container still runs: a server that has just started ends the logs of containers that
        it has not found yet."""
        meta = log.pod["metadata"]
        try:
            now = await self._place.client.get(kinds.PODS, meta["name"], meta["namespace"])
        except StatusError:
            return False
        every = pod_state.statuses_of(now, "containerStatuses")
        same = (each for each in every if each["name"] == log.container)
        return any("running" in (each.get("state") or {}) for each in same)


def _turns(run: FollowedRun) -> Turns:
    """The turns of a run; skips indexes that a new Job has completed from the start."""
    turns = Turns()
    for first, last in () if run.found else run.done:
        for index in range(first, last + 1):
            turns.over(index)
    return turns


def attempts(status: Obj, *, exact: bool) -> list[tuple[int, bool]]:
    """The runs of a container whose logs can be read, each with whether the container was restarted after it.
    With `exact` the server can find a run by its number; other servers have only the last run of a waiting
    container."""
    count, state = status.get("restartCount", 0), status.get("state") or {}
    begun = bool(state.keys() & {"running", "terminated"})
    if not begun and not (status.get("lastState") or {}).get("terminated"):
        return []
    before = [(count - 1, True)] if count and (begun or exact) else []
    return [*before, (count, False)]
