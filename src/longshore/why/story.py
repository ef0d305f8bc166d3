"""A story: lines with times, what is so now, and what is next. Plain data, and how lines are put together."""

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
_MAX_QUOTED: Final = 100
"""Characters of a quotation."""
_NUMBERS: Final = ("no", "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth")


class Line(msgspec.Struct):
    """One thing that happened. Times in its words are RFC 3339, and shown in the reader's zone."""

    at: float
    """Seconds since 1970."""
    words: str
    more: tuple[str, ...] = ()
    """Lines below, without a time of their own."""
    code: str = ""
    numbers: Mapping[str, Number] = {}
    who: str = ""
    times: int = 1
    until: float = 0.0
    """When it happened last, if more than once."""


class Story(msgspec.Struct):
    """All that is told of one object."""

    kind: Kind
    namespace: str
    name: str
    uid: str
    gone: bool
    lines: Sequence[Line]
    now: Sequence[str] = ()
    next: Sequence[str] = ()

    def document(self) -> dict[str, Any]:
        """The story for programs, as JSON; `text.lines` makes the text for people of it."""
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


class View(msgspec.Struct, frozen=True):
    """All that `tell` may know."""

    kind: Kind
    namespace: str
    name: str
    now: float
    """Seconds since 1970."""
    obj: Obj | None = None
    """The object; None when it is gone."""
    records: Sequence[Record] = ()
    """The reasons that were kept for objects of this name, oldest first."""
    events: Sequence[Obj] = ()
    pods: Sequence[Obj] = ()
    """The pods of a Job or a gang, by creation."""
    pod_records: Sequence[Record] = ()
    """The reasons that were kept for pods that the records name."""
    jobs: Sequence[Obj] = ()
    """The Jobs of a CronJob or a JobFlow."""
    group: Obj | None = None
    """The PodGroup of a Volcano Job."""
    group_records: Sequence[Record] = ()
    waits: Sequence[Reason] = ()
    """The scheduler's reasons right now, in numbers."""
    zone: cron.Zone = cron.UTC
    """The zone of CronJobs that name none."""

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
        """Of the object, or of the last one of this name."""
        return self.meta.get("uid") or (self.records[-1].uid if self.records else "")

    @property
    def own(self) -> list[Record]:
        """The records of this very object, not of an earlier one of the same name."""
        return [record for record in self.records if record.uid == self.uid]


def of_record(record: Record, words: str = "", more: tuple[str, ...] = ()) -> Line:
    """The line of a record, in other words if there are any."""
    return Line(record.at, words or record.words, more, record.code, record.numbers, record.who)


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
    """In order of time, if they are not yet; lines in a row that say the same are one."""
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
    """In order of time; a line that was said before is left out. For what a restart says again."""
    found: dict[tuple[str, tuple[str, ...]], Line] = {}
    for line in sorted(lines, key=lambda line: line.at):
        found.setdefault((line.words, line.more), line)
    return list(found.values())


# ---- words


def counted(many: int, noun: str) -> str:
    """`1 pod`, `3 pods`, `2 indexes`."""
    if many == 1:
        return f"1 {noun}"
    return f"{many} {noun}es" if noun.endswith("x") else f"{many} {noun}s"


def ordinal(number: int) -> str:
    """`first`, `second`, `12th`."""
    if number < len(_NUMBERS):
        return _NUMBERS[number]
    suffix = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{suffix}"


def ranges(listed: str) -> str:
    """Indexes as people write them: `0-2,5` becomes `0–2, 5`."""
    return ", ".join(part.replace("-", "–") for part in listed.split(","))


def single(listed: str) -> list[int]:
    """The indexes of a list, one by one: `0-2,5` is 0, 1, 2, 5."""
    return [index for first, last in indexes.read(listed, 1 << 31) for index in range(first, last + 1)]


def quoted(text: str) -> str:
    """The last line of a text, in quotes; empty for none."""
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
    if not lines:
        return ""
    last = lines[-1]
    return f'"{last if len(last) <= _MAX_QUOTED else last[: _MAX_QUOTED - 1] + "…"}"'


def problem(words: str) -> str:
    """An error in words that stay the same from try to try: without the random end of a pod's name."""
    return _GENERATED.sub(r'\1-…"', words)


def stamp(seconds: float) -> str:
    """A time in words, which the text shows in the reader's zone."""
    return rfc3339.from_seconds(seconds)


def span(seconds: float) -> str:
    """`10 s`, `5 min`, `2 h`, `1.5 h`."""
    for unit, size in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * size or seconds == size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.3g} s"
