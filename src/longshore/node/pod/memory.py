"""The node's memory of one pod. `decide` reads it and never writes. All other events of a pod (a container
ended, a probe answered, its deletion is requested) are recorded here first.

Plain data, equal after conversion to JSON and back. Volumes, probes and timers under way are in `life.py`.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from longshore.api.types import Obj
from longshore.machinery.reasons import Reason
from longshore.node.pod.facts import ContainerFacts, Facts
from longshore.node.runtime import ContainerState


class Waiting(msgspec.Struct):
    """Why a container does not run."""

    reason: str
    message: str = ""


class Stopping(msgspec.Struct):
    """The stop of a container. Times are the monotonic clock's."""

    since: float
    grace: float
    """Seconds from `since` to SIGKILL."""
    given: float
    """The grace period that was last requested; a shorter one counts from its request."""
    hook: Literal["", "running", "done"] = ""
    """The progress of its preStop hook; empty before it begins."""
    asked: float | None = None
    """When it got the stop signal."""
    killed: float | None = None


class ContainerMemory(msgspec.Struct):
    """One container, through all its attempts."""

    facts: ContainerFacts
    attempt: int = 0
    """The attempt of the run in `state`, or of the next run if there is no state. It is the restart count."""
    state: ContainerState | None = None
    ended: Obj | None = None
    """`state.terminated` of the status, made once when the run ended."""
    last: Obj | None = None
    """`state.terminated` of the run before."""
    starting: bool = False
    """Whether the runtime was asked to start it and has not answered."""
    waiting: Waiting | None = None
    """Why the last start failed, or why the next one is delayed."""
    retry_at: float = 0.0
    """The moment before which it is not started again."""
    failures: int = 0
    """Tries in a row that did not get it started."""
    backoff: float = 0.0
    """The back-off after the last crash in seconds; 0 before the first."""
    backoff_set: float = 0.0
    """When `backoff` was set, in seconds since 1970."""
    hook: Literal["", "running", "done"] = ""
    """The progress of its postStart hook."""
    started: bool = False
    """Whether the container runs, its postStart hook is done and its startup probe has succeeded."""
    ready: bool = False
    stopping: Stopping | None = None
    doom: tuple[str, float] | None = None
    """The event's message and the grace period of a container that must stop while its pod continues."""
    probed: bool = False
    """Whether the container's probes run."""

    @property
    def running(self) -> bool:
        return self.state is not None and self.state.phase == "running"

    @property
    def over(self) -> bool:
        """Whether the last attempt has ended."""
        return self.state is not None and self.state.phase != "running"

    @property
    def code(self) -> int:
        return self.ended["exitCode"] if self.ended is not None else 0


class PodVerdict(msgspec.Struct, frozen=True):
    """The reason for which a pod fails, whatever its containers do."""

    reason: str
    message: str
    grace: float | None = None
    """The grace period of its containers; None for the pod's own."""
    condition: Obj | None = None
    """A condition that says why, e.g. DisruptionTarget."""


class PodMemory(msgspec.Struct):
    """One pod."""

    facts: Facts
    pod: Obj
    """The pod as last seen."""
    ip: str
    inits: list[ContainerMemory] = msgspec.field(default_factory=list)
    mains: list[ContainerMemory] = msgspec.field(default_factory=list)
    ephemerals: list[ContainerMemory] = msgspec.field(default_factory=list)
    start_time: str = ""
    started_at: float = 0.0
    """The start time in seconds since 1970. It has a fraction in the process that started the pod, so that a
    deadline of one second lasts a whole second."""
    rejected: bool = False
    """Whether the node refused the pod; nothing of it ever ran."""
    verdict: PodVerdict | None = None
    prepared: bool = False
    """Whether the preparer has made what the pod needs."""
    preparing: bool = False
    unprepared: Waiting | None = None
    """Why the pod could not be prepared."""
    retry_at: float = 0.0
    failures: int = 0
    unstartable_since: float | None = None
    never_starts: bool = False
    """Whether trying again cannot help: see `CannotPrepare.for_good`."""
    deleting: float | None = None
    """The moment its deletion was requested."""
    delete_grace: float = 0.0
    stopping_since: float | None = None
    """When the whole pod began to stop."""
    gone: bool = False
    """Whether the API has deleted the pod."""
    leaving: bool = False
    """Whether the node is stopping, so that nothing is started."""
    initialized: bool = False
    """Whether the main containers have been started once; init containers do not run again."""
    terminal: str = ""
    """Succeeded or Failed, once it is in the API. It never changes."""
    news: list[Reason] = msgspec.field(default_factory=list)
    """Ends of containers for which the next sync records reasons."""

    @property
    def busy(self) -> bool:
        """Whether the preparer or the runtime was asked for something and has not answered."""
        return (
            self.preparing
            or any(r.starting for r in self.mains)
            or any(r.starting for r in self.inits)
            or any(r.starting for r in self.ephemerals)
        )

    @property
    def unwanted(self) -> bool:
        """Whether nothing of it is to be started any more, whatever its containers do."""
        return bool(
            self.gone
            or self.deleting is not None
            or self.terminal
            or self.verdict
            or self.rejected
            or self.leaving
        )

    def records(self) -> list[ContainerMemory]:
        return self.inits + self.mains + self.ephemerals if self.inits or self.ephemerals else self.mains

    def see(self, facts: Facts) -> None:
        """Takes over a changed spec: another deadline, or more ephemeral containers."""
        known = {record.facts.name for record in self.ephemerals}
        self.facts = facts
        self.ephemerals += [ContainerMemory(c) for c in facts.ephemerals if c.name not in known]


class PodView(msgspec.Struct):
    """The input of `decide`: the memory of a pod, and the time. A view is never changed.

    It is not `frozen`: every sync of a pod makes one, and a frozen one takes ten times as long."""

    memory: PodMemory
    now: float
    """The time by the monotonic clock, which stops and retries use."""
    wall: float
    """Seconds since 1970."""
