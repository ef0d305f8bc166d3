"""A story: lines with times, the present state, the next steps. Plain data, and how lines are combined."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec

from longshore.api import cron, indexes
from longshore.api.time import rfc3339
from longshore.api.types import Obj
from longshore.machinery.reasons import Number, Reason
from longshore.machinery.records import Record
from longshore.why.kinds import Kind

_GENERATED: Final = re.compile(r'("[a-z0-9.-]+)-[bcdfghjklmnpqrstvwxz2456789]{5}"')
_CONFLICT: Final = "the object has been modified"
_USE: Final = re.compile(r"used \S+ of memory, ")
START_SECONDS: Final = 10.0
"""Seconds that longshore's own node may take to start; waits for a node in that time are left out."""


class Line(msgspec.Struct):
    """One thing that happened. Times in its words are RFC 3339; they are shown in the reader's time zone."""

    at: float
    """Seconds since 1970."""
    words: str
    more: tuple[str, ...] = ()
    """Further lines below it, without a time."""
    code: str = ""
    numbers: Mapping[str, Number] = {}
    who: str = ""
    times: int = 1
    until: float = 0.0
    """The time of the last repetition, if there was one."""


class Story(msgspec.Struct):
    """The whole story of one object."""

    kind: Kind
    namespace: str
    name: str
    uid: str
    gone: bool
    lines: Sequence[Line]
    now: Sequence[str] = ()
    next: Sequence[str] = ()

    def document(self) -> dict[str, Any]:
        """The story as JSON for programs; `text.lines` turns it into text for people."""
        about: Obj = {"apiVersion": self.kind.api_version, "kind": self.kind.kind, "name": self.name}
        if self.namespace:
            about["namespace"] = self.namespace
        about |= {"uid": self.uid, "gone": self.gone}
        return {
            "about": about,
            "story": [_line(line) for line in self.lines],
            "now": list(self.now),
            "next": list(self.next),
        }


def _line(line: Line) -> Obj:
    made: Obj = {"at": rfc3339.from_seconds(line.at), "words": line.words}
    if line.more:
        made["more"] = list(line.more)
    if line.times > 1:
        made |= {"times": line.times, "until": rfc3339.from_seconds(line.until)}
    if line.code:
        made["code"] = line.code
    if line.numbers:
        made["numbers"] = dict(line.numbers)
    if line.who:
        made["who"] = line.who
    return made


class StoryView(msgspec.Struct, frozen=True):
    """Everything that `tell` reads."""

    kind: Kind
    namespace: str
    name: str
    now: float
    """Seconds since 1970."""
    obj: Obj | None = None
    """The object; None if it is gone."""
    records: Sequence[Record] = ()
    """The recorded reasons of objects of this name, oldest first."""
    events: Sequence[Obj] = ()
    pods: Sequence[Obj] = ()
    """The pods of a Job or a gang, oldest first."""
    pod_records: Sequence[Record] = ()
    """The recorded reasons of the pods that the records name."""
    jobs: Sequence[Obj] = ()
    """The Jobs of a CronJob or a JobFlow."""
    group: Obj | None = None
    """The PodGroup of a Volcano Job."""
    group_records: Sequence[Record] = ()
    waits: Sequence[Reason] = ()
    """The scheduler's present reasons, in numbers."""
    pod_events: Sequence[Obj] = ()
    """The events of some pods that have a node and have not started."""
    nodes: Sequence[Obj] = ()
    """All nodes, if a pod or a gang waits for one."""
    claims: Sequence[Obj] = ()
    """The claims of the namespace, if a pod that waits for a node uses any."""
    queue: Obj | None = None
    """The queue of a gang."""
    gangs: Sequence[Obj] = ()
    """The PodGroups of a queue."""
    failed_runs: Mapping[str, StoryView] = {}
    """The newest failed Jobs of a CronJob or a JobFlow, by name."""
    zone: cron.Zone = cron.UTC
    """The time zone of CronJobs that name none."""

    @property
    def meta(self) -> Obj:
        meta: Obj = self.obj["metadata"] if self.obj is not None else {}
        return meta

    @property
    def spec(self) -> Obj:
        spec: Obj = (self.obj or {}).get("spec") or {}
        return spec

    @property
    def status(self) -> Obj:
        status: Obj = (self.obj or {}).get("status") or {}
        return status

    @property
    def uid(self) -> str:
        """The uid of the object, or of the last object of this name."""
        return self.meta.get("uid") or (self.records[-1].uid if self.records else "")

    @property
    def own(self) -> list[Record]:
        """The records of this very object, not of an earlier object of the same name."""
        return [record for record in self.records if record.uid == self.uid]


def of_record(record: Record, words: str = "", more: tuple[str, ...] = ()) -> Line:
    """The line of a record, in `words` if given, else in the catalogue's."""
    return Line(record.at, words or record.then(), more, record.code, record.numbers, record.who)


def of_event(event: Obj, words: str = "") -> Line:
    """The line of an Event, which may have happened more than once."""
    first, last = event.get("firstTimestamp"), event.get("lastTimestamp")
    made = event.get("eventTime") or event["metadata"].get("creationTimestamp")
    at = rfc3339.seconds(first or made or last)
    times = event.get("count") or 1
    who = (event.get("source") or {}).get("component") or event.get("reportingComponent") or ""
    until = rfc3339.seconds(last) if last else at
    return Line(at, words or event.get("message") or "", (), event["reason"], {}, who, times, until)


def merged(lines: Iterable[Line], *, by_time: bool = True) -> list[Line]:
    """The lines in order of time (unless `by_time` is false), with equal consecutive lines folded."""
    found: list[Line] = []
    for line in sorted(lines, key=lambda line: line.at) if by_time else lines:
        last = found[-1] if found else None
        if last is not None and (last.words, last.more) == (line.words, line.more):
            last.times += line.times
            last.until = max(line.until, line.at)
        else:
            found.append(line)
    return found


def once(lines: Iterable[Line]) -> list[Line]:
    """The lines in order of time, without repetitions: controllers repeat reasons after a restart."""
    found: dict[tuple[str, tuple[str, ...]], Line] = {}
    for line in sorted(lines, key=lambda line: line.at):
        found.setdefault((line.words, line.more), line)
    return list(found.values())


class Created:
    """Assigns pods to creations, each pod to one of them. A creation takes up to a second."""

    def __init__(self, pods: Iterable[Obj]) -> None:
        self._times = [rfc3339.seconds(pod["metadata"]["creationTimestamp"]) for pod in pods]

    def at(self, at: float, most: int) -> int:
        """The number of pods that a creation of `most` pods resulted in."""
        found = [time for time in self._times if int(at) <= time <= at + 1][:most]
        for time in found:
            self._times.remove(time)
        return len(found)


# ---- words


def single(listed: str) -> list[int]:
    """The indexes of a list, one by one: `0-2,5` is 0, 1, 2, 5."""
    return [index for first, last in indexes.read(listed, 1 << 31) for index in range(first, last + 1)]


def without_use(words: str) -> str:
    """The words without the amount of memory used, which differs between ends."""
    return _USE.sub("", words)


def memory_limit(pod_spec: Obj, container: str) -> str:
    """The memory limit in words, `the limit is 64Mi`; empty for a container without one."""
    for each in (*(pod_spec.get("initContainers") or ()), *(pod_spec.get("containers") or ())):
        limit = ((each.get("resources") or {}).get("limits") or {}).get("memory")
        if each["name"] == container and limit:
            return f"the limit is {limit}"
    return ""


def could_not(record: Record) -> Line | None:
    """The line of a plan that failed; None for a conflict, which is retried at once."""
    if _CONFLICT in record.words:
        return None
    return of_record(record, f"could not go on: {problem(record.words)}")


def problem(words: str) -> str:
    """An error in words that are the same at each retry: without the random suffix of a pod's name."""
    return _GENERATED.sub(r'\1-…"', words)
