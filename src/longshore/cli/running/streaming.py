"""`--logs`: what every container of a run writes, line by line, as it is written."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from longshore.api.errors import StatusError
from longshore.api.facts import kinds
from longshore.api.types import Obj
from longshore.cli.running import following
from longshore.cli.running.place import Place
from longshore.cli.running.progress import Run
from longshore.client import Unreachable

Line = Callable[[str, bytes], None]
"""Takes a prefix and a line with its end."""
_AT_ONCE = 64
"""Logs that are read side by side; the others wait for a place."""


class Streams:
    """Of one run. `follow` until the run has ended, then `finish`."""

    def __init__(self, place: Place, run: Run, line: Line) -> None:
        self._place, self._run, self._line = place, run, line
        self._tasks: set[asyncio.Task[None]] = set()
        self._seen: set[tuple[str, str]] = set()
        self._places = asyncio.Semaphore(_AT_ONCE)

    async def follow(self) -> None:
        """Begins with each container as soon as it has started, until cancelled."""
        run = self._run
        selector = following.labels(run)
        fields = "" if selector else f"metadata.name={run.name}"
        async for event in following.events(
            self._place, kinds.PODS, run.namespace, labels=selector, fields=fields
        ):
            if event.type in ("ADDED", "MODIFIED"):
                self._pod(event.object)

    async def finish(self) -> None:
        """Waits for the lines that are still on their way."""
        if self._tasks:
            await asyncio.gather(*self._tasks)

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
        prefix = f"[{name}/{container}] " if several else f"[{name}] "
        path = f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}/log"
        rest = b""
        async with self._places:
            try:
                opened = self._place.http.stream(path, {"container": container, "follow": "true"})
                async with opened as chunks:
                    async for chunk in chunks:
                        *lines, rest = (rest + chunk).split(b"\n")
                        for line in lines:
                            self._line(prefix, line + b"\n")
            except StatusError as err:
                kept = await following.of_gone(self._place, pod, container) if err.code == 404 else ""
                for text in kept.splitlines():
                    self._line(prefix, f"{text}\n".encode())
                if not kept:
                    self._line(prefix, f"(no more output can be read: {err})\n".encode())
            except Unreachable as err:
                self._line(prefix, f"(no more output can be read: {err})\n".encode())
        if rest:
            self._line(prefix, rest + b"\n")
