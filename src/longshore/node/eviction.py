"""Evicts pods that keep more on disk than they may: an emptyDir beyond its sizeLimit, a container or a pod
beyond its limit of ephemeral-storage. Pods with such limits are checked every ten seconds, as upstream does.

Files in emptyDirs on disk, in logs and in a container's own /tmp count; processes have no other writable
layer of their own. An emptyDir in memory always has a limit: the memory that the pod may have, else half of
the node's.
"""

from __future__ import annotations

import os
from collections import Counter
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
from longshore.node.pod.memory import PodVerdict

CHECK_SECONDS: Final = 10.0
_MEMORY: Final = "memory"
_STORAGE: Final = "ephemeral-storage"


class Budget(msgspec.Struct, frozen=True):
    """The limits of one pod's files, with the words for exceeding them."""

    volumes: tuple[tuple[str, Path, int, str], ...]
    """Name, place, bytes and text of the limit of each emptyDir that has one."""
    containers: tuple[tuple[str, int, str], ...]
    whole: tuple[int, str] | None
    """The limit of the whole pod: those of its containers together."""
    directories: tuple[Path, ...]
    """All emptyDirs on disk."""
    logs: Path


def budget_of(spec: Obj, volumes: Mapping[str, Path], logs: Path, memory: int) -> Budget | None:
    """The limits of a pod's files; None if it has none. `volumes` are the paths of its volumes by name, and
    `memory` the bytes that the node has."""
    limited, directories = [], []
    for volume in spec.get("volumes") or ():
        source = volume.get("emptyDir")
        if source is None or volume["name"] not in volumes:
            continue
        place = volumes[volume["name"]]
        limits = [limit] if (limit := source.get("sizeLimit")) else []
        if source.get("medium"):
            limits.append(_memory_limit(spec) or quantity.canonical(f"{memory // 2048}Ki"))
        else:
            directories.append(place)
        if limits:
            least = min(limits, key=quantity.value)
            limited.append((volume["name"], place, quantity.value(least), least))
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


def _memory_limit(spec: Obj) -> str:
    """The memory that the pod may have; empty if one of its containers has no limit."""
    total = pod_limits(spec).get(_MEMORY, "")
    if ((spec.get("resources") or {}).get("limits") or {}).get(_MEMORY):
        return total
    every = all(
        ((container.get("resources") or {}).get("limits") or {}).get(_MEMORY)
        for container in (*spec["containers"], *(spec.get("initContainers") or ()))
    )
    return total if every else ""


def excess(budget: Budget, tmps: Mapping[str, Path]) -> str:
    """The limit that the pod's files exceed, in upstream's words; empty if none. Reads the disk. `tmps` are
    the directories that containers have as their /tmp; those with one PID namespace share it."""
    for name, place, most, shown in budget.volumes:
        if most and usage(place) > most:
            return f'Usage of EmptyDir volume "{name}" exceeds the limit "{shown}". '
    written = {place: usage(place) for place in {*tmps.values()}} if budget.containers else {}
    shared = Counter(tmps.values())
    for name, most, shown in budget.containers:
        used = usage(budget.logs / name)
        if (own := tmps.get(name)) is not None and shared[own] == 1:
            used += written[own]
        if used > most:
            return f'Container {name} exceeded its local ephemeral storage limit "{shown}". '
    if budget.whole is not None:
        most, shown = budget.whole
        volumes = sum(usage(place) for place in budget.directories)
        if usage(budget.logs) + sum(written.values()) + volumes > most:
            return f"Pod ephemeral local storage usage exceeds the total limit of containers {shown}. "
    return ""


def usage(top: Path) -> int:
    """Bytes on disk below a directory; files that vanish meanwhile count nothing."""
    total = 0
    with suppress(OSError):  # a directory that vanished or moved; the next look is in ten seconds
        for directory in file_trees.deepest_first(top):
            for name in directory.files:
                with suppress(FileNotFoundError):
                    found = os.stat(name, dir_fd=directory.handle, follow_symlinks=False)
                    total += found.st_blocks * 512
    return total


def own_tmp(root: Path, pid: int) -> Path | None:
    """The directory that a container has as its /tmp, by the pid of its process; None if it has none of its
    own. `root` is the node's directory, where each keeper has a directory."""
    sources, covered = {}, set()
    with suppress(OSError):  # it has ended
        for line in Path(f"/proc/{pid}/mountinfo").read_text(errors="surrogateescape").splitlines():
            mount, parent, _, source, target, _ = line.split(" ", 5)
            if target == "/tmp":
                sources[mount] = source
                covered.add(parent)
    seen = next((source for mount, source in sources.items() if mount not in covered), "")
    *_, keeper, kind, first = ("", "", *seen.split("/"))
    if not keeper.startswith("keeper") or kind != "tmp" or not first.isdigit():
        return None
    return root / keeper / kind / first


def verdict(message: str) -> PodVerdict:
    condition = {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": "TerminationByKubelet",
        "message": message,
    }
    return PodVerdict("Evicted", message, grace=0.0, condition=condition)


class Evictions:
    """Checks the pods. Calls `evict` with the pod and the verdict."""

    def __init__(
        self,
        clock: Clock,
        root: Path,
        evict: Callable[[Life, PodVerdict], None],
        in_thread: InThread,
        *,
        memory: int,
    ) -> None:
        """`root` is the node's directory, and `memory` the bytes that the node has."""
        self._clock, self._root, self._evict, self._in_thread = clock, root, evict, in_thread
        self._memory = memory

    async def run(self, lives: Mapping[str, Life]) -> None:
        """Checks every ten seconds, until cancelled."""
        while True:
            await self._clock.sleep(CHECK_SECONDS)
            for life in [*lives.values()]:
                if budget := self._budget(life):
                    message = await self._in_thread(self._look, budget, _running(life))
                    if message and life.memory.verdict is None and not life.closed:
                        self._evict(life, verdict(message))

    def _look(self, budget: Budget, running: Mapping[str, int]) -> str:
        """Reads the disk, and /proc for pods with limits of ephemeral-storage."""
        found = {name: own_tmp(self._root, pid) for name, pid in running.items() if budget.containers}
        return excess(budget, {name: place for name, place in found.items() if place is not None})

    def _budget(self, life: Life) -> Budget | None:
        memory = life.memory
        if not memory.prepared or memory.verdict is not None or life.closed:
            return None
        facts = memory.facts
        found = life.prepared.volumes if life.prepared is not None else {}
        places = {name: Path(volume.path) for name, volume in found.items()}
        logs = self._root / "logs" / f"{facts.namespace}_{facts.name}_{facts.uid}"
        return budget_of(facts.spec, places, logs, self._memory)


def _running(life: Life) -> dict[str, int]:
    """The pids of the pod's containers that run."""
    states = {record.facts.name: record.state for record in life.memory.records()}
    return {name: state.pid for name, state in states.items() if state is not None and state.pid}
