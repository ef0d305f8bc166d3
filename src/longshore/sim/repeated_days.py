"""Leaves out days of CronJobs that repeat the day before: a shortcut, and only of simulations.

The next day repeats a day on three conditions: the objects at its begin and end are the same except for
times, uids and generated names; it was like the day before; and no run of a pod was drawn by dice. The lines
of the next day are then copied, and the control plane does not play it. If CronJobs name weekdays, a week
takes the place of a day.

One day in twenty is played and compared. If it differs (`Differs`), the whole simulation is played again
without this shortcut.

Refuses other work than CronJobs, days of the month, rules by dice or by functions, node troubles, runs longer
than a day, and time zones whose clocks change meanwhile.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import fields
from datetime import datetime, timedelta
from fnmatch import fnmatchcase
from typing import Any, Final, NamedTuple, TypeVar

from longshore.api import cron
from longshore.api.identifiers import SUFFIX_BITS, suffix_from_bits
from longshore.api.types import Obj
from longshore.scripts.pod_rules import Rule, Scripts
from longshore.scripts.runs import Chance, Run
from longshore.sim.chronicle import Chronicle, PodLine, WorkLine, later_run
from longshore.sim.settings import DAY_SECONDS, SimSettings
from longshore.store import Store
from longshore.testing.troubles import NO_TROUBLES

_KINDS: Final = {
    ("batch/v1", "CronJob"), ("scheduling.k8s.io/v1", "PriorityClass"), ("v1", "ConfigMap"),
    ("v1", "LimitRange"), ("v1", "Namespace"), ("v1", "Node"), ("v1", "ResourceQuota"), ("v1", "Secret"),
    ("v1", "ServiceAccount"),
}  # fmt: skip
"""CronJobs, and kinds that only CronJobs change."""
_ALL_DAYS, _ALL_MONTHS, _ALL_WEEKDAYS = 2**32 - 2, 2**13 - 2, 2**7 - 1
"""The bits of a schedule for every day of the month, every month, every weekday."""
_PHASE_SECONDS: Final = 31.4
"""Seconds from the start to the first comparison, at a moment when nothing is due."""
_MAX_LEFT_OUT: Final = 19
_TIMES: Final = ("created", "scheduled", "bound", "started", "ended")
_MADE: Final = frozenset(("namespace", "name", "called", "owner", "created", "scheduled", "pods"))
"""Fields of a line that are set only when the line is made."""
_IGNORED: Final = frozenset(("resourceVersion", "podIP", "podIPs"))
"""Fields without effect on what happens later: addresses are made from uids."""
_MINUTE: Final = re.compile(r"(?<=-)\d{8,10}(?![\w.])")
"""The minute since 1970 in the name of a CronJob's Job."""
_IS_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:Z|[-+]\d\d:\d\d)").fullmatch
_LOCAL_LENGTH: Final = len("2006-01-02T15:04:05")
_PODS: Final = "pods"
_JOBS: Final = "batch/jobs"
_LINE = TypeVar("_LINE", PodLine, WorkLine)
_Place = tuple[str, str, str]
"""Storage, namespace and name of an object."""


class Differs(Exception):
    """A day that was left out would not have been like the one before. Simulate without this shortcut."""


class NotedDice(random.Random):
    """Dice that note what was drawn, so that the draws of a day that is left out can be made in one go."""

    def __init__(self, seed: int) -> None:
        self.drawn: list[tuple[int, int]] = []
        """Number of bits, 0 for a `random()`, and the value drawn."""
        super().__init__(seed)

    def getrandbits(self, k: int, /) -> int:
        value = super().getrandbits(k)
        self.drawn.append((k, value))
        return value

    def random(self) -> float:
        self.drawn.append((0, 0))
        return super().random()

    def draw_again(self, drawn: Sequence[tuple[int, int]]) -> list[str]:
        """Draws as often as in `drawn`; returns the suffixes of names that this makes."""
        suffixes: list[str] = []
        for bits, _ in drawn:
            value = super().getrandbits(bits) if bits else super().random()
            if bits == SUFFIX_BITS:
                suffixes.append(suffix_from_bits(int(value)))
        return suffixes


class RepeatedDays:
    """Call `reached` whenever `left` seconds have passed. The dice of `scripts` are other ones than
    `dice`."""

    def __init__(
        self, settings: SimSettings, store: Store, chronicle: Chronicle, dice: NotedDice, scripts: Scripts
    ) -> None:
        self._store, self._chronicle, self._scripts = store, chronicle, scripts
        self._dice, self._period = dice, period_of(settings)
        self._next = chronicle.now() + _PHASE_SECONDS
        self._outcomes = scripts.rng.getstate()
        self._last: _Moment | None = None
        self._day: _Day | None = None
        """The last day that was played; with `_is_repeated`, days after it were left out."""
        self._is_repeated = False

    @property
    def left(self) -> float:
        """Seconds until the next comparison."""
        return self._next - self._chronicle.now() if self._period else DAY_SECONDS

    def reached(self, end: float) -> None:
        """Compares the objects with those of the last comparison; if they are the same, leaves out days
        before `end`."""
        if not self._period or self._chronicle.now() < self._next:
            return
        now, drawn, self._dice.drawn = self._moment(), self._dice.drawn, []
        last, self._last = self._last, now
        day = _day(last, now, drawn) if last is not None else None
        before, self._day = self._day, day
        if self._scripts.rng.getstate() != self._outcomes:
            self._period = 0.0  # dice decide how pods run
        elif last and day and before and _are_alike(before, day) and _is_same(last, now, self._period):
            days = min(int((end - now.at) // self._period), _MAX_LEFT_OUT)
            if days:
                self._leave_out(now, day, days)
        elif self._is_repeated:
            raise Differs
        self._next = self._chronicle.now() + self._period

    def _moment(self) -> _Moment:
        chronicle, store = self._chronicle, self._store
        entries = [entry for storage in store.counts() for entry in store.list(storage)]
        objects = {(entry.key.storage, *entry.key.place): entry.obj for entry in entries}
        return _Moment(
            self._next,
            objects,
            {uid: place for place, uid in enumerate(chronicle.pods)},
            {uid: line for uid, line in chronicle.works.items() if line.ended is None},
            {uid: line for uid, line in chronicle.pods.items() if line.ended is None},
            [*chronicle.works.values()],
            [*chronicle.pods.values()],
        )

    def _leave_out(self, now: _Moment, day: _Day, days: int) -> None:
        """Writes the lines of the next days, and continues after them."""
        chronicle = self._chronicle
        works, pods = [*now.open_works.values()], [*now.open_pods.values()]
        _rename(chronicle.works, {id(work): f"{uid} before" for uid, work in now.open_works.items()})
        _rename(chronicle.pods, {id(pod): f"{uid} before" for uid, pod in now.open_pods.items()})
        for number in range(1, days + 1):
            works, pods = self._repeat(day, number * self._period, works, pods)
        open_works = dict(zip(now.open_works, works, strict=True))
        open_pods = dict(zip(now.open_pods, pods, strict=True))
        _rename(chronicle.works, {id(work): uid for uid, work in open_works.items()})
        _rename(chronicle.pods, {id(pod): uid for uid, pod in open_pods.items()})
        chronicle.leave_out(days * self._period, open_pods.values())
        self._is_repeated = True
        self._last = now._replace(
            at=now.at + days * self._period,
            open_works=open_works,
            open_pods=open_pods,
            works=[*chronicle.works.values()],
            pods=[*chronicle.pods.values()],
        )

    def _repeat(
        self, day: _Day, seconds: float, works: Sequence[WorkLine], pods: Sequence[PodLine]
    ) -> tuple[list[WorkLine], list[PodLine]]:
        """Writes the lines of a day again, `seconds` later. Ends the open `works` and `pods` of the day
        before, and returns those that are open at the end."""
        chronicle = self._chronicle
        for then, work in zip(day.ended_works, works, strict=True):
            _end(work, then, seconds)
        for ended, pod in zip(day.ended_pods, pods, strict=True):
            _end(pod, ended, seconds)
        made = [*works]
        for work in day.works:
            later = _later(work, seconds)
            later.name, later.pods = later_run(work.name, seconds), []
            chronicle.works[f"{later.namespace}/{later.name}"] = later
            made.append(later)
        copies: list[PodLine] = []
        for pod, place, suffix in zip(day.pods, day.work_of, self._dice.draw_again(day.drawn), strict=True):
            work, copied, job = made[place], _later(pod, seconds), pod.owner.partition("/")[2]
            copied.name = work.name + pod.name[len(job) : -len(suffix)] + suffix
            copied.owner = work.reference
            self._check_rules((job, pod.name), (work.name, copied.name))
            work.pods.append(copied)
            chronicle.pods[f"{copied.namespace}/{copied.name}"] = copied
            copies.append(copied)
        return [made[place] for place in day.open_works], [copies[place] for place in day.open_pods]

    def _check_rules(self, before: tuple[str, str], later: tuple[str, str]) -> None:
        """Raises Differs if a rule matches only one of two pods, each given by the names of its Job and
        itself."""
        for rule in self._scripts.rules:
            if (rule.name, rule.job) != ("*", "") and _means(rule, *before) != _means(rule, *later):
                raise Differs


class _Moment(NamedTuple):
    """The state between two days. `works` and `pods` are the lines of all work and pods so far."""

    at: float
    objects: Mapping[_Place, Obj]
    places: Mapping[str, int]
    """The position of each pod in the order of creation, by uid."""
    open_works: Mapping[str, WorkLine]
    open_pods: Mapping[str, PodLine]
    works: Sequence[WorkLine]
    pods: Sequence[PodLine]


class _Day(NamedTuple):
    """A day that was played: copies of the lines that were made on the day, as they were at its end."""

    end: float
    works: Sequence[WorkLine]
    pods: Sequence[PodLine]
    work_of: Sequence[int]
    """For each pod, the index of its work in `ended_works` followed by `works`."""
    open_works: Sequence[int]
    """Indexes of works that had not ended, counted likewise."""
    open_pods: Sequence[int]
    """Indexes in `pods` of pods that had not ended."""
    ended_works: Sequence[WorkLine]
    """Works of earlier days that ended on this day."""
    ended_pods: Sequence[PodLine]
    drawn: Sequence[tuple[int, int]]


def period_of(settings: SimSettings) -> float:
    """The seconds after which a simulation of this question may repeat itself; 0 if it may not at all."""
    zones, period = [cron.load(settings.zone)], DAY_SECONDS
    runs = [run for rule in settings.rules for run in rule.runs]
    if settings.troubles != NO_TROUBLES or not all(isinstance(run, Run | Chance) for run in runs):
        return 0.0
    for obj in settings.objects:
        if (obj["apiVersion"], obj["kind"]) not in _KINDS:
            return 0.0
        if obj["kind"] == "CronJob":
            schedule = _schedule(obj)
            if schedule is None or (schedule.days, schedule.months) != (_ALL_DAYS, _ALL_MONTHS):
                return 0.0
            zones += [schedule.zone] if schedule.zone is not None else []
            if schedule.weekdays != _ALL_WEEKDAYS:
                period = 7 * DAY_SECONDS
    start = int(settings.start.timestamp())
    is_steady = all(_is_steady(zone, start, start + int(settings.seconds)) for zone in zones)
    return period if is_steady else 0.0


def _schedule(cron_job: Obj) -> cron.Schedule | None:
    """The schedule of a CronJob; None for an @every schedule, and for one that cannot be parsed."""
    spec = cron_job.get("spec") or {}
    try:
        schedule = cron.parse_in_zone(str(spec.get("schedule")), spec.get("timeZone"))
    except cron.ScheduleError:
        return None
    return None if isinstance(schedule, cron.Every) else schedule


def _is_steady(zone: cron.Zone, start: int, end: int) -> bool:
    """Whether the zone has no change of its clocks between two moments."""
    at, offset = start, zone.offset(start)
    while (at := zone.span(at)[1]) <= end:
        if zone.offset(at) != offset:
            return False
    return True


def _day(last: _Moment, now: _Moment, drawn: Sequence[tuple[int, int]]) -> _Day | None:
    """The day between two moments. None if it cannot be repeated: work of the day before has not ended, a pod
    has no node at the end of the day, or a drawn name is not a pod's."""
    works, pods = now.works[len(last.works) :], now.pods[len(last.pods) :]
    ended_works, ended_pods = [*last.open_works.values()], [*last.open_pods.values()]
    if any(work.ended is None for work in ended_works) or any(pod.ended is None for pod in ended_pods):
        return None
    if any(pod.bound is None for pod in now.open_pods.values()) or any(
        work.scheduled is None for work in works
    ):
        return None
    place_of = {id(pod): place for place, work in enumerate((*ended_works, *works)) for pod in work.pods}
    suffixes = [suffix_from_bits(value) for bits, value in drawn if bits == SUFFIX_BITS]
    if suffixes != [pod.name[-5:] for pod in pods] or not all(id(pod) in place_of for pod in pods):
        return None
    return _Day(
        now.at,
        [copy(work) for work in works],
        [copy(pod) for pod in pods],
        [place_of[id(pod)] for pod in pods],
        [place for place, work in enumerate(works, len(ended_works)) if work.ended is None],
        [place for place, pod in enumerate(pods) if pod.ended is None],
        [copy(work) for work in ended_works],
        [copy(pod) for pod in ended_pods],
        drawn,
    )


def _are_alike(one: _Day, other: _Day) -> bool:
    """Whether two days are equal except for the date and the names of pods."""
    seconds = other.end - one.end
    if [bits for bits, _ in one.drawn] != [bits for bits, _ in other.drawn]:
        return False
    if one[3:6] != other[3:6]:
        return False
    return all(
        _values(_later(before, seconds)) == _values(line)
        for lines, others in ((one.works, other.works), (one.ended_works, other.ended_works))
        for before, line in zip(lines, others, strict=True)
    ) and all(
        _values(_later(before, seconds)) == _values(line)
        for pods, more in ((one.pods, other.pods), (one.ended_pods, other.ended_pods))
        for before, line in zip(pods, more, strict=True)
    )


def _values(line: WorkLine | PodLine) -> list[Any]:
    """The values of a line without its names, which follow from the times."""
    kept = [each.name for each in fields(line) if each.name not in ("name", "called", "owner", "pods")]
    return [line.namespace, *(getattr(line, name) for name in kept)]


def _later(line: _LINE, seconds: float) -> _LINE:
    """A copy of a line whose times are `seconds` later."""
    found = copy(line)
    for name in _TIMES:
        at = getattr(found, name, None)
        if at is not None:
            setattr(found, name, round(at + seconds, 6))
    return found


def _end(line: _LINE, then: _LINE, seconds: float) -> None:
    """Completes an open line like another one, `seconds` later."""
    later = _later(then, seconds)
    for each in fields(line):
        if each.name not in _MADE:
            setattr(line, each.name, getattr(later, each.name))


def _rename(lines: dict[str, _LINE], keys: Mapping[int, str]) -> None:
    """Gives lines new keys, found by the `id` of each line, and keeps the order."""
    renamed = {keys.get(id(line), key): line for key, line in lines.items()}
    lines.clear()
    lines.update(renamed)


def _means(rule: Rule, job: str, pod: str) -> tuple[bool, bool]:
    """Whether the rule's name pattern matches the pod or its Job, and whether its Job pattern matches the
    Job."""
    return fnmatchcase(pod, rule.name) or job == rule.name, fnmatchcase(job, rule.job)


# ---- Are the objects the same?


def _is_same(last: _Moment, now: _Moment, seconds: float) -> bool:
    """Whether the objects of two moments are the same, except that Jobs have later names, Jobs and pods have
    other uids, and times are the same or `seconds` later."""
    pairs = _pairs(last, now, seconds)
    return pairs is not None and _Likeness(pairs, seconds).holds(pairs)


def _pairs(last: _Moment, now: _Moment, seconds: float) -> list[tuple[Obj, Obj]] | None:
    """Each object of `last` with the one of `now` in its place; None if an object has no counterpart."""
    found: list[tuple[Obj, Obj]] = []
    for (storage, namespace, name), obj in last.objects.items():
        if storage == _PODS:
            continue
        later = name
        if storage == _JOBS:
            if not name.rpartition("-")[2].isdecimal():
                return None
            later = later_run(name, seconds)
        other = now.objects.get((storage, namespace, later))
        if other is None:
            return None
        found.append((obj, other))
    pods, others = _pods(last), _pods(now)
    found += zip(pods, others, strict=False)
    return found if len(pods) == len(others) and len(last.objects) == len(now.objects) else None


def _pods(moment: _Moment) -> list[Obj]:
    """The pods in the order of their creation."""
    pods = [obj for (storage, _, _), obj in moment.objects.items() if storage == _PODS]
    return sorted(pods, key=lambda pod: moment.places.get(pod["metadata"]["uid"], -1))


class _Likeness:
    """Compares the contents of pairs of objects."""

    def __init__(self, pairs: Sequence[tuple[Obj, Obj]], seconds: float) -> None:
        self._seconds = int(seconds)
        self._known: dict[str, str] = {}
        """Texts of the first moment, each with its replacement at the second."""
        for one, other in pairs:
            for name in ("uid", "name"):
                if name in one["metadata"]:
                    self._known[one["metadata"][name]] = other["metadata"][name]

    def holds(self, pairs: Sequence[tuple[Obj, Obj]]) -> bool:
        return all(self._holds(one, other) for one, other in pairs)

    def _holds(self, one: Any, other: Any) -> bool:
        if one is other:
            return True
        if isinstance(one, dict):
            return (
                isinstance(other, dict)
                and one.keys() == other.keys()
                and all(name in _IGNORED or self._holds(each, other[name]) for name, each in one.items())
            )
        if isinstance(one, list):
            return (
                isinstance(other, list)
                and len(one) == len(other)
                and all(self._holds(each, more) for each, more in zip(one, other, strict=True))
            )
        return bool(one == other) or (isinstance(one, str) and self._later(one) == other)

    def _later(self, text: str) -> str:
        """The text that replaces a name, uid or time, or a text with the minute of a Job's name."""
        found = self._known.get(text)
        if found is None:
            if _IS_TIME(text):
                at = datetime.fromisoformat(text[:_LOCAL_LENGTH]) + timedelta(seconds=self._seconds)
                found = at.isoformat() + text[_LOCAL_LENGTH:]
            else:
                minutes = self._seconds // 60
                found = _MINUTE.sub(lambda minute: str(int(minute[0]) + minutes), text)
            self._known[text] = found
        return found
