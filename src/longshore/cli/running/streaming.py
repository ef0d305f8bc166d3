"""`--logs`: the output of every container of a run, line by line: as it is written, or index after index."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Final, Literal

from longshore.api.errors import StatusError
from longshore.api.facts import kinds
from longshore.api.types import Obj
from longshore.cli.running import run_watches
from longshore.cli.running.held_output import HeldOutput
from longshore.cli.running.place import Place
from longshore.cli.running.progress import Run
from longshore.cli.running.turns import Turns
from longshore.client import Unreachable

Line = Callable[[str, bytes], None]
"""Takes a prefix and a line with its end."""
Show = Callable[[bytes], None]
"""Takes a line with its end."""
Style = Literal["plain", "pod", "tag"]
_MAX_STREAMS = 64
"""Logs that are read side by side; the others wait for a place."""
_INDEX: Final = "batch.kubernetes.io/job-completion-index"
_FAILURES: Final = "batch.kubernetes.io/job-index-failure-count"
_RETRY_SECONDS: Final = 0.5
_SILENT_SECONDS = 10.0
"""A log without a new byte for this long is taken to have ended."""


class Streams:
    """The output of one run. Call `follow` until the run has ended, then `finish`.

    `style` is what stands before a line: nothing (`plain`), the pod (`[name-3] `), or the item and a tab
    (`tag`, as GNU parallel has it). With `in_order`, the indexes of a Job are printed one after the other.
    """

    def __init__(
        self, place: Place, run: Run, line: Line, *, style: Style = "pod", in_order: bool = False
    ) -> None:
        self._style: Style = style
        self._turns = _turns(run) if in_order and run.indexed else None
        self._place, self._run, self._line = place, run, line
        self._tasks: set[asyncio.Task[None]] = set()
        self._seen: set[tuple[str, str]] = set()
        self._places = asyncio.Semaphore(_MAX_STREAMS)
        self._chunks = 0
        self._over = False
        """Whether the run is over."""
        self._broken = False
        """Whether a log ended before it was read to its end."""

    async def follow(self) -> None:
        """Follows each container from its start, until cancelled."""
        labels, fields = self._pods()
        async for event in run_watches.events(
            self._place, kinds.PODS, self._run.namespace, labels=labels, fields=fields
        ):
            if event.type in ("ADDED", "MODIFIED"):
                self._pod(event.object)

    async def finish(self) -> bool:
        """Waits for the lines that are still on their way, for as long as any come. Whether all have come."""
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
        status = pod.get("status") or {}
        for each in (*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())):
            key = (pod["metadata"]["uid"], each["name"])
            state = each.get("state") or {}
            if key in self._seen or not (state.get("running") or state.get("terminated")):
                continue
            self._seen.add(key)
            show = partial(self._line, self._prefix(pod, each["name"]))
            if self._turns is None:
                copying = self._copy(pod, each["name"], show)
            else:
                index = _index(pod) or 0
                copying = self._in_turn(pod, each["name"], show, self._turns, index, self._turns.add(index))
            task = asyncio.create_task(copying)
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        if self._turns is not None and self._is_last(pod):
            self._turns.over(_index(pod) or 0)

    def _is_last(self, pod: Obj) -> bool:
        """Whether no other pod of its index comes after this one."""
        phase = (pod.get("status") or {}).get("phase")
        if phase != "Failed" or self._run.retries is None:
            return bool(phase == "Succeeded")
        return int((pod["metadata"].get("annotations") or {}).get(_FAILURES, "0")) >= self._run.retries

    async def _in_turn(
        self, pod: Obj, container: str, show: Show, turns: Turns, index: int, turn: asyncio.Future[None]
    ) -> None:
        """Reads a log from the start, since its pod may go, and shows it from its turn on."""
        held = HeldOutput(show)
        turn.add_done_callback(lambda _: held.release())
        try:
            await self._copy(pod, container, held.write)
            await turn
            held.release()
            turns.printed(index)
        finally:
            held.forget()
            self._broken = self._broken or held.broken

    def _prefix(self, pod: Obj, container: str) -> str:
        index = _index(pod)
        if self._style == "tag":
            item = self._run.item(index) or (pod["metadata"]["name"] if index is None else str(index))
            return item.replace("\n", " ") + "\t"
        name = pod["metadata"]["name"] if index is None else f"{self._run.name}-{index}"
        several = len(pod["spec"]["containers"]) > 1 or bool(pod["spec"].get("initContainers"))
        return f"[{name}/{container}] " if several else f"[{name}] " if self._style == "pod" else ""

    async def _copy(self, pod: Obj, container: str, show: Show) -> None:
        rest = b""
        async with self._places:
            try:
                async for chunk in self._chunks_of(pod, container):
                    self._chunks += 1
                    *lines, rest = (rest + chunk).split(b"\n")
                    for line in lines:
                        show(line + b"\n")
            except StatusError as err:
                kept = await run_watches.of_gone(self._place, pod, container) if err.code == 404 else ""
                for text in kept.splitlines():
                    show(f"{text}\n".encode())
                if not kept:
                    self._broken = True
                    show(f"(no more output can be read: {err})\n".encode())
            except Unreachable as err:
                self._broken = True
                show(f"(no more output can be read: {err})\n".encode())
        if rest:
            show(rest + b"\n")

    async def _chunks_of(self, pod: Obj, container: str) -> AsyncIterator[bytes]:
        """A log as it arrives. Goes on where it broke off when the server is back, until the run is over."""
        meta = pod["metadata"]
        path = f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}/log"
        read, broke = 0, False
        while True:
            skip = read
            try:
                last = not broke or not await self._runs(pod, container)
                opened = self._place.http.stream(path, {"container": container, "follow": "true"})
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

    async def _runs(self, pod: Obj, container: str) -> bool:
        """Whether the container still runs: a server that has just started ends logs of what it has not found
        yet."""
        meta = pod["metadata"]
        try:
            now = await self._place.client.get(kinds.PODS, meta["name"], meta["namespace"])
        except StatusError:
            return False
        every = (now.get("status") or {}).get("containerStatuses") or ()
        return any(each["name"] == container and "running" in (each.get("state") or {}) for each in every)


def _turns(run: Run) -> Turns:
    """The turns of a run, past the indexes that a new Job begins with as completed."""
    turns = Turns()
    for first, last in () if run.found else run.done:
        for index in range(first, last + 1):
            turns.over(index)
    return turns


def _index(pod: Obj) -> int | None:
    """The completion index; None for a pod without one."""
    found = (pod["metadata"].get("annotations") or {}).get(_INDEX)
    return None if found is None else int(found)
