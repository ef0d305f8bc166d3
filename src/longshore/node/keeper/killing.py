"""Ends every process of a container: its group, its session, its descendants, and orphans by their tag.

When a container is stopped, and with which signal: `node/pod/stopping.py`.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterable

from longshore.node.keeper import procfs
from longshore.node.keeper.container_records import ContainerRecord


def group(pid: int, number: int) -> None:
    try:
        os.killpg(pid, number)
    except (ProcessLookupError, PermissionError):
        return


def one(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, signal.SIGKILL)


def containers(entries: list[ContainerRecord], ours: set[int]) -> None:
    """Kills all processes of these containers, in rounds: the next one kills what was forked meanwhile."""
    for entry in entries:
        group(entry.pid, signal.SIGKILL)
        if entry.pid_namespace is not None and entry.pid_namespace.users == 1:
            one(entry.pid_namespace.first)  # the kernel then kills all in its PID namespace
    snapshot = procfs.ProcessSnapshot()
    for entry in entries:
        for pid in snapshot.members(
            entry.pid, entry.first if entry.pid_namespace and entry.pid_namespace.users == 1 else 0
        ):
            one(pid)
    tags = {entry.tag for entry in entries}
    for pid in snapshot.children(os.getpid()):
        if pid not in ours and procfs.tag_of(pid) in tags:
            one(pid)
    if any(entry.adopted for entry in entries):
        tagged({entry.tag for entry in entries if entry.adopted})


def orphans(ours: set[int], running: set[str]) -> None:
    """Kills adopted orphans of containers other than those `running`, by tag. An orphan without a tag cleared
    its environment; it is killed when no container runs, because its owner is unknown."""
    children = procfs.own_children()
    if children is not None and children <= ours:
        return  # as nearly always: no need to read all of /proc
    snapshot = procfs.ProcessSnapshot()
    for pid in snapshot.children(os.getpid()):
        if pid not in ours:
            tag = procfs.tag_of(pid)
            if tag not in running if tag else not running:
                for member in snapshot.members(pid):
                    one(member)


def tagged(tags: Iterable[str]) -> None:
    """Kills all processes with these tags, for containers whose orphans are not children of this keeper."""
    found = procfs.tagged()
    for tag in tags:
        for pid in found.get(tag, ()):
            one(pid)
