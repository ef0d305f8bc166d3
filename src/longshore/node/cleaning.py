"""Removes what pods leave behind: the runtime's records once a final status is in the API, volumes and logs
once the pod is not in it any more. In batches, since a Job ends thousands of pods a minute.
"""

from __future__ import annotations

import logging
import os
import shutil
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from longshore.api.types import Obj
from longshore.machinery.in_thread import InThread
from longshore.machinery.time.clock import Clock, Timer
from longshore.node import archive
from longshore.node.archive import Archive
from longshore.node.disk_pressure import DiskPressure
from longshore.node.pod.life import Life
from longshore.node.preparing.types import NotReady, Preparation
from longshore.node.runtime import FilePath, Key, Runtime

BATCH_SECONDS: Final = 0.25
FOLLOW_SECONDS: Final = 10.0
"""How often files that follow other objects are brought up to date."""

log = logging.getLogger(__name__)


class Cleaner:
    def __init__(
        self,
        preparer: Preparation,
        logs: Path,
        clock: Clock,
        disk: DiskPressure,
        *,
        spawn: Callable[[Coroutine[Any, Any, None]], None],
        in_thread: InThread,
        kept_in: Archive | None = None,
    ) -> None:
        self._archive, self._in_thread, self._disk = kept_in, in_thread, disk
        self._preparer, self._logs, self._clock, self._spawn = preparer, logs, clock, spawn
        self._keys: dict[str, tuple[Runtime, list[Key]]] = {}
        self._uids: list[str] = []
        self._gone: list[tuple[Obj, str]] = []
        self._timer: Timer | None = None

    def keys(self, runtime: Runtime, keys: Iterable[Key]) -> None:
        """The runtime removes the records of these containers with the next batch."""
        self._note(runtime, keys)
        self._arm()

    def _note(self, runtime: Runtime, keys: Iterable[Key]) -> None:
        self._keys.setdefault(runtime.name, (runtime, []))[1].extend(keys)

    def stopped(self, uid: str) -> None:
        """Releases what the pod held only while it ran, so that another pod may have it."""
        self._preparer.stopped(uid)

    def gone(self, uid: str) -> None:
        """Removes the pod's volumes, with the next batch."""
        self._uids.append(uid)
        self._arm()

    def pod_gone(self, pod: Obj) -> None:
        """Removes the pod's volumes and logs, or archives the logs if it failed and the disk has room."""
        meta = pod["metadata"]
        self._gone.append((pod, f"{self._logs}/{meta['namespace']}_{meta['name']}_{meta['uid']}"))
        self.gone(meta["uid"])

    def _arm(self) -> None:
        if self._timer is None:
            self._timer = self._clock.call_later(BATCH_SECONDS, self._ring)

    def _ring(self) -> None:
        self._timer = None
        self._spawn(self._clean())

    async def _clean(self) -> None:
        keys, self._keys = self._keys, {}
        uids, self._uids = self._uids, []
        gone, self._gone = self._gone, []
        for runtime, forgotten in keys.values():
            try:
                await runtime.remove(forgotten)
            except Exception:  # an unavailable runtime is asked again with the next batch
                log.exception("ended containers of runtime %s could not be removed", runtime.name)
                self._note(runtime, forgotten)
        for uid in uids:
            try:
                await self._preparer.remove(uid)
            except Exception:  # other pods' volumes must be removed all the same
                log.exception("the volumes of pod %s could not be removed", uid)
        if (
            self._archive is not None
            and not self._disk.is_on
            and (kept := [each for each in gone if archive.failed(each[0])])
        ):
            at = self._clock.now().timestamp()
            await self._in_thread(_keep, self._archive, kept, at)
        if there := _existing(gone):
            await self._in_thread(_remove, there)

    async def remove_strangers(self, present: set[str]) -> None:
        """Removes the remains of pods that are not in the API any more, from an earlier run."""
        for uid in await self._preparer.known() - present:
            self.gone(uid)
        if strangers := _strange_logs(self._logs, present):
            await self._in_thread(_remove, strangers)

    async def run(self, lives: Mapping[str, Life]) -> None:
        """Keeps files that follow ConfigMaps, Secrets and the pod itself current, until cancelled."""
        while True:
            await self._clock.sleep(FOLLOW_SECONDS)
            for life in list(lives.values()):
                prepared = life.prepared
                if prepared is not None and prepared.follows and not life.closed:
                    try:
                        await self._preparer.refresh(prepared, life.memory.pod)
                    except NotReady as err:
                        log.debug("pod %s: %s", life.memory.facts.title, err)
                    except Exception:  # the other pods' files must be renewed
                        log.exception("the volumes of pod %s could not be renewed", life.memory.facts.title)


def _keep(kept_in: Archive, gone: list[tuple[Obj, str]], at: float) -> None:
    for pod, directory in gone:
        kept_in.keep(pod, Path(directory), at)


def _existing(gone: list[tuple[Obj, str]]) -> list[str]:
    """The directories that are there. `Path.exists` raises for a name too long for a file."""
    return [directory for _, directory in gone if os.path.exists(directory)]


def _remove(directories: Sequence[FilePath]) -> None:
    for directory in directories:
        shutil.rmtree(directory, ignore_errors=True)


def _strange_logs(logs: Path, present: set[str]) -> list[Path]:
    try:
        names = os.listdir(logs)
    except FileNotFoundError:
        return []
    return [logs / n for n in names if n.count("_") == 2 and n.rpartition("_")[2] not in present]
