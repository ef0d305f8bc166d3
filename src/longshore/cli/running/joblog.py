"""`--joblog FILE`: one line for each try that has ended, in the columns of GNU parallel's job log."""

from __future__ import annotations

import contextlib
import platform
from collections.abc import Callable
from pathlib import Path
from typing import Final

from longshore.api.errors import StatusError
from longshore.api.facts import pod_state
from longshore.api.time import rfc3339
from longshore.api.types import Obj
from longshore.cli.main import Failure
from longshore.cli.running.ended_pods import EndedPods
from longshore.cli.running.place import Place
from longshore.cli.running.progress import Run
from longshore.client import Unreachable

_HEADER: Final = "Seq\tHost\tStarttime\tJobRuntime\tSend\tReceive\tExitval\tSignal\tCommand\n"


class JobLog:
    """`command` gives the command of an index. Numbers begin with 1, as GNU parallel's do."""

    def __init__(self, path: Path, place: Place, run: Run, command: Callable[[int], str]) -> None:
        self._pods = EndedPods(place, run, self._pod)
        self._command, self._path = command, path
        self.problem = ""
        """Why lines are missing; empty while none are."""

    async def follow(self) -> None:
        """Writes a line for each pod that has ended, until cancelled."""
        await self._pods.follow()

    async def finish(self) -> None:
        """Adds those that ended last."""
        with contextlib.suppress(StatusError, Unreachable):
            await self._pods.finish()

    def _pod(self, pod: Obj, index: int) -> None:
        ended = pod_state.main_end(pod)
        begun = rfc3339.seconds(ended["startedAt"]) if ended.get("startedAt") else 0.0
        took = rfc3339.seconds(ended["finishedAt"]) - begun if begun and ended.get("finishedAt") else 0.0
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


def begin(path: Path, *, resume: bool = False) -> None:
    """Makes a new file with the header; with `resume`, lines of earlier runs stay, as with GNU parallel.
    Raises Failure where it cannot be written."""
    try:
        with path.open("a" if resume else "w") as file:
            if file.tell() == 0:
                file.write(_HEADER)
    except OSError as err:
        raise Failure(f"--joblog {path}: {err.strerror}", 2) from None
