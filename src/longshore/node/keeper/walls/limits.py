"""Keeping a container within its limits, behind one small protocol with two ways: cgroup v2 where a subtree
can be had (cgroups.py), else sampling (sampling.py). `choose` takes the better one that works here."""

from __future__ import annotations

from longshore.node.keeper.processes.procfs import Snapshot
from longshore.node.keeper.records.entry import Entry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    class Limiter(Protocol):
        name: str
        """The text of `Features.limits`."""
        notes: list[str]
        """The missing abilities, a sentence each."""

        def prepare(self, entry: Entry) -> int:
            """Before the start. The list of processes that the child writes itself into, to be closed, or -1.
            It is open before the child is where it may not be written."""

        def join(self, entry: Entry) -> int:
            """The list of processes, for a command run beside the container."""

        def started(self, entry: Entry) -> None:
            """Takes in a container that has a pid now, or was adopted with one."""

        def ended(self, entry: Entry) -> bool:
            """Drops a container that has ended. Returns whether it was killed for its memory."""

        def look(self, running: list[Entry]) -> float:
            """Called from time to time; returns in how many seconds again, 0 for never."""

        def usage(self, entry: Entry, snapshot: Snapshot) -> tuple[float, int] | None:
            """CPU seconds and bytes, if it knows better than /proc does."""


def choose() -> Limiter:
    from longshore.node.keeper.walls import cgroups, sampling

    base = cgroups.find_base()
    if base:
        return cgroups.Cgroups(base)
    return sampling.Sampling()
