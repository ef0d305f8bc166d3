"""Limits without cgroups: memory is looked at many times a second, and a container above its limit is killed.

A program that grows faster than that is met by a generous limit on its data (RLIMIT_DATA), which no sane
program of that size reaches. Pages that processes share after a fork are counted once: when the quick sum is
too large, the exact one decides. CPU limits are not kept: nothing but cgroups can.
"""

from __future__ import annotations

import contextlib
import resource
import signal
import time
from collections.abc import Iterable

from longshore.node.keeper.processes import killing, procfs
from longshore.node.keeper.processes.procfs import Snapshot
from longshore.node.keeper.records.entry import Entry

_INTERVAL_SECONDS = 0.1  # seconds between looks
_SHARE = 20  # a look may take one part in this many of the time
_GUARD_FACTOR, _GUARD_MORE = 4, 1 << 30


class Sampling:
    name = "rlimits and sampling"

    def __init__(self) -> None:
        self.notes = [
            "CPU limits are not enforced: no writable cgroup v2 subtree was found.",
            "Memory limits are enforced by looking ten times a second.",
        ]

    def prepare(self, entry: Entry) -> int:
        return -1

    def join(self, entry: Entry) -> int:
        return -1

    def started(self, entry: Entry) -> None:
        if entry.memory:
            guard = entry.memory * _GUARD_FACTOR + _GUARD_MORE
            with contextlib.suppress(OSError, ValueError):  # it may have ended, or have a lower limit already
                resource.prlimit(entry.pid, resource.RLIMIT_DATA, (guard, guard))

    def ended(self, entry: Entry) -> bool:
        return entry.oom

    def look(self, running: list[Entry]) -> float:
        limited = [entry for entry in running if entry.memory]
        if not limited:
            return 0
        began = time.thread_time()
        snapshot = Snapshot()
        for entry in limited:
            members = snapshot.members(entry.pid, entry.first)
            if _quick(members) > entry.memory and _exact(members) > entry.memory:
                entry.oom = True
                killing.group(entry.pid, signal.SIGKILL)
                for pid in members:
                    killing.one(pid)
        return max(_INTERVAL_SECONDS, (time.thread_time() - began) * _SHARE)

    def usage(self, entry: Entry, snapshot: Snapshot) -> tuple[float, int] | None:
        return None


def measure(entry: Entry, snapshot: Snapshot) -> tuple[float, int]:
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
    """The memory with shared pages divided among those who share them."""
    total = 0
    for pid in pids:
        for line in procfs.read(f"/proc/{pid}/smaps_rollup").splitlines():
            if line.startswith((b"Pss_Anon:", b"Pss_Shmem:")):
                total += int(line.split()[1]) * 1024
    return total
