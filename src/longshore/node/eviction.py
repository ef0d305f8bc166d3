"""Evicts pods that keep more on disk than they may: an emptyDir beyond its sizeLimit, a container or a pod
beyond its limit of ephemeral-storage. Pods with such limits are checked every ten seconds, as upstream does.

Files in emptyDirs on disk and in logs count; processes have no writable layer of their own.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from longshore.api import quantity
from longshore.api.pod_resources import pod_limits
from longshore.api.types import Obj
from longshore.machinery import file_trees
from longshore.machinery.in_thread import InThread
from longshore.machinery.time.clock import Clock
from longshore.node.pod.life import Life
from longshore.node.pod.memory import Verdict

CHECK_SECONDS: Final = 10.0
_STORAGE: Final = "ephemeral-storage"


class Budget(msgspec.Struct, frozen=True):
    """The limits of one pod's files, with the words for exceeding them."""

    volumes: tuple[tuple[str, Path, int, str], ...]
    """Name, place, bytes and text of the limit of each emptyDir that has one."""
    containers: tuple[tuple[str, int, str], ...]
    whole: tuple[int, str] | None
    """The limit of the whole pod, if every container has a limit."""
    directories: tuple[Path, ...]
    """All emptyDirs on disk."""
    logs: Path


def budget_of(spec: Obj, volumes: Mapping[str, Path], logs: Path) -> Budget | None:
    """The limits of a pod's files; None if it has none. `volumes` are the paths of its volumes by name."""
    limited, directories = [], []
    for volume in spec.get("volumes") or ():
        source = volume.get("emptyDir")
        if source is None or volume["name"] not in volumes:
            continue
        place = volumes[volume["name"]]
        if (source.get("medium") or "") == "":
            directories.append(place)
        if limit := source.get("sizeLimit"):
            limited.append((volume["name"], place, quantity.value(limit), limit))
    containers = []
    for container in spec["containers"]:
        limit = ((container.get("resources") or {}).get("limits") or {}).get(_STORAGE)
        if limit:
            containers.append((container["name"], quantity.value(limit), limit))
    if not limited and not containers:
        return None
    whole = None
    if containers and (total := pod_limits(spec).get(_STORAGE)):
        whole = (quantity.value(total), total)
    return Budget(tuple(limited), tuple(containers), whole, tuple(directories), logs)


def excess(budget: Budget) -> str:
    """The limit that the pod's files exceed, in upstream's words; empty if none. Reads the disk."""
    for name, place, most, shown in budget.volumes:
        if most and usage(place) > most:
            return f'Usage of EmptyDir volume "{name}" exceeds the limit "{shown}". '
    written = 0
    for name, most, shown in budget.containers:
        used = usage(budget.logs / name)
        written += used
        if used > most:
            return f'Container {name} exceeded its local ephemeral storage limit "{shown}". '
    if budget.whole is not None:
        most, shown = budget.whole
        if written + sum(usage(place) for place in budget.directories) > most:
            return f"Pod ephemeral local storage usage exceeds the total limit of containers {shown}. "
    return ""


def usage(top: Path) -> int:
    """Bytes on disk below a directory; what vanishes meanwhile counts nothing."""
    total = 0
    with suppress(OSError):  # a directory that vanished or moved; the next look is in ten seconds
        for directory in file_trees.deepest_first(top):
            for name in directory.files:
                with suppress(FileNotFoundError):
                    found = os.stat(name, dir_fd=directory.handle, follow_symlinks=False)
                    total += found.st_blocks * 512
    return total


def verdict(message: str) -> Verdict:
    condition = {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": "TerminationByKubelet",
        "message": message,
    }
    return Verdict("Evicted", message, grace=0.0, condition=condition)


class Evictions:
    """Checks the pods. Calls `evict` with the pod and the verdict."""

    def __init__(
        self, clock: Clock, logs: Path, evict: Callable[[Life, Verdict], None], in_thread: InThread
    ) -> None:
        self._clock, self._logs, self._evict, self._in_thread = clock, logs, evict, in_thread

    async def run(self, lives: Mapping[str, Life]) -> None:
        """Checks every ten seconds, until cancelled."""
        while True:
            await self._clock.sleep(CHECK_SECONDS)
            for life in [*lives.values()]:
                if budget := self._budget(life):
                    message = await self._in_thread(excess, budget)
                    if message and life.memory.verdict is None and not life.closed:
                        self._evict(life, verdict(message))

    def _budget(self, life: Life) -> Budget | None:
        memory = life.memory
        if not memory.prepared or memory.verdict is not None or life.closed:
            return None
        facts = memory.facts
        found = getattr(life.prepared, "volumes", None) or {}
        places = {name: Path(volume.path) for name, volume in found.items()}
        return budget_of(facts.spec, places, self._logs / f"{facts.namespace}_{facts.name}_{facts.uid}")
