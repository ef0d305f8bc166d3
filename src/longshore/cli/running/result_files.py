"""`--results DIR`: the output, the exit code and the times of each item, in files.

    DIR/12-crate-12/stdout       exactly the bytes that it wrote
    DIR/12-crate-12/stderr
    DIR/12-crate-12/result.json  number, item, times, exit code, and which try it was
    DIR/12-crate-12/exitcode     written last: where it is, the other files are complete

The number is that of `{#}`. If an item was tried several times, the files are those of the last try.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import platform
import re
from collections.abc import Callable
from pathlib import Path
from typing import IO, Final

from longshore.api.errors import StatusError
from longshore.api.facts import kinds, pod_state
from longshore.api.time import rfc3339
from longshore.api.types import Obj
from longshore.cli.main import Failure
from longshore.cli.running import result, run_watches
from longshore.cli.running.place import Place
from longshore.cli.running.progress import FollowedRun
from longshore.client import Unreachable

_STREAMS: Final = (("stdout", "Stdout"), ("stderr", "Stderr"))
_UNSAFE: Final = re.compile(r"[\x00-\x1f\x7f/]+")
_MAX_NAME_BYTES: Final = 200
"""Bytes of an item in a file's name; file systems allow 255 for the whole name."""
_MAX_READERS: Final = 16


class ResultFiles:
    """Writes the files. Call `follow` until the run has ended, then `finish`."""

    def __init__(self, directory: Path, place: Place, run: FollowedRun) -> None:
        self._directory, self._place, self._run = directory, place, run
        self._pods = EndedPods(place, run, self._pod)
        self._tries: dict[int, int] = {}
        self._tasks: dict[int, asyncio.Task[None]] = {}
        """The task that reads the latest try of each index. The task of the next try waits for it."""
        self._places = asyncio.Semaphore(_MAX_READERS)
        self._mixed = False
        """Whether the server cannot separate the two streams: then `stdout` has both."""
        self.problem = ""
        """Why files are missing or incomplete; empty if all is well."""

    async def follow(self) -> None:
        """Writes the files of each pod that has ended, until cancelled."""
        await self._pods.follow()

    async def finish(self) -> None:
        """Adds the pods that ended last, and waits for all files."""
        try:
            await self._pods.finish()
        except (StatusError, Unreachable) as err:
            self.problem = str(err)
            return
        await asyncio.gather(*self._tasks.values())

    def _pod(self, pod: Obj, index: int) -> None:
        self._tries[index] = self._tries.get(index, 0) + 1
        before = self._tasks.get(index)
        self._tasks[index] = asyncio.create_task(self._write(pod, index, self._tries[index], before))

    async def _write(self, pod: Obj, index: int, tried: int, before: asyncio.Task[None] | None) -> None:
        if before is not None:
            await before
        item = self._run.item(index)
        directory = self._directory / name_of(index, item)
        async with self._places:
            try:
                _emptied(directory)
                for file, stream in _STREAMS:
                    with (directory / file).open("wb") as target:
                        await self._copy(pod, stream, target)
                _conclude(directory, _document(pod, index, item, tried))
            except OSError as err:
                self.problem = f"{directory}: {err.strerror}"

    async def _copy(self, pod: Obj, stream: str, target: IO[bytes]) -> None:
        """Copies one stream of the first container."""
        if self._mixed and stream == "Stderr":
            return
        meta, container = pod["metadata"], pod["spec"]["containers"][0]["name"]
        query = {"container": container} | ({} if self._mixed else {"stream": stream})
        try:
            async with self._place.client.log(meta["name"], meta["namespace"], query) as chunks:
                async for chunk in chunks:
                    target.write(chunk)
        except StatusError as err:
            if err.code == 422 and not self._mixed:
                self._mixed = True
                self.problem = "this server does not tell the two streams apart: both are in the file stdout"
                await self._copy(pod, stream, target)
            elif not (err.code == 400 and "startedAt" not in pod_state.main_end(pod)):
                self.problem = f"the output of pod/{meta['name']} could not be read: {err}"
        except Unreachable as err:
            self.problem = f"the output of pod/{meta['name']} could not be read: {err}"


def name_of(index: int, item: str) -> str:
    """The name of an index's directory: its number from 1, and its item with unsafe characters replaced."""
    text = _UNSAFE.sub("_", item).strip(" .").encode(errors="surrogateescape")[:_MAX_NAME_BYTES]
    return f"{index + 1}-{text.decode(errors='ignore')}" if text else str(index + 1)


def prepared(directory: Path) -> Path:
    """Makes the directory. Raises Failure if it cannot be written."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as err:
        raise Failure(f"--results {directory}: {err.strerror}", 2) from None
    return directory


def _emptied(directory: Path) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "exitcode").unlink(missing_ok=True)


def _conclude(directory: Path, document: Obj) -> None:
    (directory / "result.json").write_text(json.dumps(document, indent=2) + "\n")
    code = document["exitCode"]
    (directory / "exitcode").write_text(f"{'' if code is None else code}\n")


def _document(pod: Obj, index: int, item: str, tried: int) -> Obj:
    status = pod.get("status") or {}
    ended = pod_state.main_end(pod)
    begun, over = pod_state.main_times(pod)
    return {
        "number": index + 1,
        "item": result.readable(item),
        "try": tried,
        "exitCode": ended.get("exitCode"),
        "reason": ended.get("reason") or status.get("reason", ""),
        "startedAt": rfc3339.millis_from_seconds(begun) if begun else None,
        "finishedAt": rfc3339.millis_from_seconds(over) if over else None,
        "seconds": round(over - begun, 3) if begun and over else None,
        "pod": pod["metadata"]["name"],
    }


# The pods of a run that have ended, each reported once: those of retries too.


class EndedPods:
    """Calls `heard` with each pod and its index, which is 0 if it has none. Call `follow` until the run has
    ended, then `finish`."""

    def __init__(self, place: Place, run: FollowedRun, heard: Callable[[Obj, int], None]) -> None:
        self._place, self._run, self._heard = place, run, heard
        self._seen: set[str] = set()

    async def follow(self) -> None:
        """Reports pods as they end, until cancelled."""
        labels = run_watches.labels(self._run)
        async for event in run_watches.events(self._place, kinds.PODS, self._run.namespace, labels=labels):
            if event.type in ("ADDED", "MODIFIED"):
                self._pod(event.object)

    async def finish(self) -> None:
        """Reports the pods that ended last. Raises the error if they cannot be listed."""
        labels = run_watches.labels(self._run)
        found = await self._place.client.list(kinds.PODS, self._run.namespace, labels=labels)
        for pod in found.items:
            self._pod(pod)

    def _pod(self, pod: Obj) -> None:
        uid = pod["metadata"]["uid"]
        if uid not in self._seen and pod_state.has_ended(pod):
            self._seen.add(uid)
            self._heard(pod, pod_state.completion_index(pod) or 0)


# `--joblog FILE`: one line for each try that has ended, in the columns of GNU parallel's job log.

_JOBLOG_HEADER: Final = "Seq\tHost\tStarttime\tJobRuntime\tSend\tReceive\tExitval\tSignal\tCommand\n"


class JobLog:
    """Writes the job log. `command` returns an index's command. Numbers begin with 1, as GNU parallel's."""

    def __init__(self, path: Path, place: Place, run: FollowedRun, command: Callable[[int], str]) -> None:
        self._pods = EndedPods(place, run, self._pod)
        self._command, self._path = command, path
        self.problem = ""
        """Why lines are missing; empty if none are."""

    async def follow(self) -> None:
        """Writes a line for each pod that has ended, until cancelled."""
        await self._pods.follow()

    async def finish(self) -> None:
        """Adds the pods that ended last."""
        with contextlib.suppress(StatusError, Unreachable):
            await self._pods.finish()

    def _pod(self, pod: Obj, index: int) -> None:
        ended = pod_state.main_end(pod)
        begun, over = pod_state.main_times(pod)
        took = over - begun if begun and over else 0.0
        code, number = ended.get("exitCode", -1), ended.get("signal") or 0
        if not number and code > 128:
            number = code - 128  # the node tells a signal as a shell does
        line = (index + 1, platform.node(), f"{begun:.3f}", f"{took:10.3f}", 0, 0)
        end = (0 if number else code, number, self._command(index))
        text = "\t".join(map(str, (*line, *end))).replace("\n", " ") + "\n"
        try:
            with self._path.open("a", errors="surrogateescape") as file:
                file.write(text)
        except OSError as err:
            self.problem = f"--joblog {self._path}: {err.strerror}"


def begin_joblog(path: Path, *, resume: bool = False) -> None:
    """Makes a new file with the header; with `resume`, lines of earlier runs stay, as with GNU parallel.
    Raises Failure if it cannot be written."""
    try:
        with path.open("a" if resume else "w") as file:
            if file.tell() == 0:
                file.write(_JOBLOG_HEADER)
    except OSError as err:
        raise Failure(f"--joblog {path}: {err.strerror}", 2) from None
