"""The progress of a run, from the object's own status. Pure."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Final

from longshore.api import indexes
from longshore.api.types import Obj
from longshore.cli.showing import outcomes

_RATE_SECONDS: Final = 10.0
"""Seconds over which the rate is measured."""


@dataclass(slots=True)
class Failed:
    """A pod that failed, and its last lines."""

    pod: str
    index: int | None
    why: str
    exit_code: int | None = None
    item: str = ""
    """The item of the index, if the run has items."""
    lines: list[str] = field(default_factory=list)


@dataclass(slots=True)
class FollowedRun:
    """One object and its progress."""

    kind: str
    """`job`, `pod` or `vcjob`: the word before the slash."""
    group: str
    namespace: str
    name: str
    uid: str
    created: Obj = field(default_factory=dict)
    """The object as it was first read."""
    found: bool = False
    """Whether it existed before this command."""
    total: int | None = 1
    """Completions in all; None if only the pods themselves know when they are done."""
    parallelism: int = 1
    indexed: bool = False
    retries: int | None = None
    """Retries of each index; None if only the Job as a whole has a limit."""
    suspended: bool = False
    succeeded: int = 0
    failed: int = 0
    """Pods that failed, retries included."""
    active: int = 0
    lists: tuple[str, str] = ("", "")
    """Completed and failed indexes as texts of the status; parsed only on demand."""
    end: outcomes.End | None = None
    started: float = 0.0
    finished: float = 0.0
    items: list[str] = field(default_factory=list)
    """The item of each index; empty for a run without items."""
    waits: str = ""
    """Why it waits, while nothing moves."""
    warning: str = ""
    """The last warning about the run that does not keep it from running."""
    away: str = ""
    """The server that cannot be reached; empty while it is reachable."""
    stop_problem: str = ""
    """Why the run could not be stopped; empty if it was."""
    moved: tuple[int, int, int] = (0, 0, 0)
    """The numbers of succeeded, failed and running pods, as last seen."""
    failures: list[Failed] = field(default_factory=list)
    looked_at: int = 0
    """Failed pods that were read, stopped ones included."""
    _marks: deque[tuple[float, int]] = field(default_factory=lambda: deque(maxlen=256))

    @property
    def title(self) -> str:
        return f"{self.kind}/{self.name}"

    @property
    def done(self) -> indexes.Runs:
        return indexes.read(self.lists[0], self.total or 0)

    @property
    def lost(self) -> indexes.Runs:
        """The indexes that failed for good."""
        return indexes.read(self.lists[1], self.total or 0)

    @property
    def given_up(self) -> int:
        """The number of completions that will not happen."""
        return indexes.count(self.lost)

    @property
    def waiting(self) -> int:
        if self.total is None or self.end is not None:
            return 0
        return max(0, self.total - self.succeeded - self.given_up - self.active)

    def see(self, obj: Obj, now: float) -> None:
        """Updates the progress from the object's status."""
        spec, status = obj.get("spec") or {}, obj.get("status") or {}
        match self.kind:
            case "job":
                self._job(spec, status)
                running = status.get("ready", 0)
            case "vcjob":
                self.total = sum(task.get("replicas", 1) for task in spec.get("tasks") or ())
                self.active = running = status.get("running", 0)
                self.succeeded, self.failed = status.get("succeeded", 0), status.get("failed", 0)
            case _:
                phase = status.get("phase")
                self.active = running = int(phase == "Running")
                self.succeeded = int(phase == "Succeeded")
                self.failed = int(phase == "Failed")
        if not self._marks or self._marks[-1][1] != self.succeeded:
            self._marks.append((now, self.succeeded))
        if (moved := (self.succeeded, self.failed, running)) != self.moved:
            self.moved, self.waits = moved, ""
        if self.end is None and (end := outcomes.of(self.group, obj)) is not None:
            self.end, self.finished, self.active = end, now, 0

    def _job(self, spec: Obj, status: Obj) -> None:
        self.total, self.parallelism = spec.get("completions"), spec.get("parallelism", 1)
        self.indexed = spec.get("completionMode") == "Indexed"
        self.retries = spec.get("backoffLimitPerIndex")
        self.suspended = bool(spec.get("suspend"))
        self.succeeded, self.failed = status.get("succeeded", 0), status.get("failed", 0)
        self.active = status.get("active", 0)
        if self.indexed:
            self.lists = status.get("completedIndexes", ""), status.get("failedIndexes", "")

    def rate(self, now: float) -> float:
        """Completions per second over the last ten seconds."""
        if self.end is not None:
            return self.succeeded / max(0.001, self.finished - self.started)
        since, count = self.started, 0
        for at, before in self._marks:
            if at >= now - _RATE_SECONDS:
                break
            since, count = at, before
        return (self.succeeded - count) / max(0.001, now - since)

    def seconds_left(self, now: float) -> float | None:
        """Estimated seconds until the end; None while there is no estimate."""
        if self.total is None or self.end is not None or (speed := self.rate(now)) <= 0:
            return None
        return (self.total - self.succeeded - self.given_up) / speed

    def unfinished(self) -> list[int]:
        """Indexes that did not complete."""
        return [*indexes.missing(self.done, self.total or 0)]

    def item(self, index: int | None) -> str:
        """The item of an index; empty if the run has no items."""
        return self.items[index] if index is not None and index < len(self.items) else ""

    def under_way(self) -> list[int]:
        """The indexes that probably run now: a Job starts the lowest first."""
        if not self.indexed or not self.total:
            return []
        over = indexes.merge(self.done, self.lost)
        missing = indexes.missing(over, self.total)
        return [index for index, _ in zip(missing, range(self.active), strict=False)]
