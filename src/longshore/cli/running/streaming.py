"""`--logs`: the output of every container of a run, line by line, as it is written."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from longshore.api.errors import StatusError
from longshore.api.facts import kinds
from longshore.api.types import Obj
from longshore.cli.running import run_watches
from longshore.cli.running.place import Place
from longshore.cli.running.progress import Run
from longshore.client import Unreachable

Line = Callable[[str, bytes], None]
"""Takes a prefix and a line with its end."""
_MAX_STREAMS = 64
"""Logs that are read side by side; the others wait for a place."""
_SILENT_SECONDS = 10.0
"""A log without a new byte for this long is taken to have ended."""


class Streams:
    """The output of one run. Call `follow` until the run has ended, then `finish`. `prefixes` say which pod
    wrote a line.
    """

    def __init__(self, place: Place, run: Run, line: Line, *, prefixes: bool = True) -> None:
        self._prefixes = prefixes
        self._place, self._run, self._line = place, run, line
        self._tasks: set[asyncio.Task[None]] = set()
        self._seen: set[tuple[str, str]] = set()
        self._places = asyncio.Semaphore(_MAX_STREAMS)
        self._chunks = 0
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
        labels, fields = self._pods()
        try:
            found = await self._place.client.list(
                kinds.PODS, self._run.namespace, labels=labels, fields=fields
            )
        except (StatusError, Unreachable):
            return False
        for pod in found.items:
            self._pod(pod)
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
            task = asyncio.create_task(self._copy(pod, each["name"]))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _copy(self, pod: Obj, container: str) -> None:
        meta = pod["metadata"]
        several = len(pod["spec"]["containers"]) > 1 or bool(pod["spec"].get("initContainers"))
        index = (meta.get("annotations") or {}).get("batch.kubernetes.io/job-completion-index")
        name = meta["name"] if index is None else f"{self._run.name}-{index}"
        prefix = f"[{name}/{container}] " if several else f"[{name}] " if self._prefixes else ""
        path = f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}/log"
        rest = b""
        async with self._places:
            try:
                opened = self._place.http.stream(path, {"container": container, "follow": "true"})
                async with opened as chunks:
                    async for chunk in chunks:
                        self._chunks += 1
                        *lines, rest = (rest + chunk).split(b"\n")
                        for line in lines:
                            self._line(prefix, line + b"\n")
            except StatusError as err:
                kept = await run_watches.of_gone(self._place, pod, container) if err.code == 404 else ""
                for text in kept.splitlines():
                    self._line(prefix, f"{text}\n".encode())
                if not kept:
                    self._broken = True
                    self._line(prefix, f"(no more output can be read: {err})\n".encode())
            except Unreachable as err:
                self._broken = True
                self._line(prefix, f"(no more output can be read: {err})\n".encode())
        if rest:
            self._line(prefix, rest + b"\n")
