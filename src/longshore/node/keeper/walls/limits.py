"""Keeps a container within its limits, behind one small protocol: cgroup v2 where the keeper can have a
subtree (cgroups.py), else `Sampling`. `choose` takes the better one that works here.

Sampling looks at /proc several times a second and kills a container whose processes together use more memory
than its limit. Pages that processes share after a fork count once: when the quick sum is too large, the exact
one decides. RLIMIT_DATA, set far above the limit, stops a program that grows faster than it is sampled. CPU
limits are not enforced: only cgroups can.
"""

from __future__ import annotations

import contextlib
import resource
import signal
import time
from collections.abc import Iterable

from longshore.node.keeper import killing, procfs
from longshore.node.keeper.container_records import ContainerRecord
from longshore.node.keeper.procfs import ProcessSnapshot

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Protocol

    class Limiter(Protocol):
        name: str
        """The text of `Features.limits`."""
        notes: list[str]
        """The missing abilities, a sentence each."""

        def prepare(self, entry: ContainerRecord) -> int:
            """Prepares the start. Returns the open cgroup.procs that the child joins, to be closed, or -1. It
            is opened here because the child may not be able to."""

        def join(self, entry: ContainerRecord) -> int:
            """The open cgroup.procs for an exec in the container, or -1."""

        def started(self, entry: ContainerRecord) -> None:
            """Takes in a container that has a pid now, or was adopted with one."""

        def ended(self, entry: ContainerRecord) -> bool:
            """Drops a container that has ended. Returns whether it was killed for its memory."""

        def look(self, running: list[ContainerRecord]) -> float:
            """Called from time to time; returns in how many seconds again, 0 for never."""

        def usage(self, entry: ContainerRecord, snapshot: ProcessSnapshot) -> tuple[float, int] | None:
            """CPU seconds and bytes of memory; None if /proc must be read instead."""


def choose() -> Limiter:
    from longshore.node.keeper.walls import cgroups

    base = cgroups.find_base()
    if base:
        return cgroups.Cgroups(base)
    return Sampling()


def overuse(entry: ContainerRecord) -> str:
    """The memory use and the limit of a container that was killed for its memory, in words."""
    return f"used {_amount(entry.oom)} of memory, the limit is {_amount(entry.memory)}"


def _amount(size: int) -> str:
    """`64Mi`, `512Ki`; rounded up, so that a use above a limit does not look equal to it."""
    unit, name = (1 << 20, "Mi") if size >= 10 << 20 else (1 << 10, "Ki")
    return f"{-(-size // unit)}{name}"


_INTERVAL_SECONDS = 0.1  # seconds between looks
_REST_FACTOR = 20  # sampling may take at most 1/N of the time
_GUARD_FACTOR, _GUARD_BYTES = 4, 1 << 30


class Sampling:
    name = "rlimits and sampling"

    def __init__(self) -> None:
        self.notes = [
            "CPU limits are not enforced: no writable cgroup v2 subtree was found.",
            "Memory limits are enforced by looking ten times a second.",
            "Files in memory (/dev/shm, memfd, emptyDirs of medium Memory) count while they are mapped.",
        ]

    def prepare(self, entry: ContainerRecord) -> int:
        return -1

    def join(self, entry: ContainerRecord) -> int:
        return -1

    def started(self, entry: ContainerRecord) -> None:
        if entry.memory:
            guard = entry.memory * _GUARD_FACTOR + _GUARD_BYTES
            with contextlib.suppress(OSError, ValueError):  # it has ended, or has a lower limit already
                resource.prlimit(entry.pid, resource.RLIMIT_DATA, (guard, guard))

    def ended(self, entry: ContainerRecord) -> bool:
        return bool(entry.oom)

    def look(self, running: list[ContainerRecord]) -> float:
        limited = [entry for entry in running if entry.memory]
        if not limited:
            return 0
        began = time.thread_time()
        snapshot = ProcessSnapshot()
        for entry in limited:
            members = snapshot.members(entry.pid, entry.first)
            if _quick(members) > entry.memory and (used := _exact(members)) > entry.memory:
                entry.oom = used
                killing.group(entry.pid, signal.SIGKILL)
                for pid in members:
                    killing.one(pid)
        return max(_INTERVAL_SECONDS, (time.thread_time() - began) * _REST_FACTOR)

    def usage(self, entry: ContainerRecord, snapshot: ProcessSnapshot) -> tuple[float, int] | None:
        return None


def measure(entry: ContainerRecord, snapshot: ProcessSnapshot) -> tuple[float, int]:
    """CPU seconds with children that have ended, and memory, as /proc has them."""
    members = snapshot.members(entry.pid, entry.first)
    ticks = sum(sum(map(int, snapshot.fields[pid][11:15])) for pid in members if pid in snapshot.fields)
    return ticks / procfs.TICKS, _quick(members)


def _quick(pids: Iterable[int]) -> int:
    """Resident pages that belong to no file. Shared ones count for each process."""
    total = 0
    for pid in pids:
        fields = procfs.read(f"/proc/{pid}/statm").split()
        if fields:
            total += int(fields[1]) - int(fields[2])
    return total * procfs.PAGE


def _exact(pids: Iterable[int]) -> int:
    """The memory, with shared pages divided among the processes that share them."""
    total = 0
    for pid in pids:
        for line in procfs.read(f"/proc/{pid}/smaps_rollup").splitlines():
            if line.startswith((b"Pss_Anon:", b"Pss_Shmem:")):
                total += int(line.split()[1]) * 1024
    return total
