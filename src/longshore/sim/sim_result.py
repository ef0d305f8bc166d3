"""The answer of a simulation, in rows that tables and pictures show. Made once, from the chronicle."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Sequence, Set
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final
from zoneinfo import ZoneInfo

import msgspec

from longshore.api import cron
from longshore.api.time.instants import SECOND
from longshore.api.types import Obj
from longshore.node.capacity import number
from longshore.sim import over_time
from longshore.sim.chronicle import Chronicle, PodLine, WorkLine

if TYPE_CHECKING:
    from longshore.sim.settings import SimSettings
    from longshore.testing.troubles import NodeFailure

_MAX_SKIPS_TOLD: Final = 100
_LATE_SECONDS: Final = 60.0
STARTING_SECONDS: Final = 1.0
"""Work that starts within this time did not wait."""


class JobRow(msgspec.Struct):
    """One Job or Volcano Job. Times are seconds since the start; None means never."""

    name: str
    """`job/report`; with the namespace in front unless that is `default`."""
    owner: str
    """`cronjob/backup`, written as in `name`; empty if a person made it."""
    queued: float
    started: float | None
    ended: float | None
    result: str
    """`complete`, `failed` or `deleted`; `running` or `waiting` if it has not ended."""
    reason: str
    pods: int
    failed: int
    """Pods that failed or were evicted, and those that a Job ended when it failed."""
    completions: int | None
    waits_for: str = ""
    """The reason why it, or one of its pods, does not run now."""
    waited_for: str = ""
    """The reason why it did not start at once."""
    late: float = 0.0
    """Seconds from the time of its CronJob's schedule to its creation."""


class SkippedRun(msgspec.Struct):
    at: float
    """Seconds since 1970."""
    why: str


class CronJobRow(msgspec.Struct):
    name: str
    schedule: str
    runs: int
    complete: int
    failed: int
    skipped: list[SkippedRun]
    longest: float
    """The longest time from the creation of a run to its end, in seconds."""
    longest_wait: float = 0.0
    """The longest time from the creation of a run to the start of its first pod, in seconds."""
    longest_run: float = 0.0
    """The longest time from the start of a run's first pod to the end of the run, in seconds."""
    earliest_end: float | None = None
    """The end of the run that ends soonest after its scheduled time."""
    latest_end: float | None = None
    """The end of the run that ends latest after its scheduled time."""
    last_end: float | None = None
    """The end of the run that ends last."""
    more_skipped: int = 0
    """How many runs are skipped beyond those that are listed."""
    late: int = 0
    """How many runs began more than a minute after their scheduled time."""
    latest: float = 0.0
    """The seconds by which the latest run was late."""
    replaced: int = 0
    """How many runs were ended by the next run (concurrencyPolicy Replace)."""
    clock_changes: list[str] = []
    """Scheduled times that a clock change (such as DST) removes or repeats."""


class QueueRow(msgspec.Struct):
    name: str
    works: int
    share: float
    """The queue's share of all cpu time that was used."""
    mean_wait: float
    longest_wait: float
    over_time: list[float] = []
    """The share of all nodes that the queue's pods request: of the resource with the largest share, as means
    of equal slices of the time (`over_time.py`)."""


class NodeRow(msgspec.Struct):
    name: str
    pods: int
    used: dict[str, float]
    """The used share of the node's capacity over the whole time, by resource."""
    over_time: list[float] = []
    """The requested share of the resource with the largest share, as means of equal slices of the time."""


class Bar(msgspec.Struct):
    """One pod in a picture."""

    name: str
    work: str
    index: int | None
    created: float
    bound: float | None
    started: float | None
    ended: float | None
    node: str
    result: str
    code: int | None
    waits_for: str = ""
    """Why it has no node, or got it late."""


class FailureRow(msgspec.Struct):
    """One failure of a node."""

    node: str
    at: float
    ended: float | None
    """When the node is back; None if that is after the end."""


class WindowRow(msgspec.Struct):
    """A deadline at a time of day, and the night in which its work ended latest."""

    before: str
    at: float
    """The time of day, in seconds since the start."""
    ended: float | None
    """The end of the last work of that night; None if it does not end."""
    work: str


class SimResult(msgspec.Struct):
    seed: int
    start: str
    """RFC 3339, in the zone."""
    zone: str
    seconds: float
    """From the start to the end of the last work, or of the simulation if some work never ends."""
    jobs: list[JobRow]
    cron_jobs: list[CronJobRow]
    queues: list[QueueRow]
    nodes: list[NodeRow]
    bars: list[Bar]
    node_failures: list[FailureRow]
    unsaid: list[str]
    """Work without a rule or annotation: its pods ran for a minute and succeeded, by default."""
    remarks: list[str] = []
    windows: list[WindowRow] = []
    waiting: list[float] = []
    """The number of pods that wait for a node: means of equal slices of the time."""

    def clock(self, seconds: float) -> datetime:
        """The time of day in the zone, `seconds` after the start."""
        moment = datetime.fromisoformat(self.start).timestamp() + seconds
        return datetime.fromtimestamp(moment, ZoneInfo(self.zone))


def of(
    settings: SimSettings,
    chronicle: Chronicle,
    nodes: Sequence[Obj],
    began: float,
    ended: float,
    failures: Sequence[NodeFailure],
) -> SimResult:
    """Makes the rows from the chronicle between two moments of the virtual clock."""
    seconds = ended - began
    for line in chronicle.pods.values():
        if line.bound is None and line.ended is None:
            line.waits_for = chronicle.explained("pod", line.namespace, line.called) or line.waits_for
    works = list(chronicle.works.values())
    for work in works:
        if work.started is None and work.ended is None and work.group:
            work.waits_for = chronicle.explained("podgroup", work.namespace, work.group)
    zone = ZoneInfo(settings.zone)
    runs: dict[tuple[str, str], list[WorkLine]] = {}
    for work in works:
        runs.setdefault((work.namespace, work.owner), []).append(work)
    on_nodes: dict[str, list[PodLine]] = {}
    for line in chronicle.pods.values():
        if line.bound is not None:
            on_nodes.setdefault(line.node, []).append(line)
    answer = SimResult(
        seed=settings.seed,
        start=settings.start.astimezone(zone).isoformat(),
        zone=settings.zone,
        seconds=seconds,
        jobs=[_job(work, began, settings) for work in works],
        cron_jobs=[
            _cron_job(obj, runs.get(_place(obj), []), settings, began, seconds)
            for obj in chronicle.cron_jobs.values()
        ],
        queues=_queues(chronicle, most(nodes, operator.add), began, ended),
        nodes=[_node(node, on_nodes.get(node["metadata"]["name"], []), began, ended) for node in nodes],
        bars=[_bar(line, began) for line in chronicle.pods.values()],
        node_failures=[
            FailureRow(
                each.node,
                each.at - began,
                None if each.at + each.seconds > ended else each.at + each.seconds - began,
            )
            for each in failures
        ],
        unsaid=[_named(*each) for each in chronicle.unsaid],
        waiting=over_time.means(over_time.waiting(works, chronicle.pods.values(), ended), began, ended),
    )
    from longshore.sim import checks, remarks

    answer.windows = checks.windows(answer, settings.windows)
    answer.remarks = remarks.of(answer, nodes, chronicle)
    return answer


def _named(namespace: str, reference: str) -> str:
    return reference if namespace == "default" else f"{namespace}/{reference}"


def _since(moment: float | None, began: float) -> float | None:
    return None if moment is None else max(moment - began, 0.0)


def _job(work: WorkLine, began: float, settings: SimSettings) -> JobRow:
    state = work.result or ("running" if work.started is not None else "waiting")
    row = JobRow(
        name=_named(work.namespace, work.reference),
        owner=_named(work.namespace, work.owner) if work.owner else "",
        queued=max(work.created - began, 0.0),
        started=_since(work.started, began),
        ended=_since(work.ended, began),
        result=state,
        reason=work.reason,
        pods=len(work.pods),
        failed=max(sum(pod.result in ("failed", "evicted") for pod in work.pods), work.failed),
        completions=work.completions,
        waits_for=work.waits,
        waited_for=_waited_for(work),
    )
    row.late = _late(work, settings, began)
    return row


def _waited_for(work: WorkLine) -> str:
    """Why the work did not start at once; empty if it has not started."""
    if work.started is None or work.started - work.created <= STARTING_SECONDS:
        return ""
    pod = work.pods[0].waits_for if work.pods and not work.group else ""
    return pod or work.waits_for


def _late(work: WorkLine, settings: SimSettings, began: float) -> float:
    """Seconds from the time of a CronJob's schedule to the creation of its Job."""
    if work.scheduled is None:
        return 0.0
    return max(work.created - began - (work.scheduled - settings.start.timestamp()), 0.0)


def _place(cron_job: Obj) -> tuple[str, str]:
    """The namespace of a CronJob's runs, and their owner."""
    meta = cron_job["metadata"]
    return meta["namespace"], f"cronjob/{meta['name']}"


def _cron_job(
    obj: Obj, mine: list[WorkLine], settings: SimSettings, began: float, seconds: float
) -> CronJobRow:
    meta, spec = obj["metadata"], obj["spec"]
    row = CronJobRow(
        name=_named(meta["namespace"], f"cronjob/{meta['name']}"),
        schedule=spec["schedule"],
        runs=len(mine),
        complete=sum(work.result == "complete" for work in mine),
        failed=sum(work.result == "failed" for work in mine),
        skipped=[],
        longest=max((w.ended - w.created for w in mine if w.ended is not None), default=0.0),
    )
    if spec.get("concurrencyPolicy") == "Replace":
        row.replaced = sum(work.result == "deleted" for work in mine)
    ended = sorted(
        (work.ended - (work.created - _late(work, settings, began)), work.ended - began)
        for work in mine
        if work.ended is not None and work.result != "deleted"
    )
    if ended:
        row.earliest_end, row.latest_end = ended[0][1], ended[-1][1]
        row.last_end = max(end for _, end in ended)
    begun = [work for work in mine if work.started is not None]
    row.longest_wait = max(((work.started or 0.0) - work.created for work in begun), default=0.0)
    row.longest_run = max(
        (work.ended - (work.started or 0.0) for work in begun if work.ended is not None), default=0.0
    )
    delays = [_late(work, settings, began) for work in mine]
    row.late, row.latest = sum(each > _LATE_SECONDS for each in delays), max(delays, default=0.0)
    ran = {int(work.scheduled) for work in mine if work.scheduled is not None}
    schedule = _schedule(spec)
    if schedule is None:
        return row
    start, zone = int(settings.start.timestamp()), cron.load(settings.zone)
    for at in _times(schedule, zone, start, math.ceil(start + seconds - 1)):
        if at in ran:
            continue
        if len(row.skipped) < _MAX_SKIPS_TOLD:
            row.skipped.append(SkippedRun(float(at), _why_skipped(spec, mine, at - start + began)))
        else:
            row.more_skipped += 1
    row.clock_changes = [*_clock_changes(schedule, zone, start, int(start + seconds), ran)]
    return row


def _schedule(spec: Obj) -> cron.Schedule | None:
    """The schedule, if it has fixed times; None if it cannot be read, or counts from its last run."""
    try:
        schedule = cron.parse_in_zone(spec["schedule"], spec.get("timeZone"))
    except cron.ScheduleError:
        return None
    return None if isinstance(schedule, cron.Every) else schedule


def _times(schedule: cron.Schedule, zone: cron.Zone, start: int, end: int) -> list[int]:
    """The times of a schedule from `start` on and before `end`, all in seconds since 1970."""
    found, at = [], schedule.next(start * SECOND - 1, zone)
    while at is not None and at < end * SECOND:
        found.append(at // SECOND)
        at = schedule.next(at, zone)
    return found


def _why_skipped(spec: Obj, mine: list[WorkLine], moment: float) -> str:
    if spec.get("suspend"):
        return "it is suspended"
    running = [w for w in mine if w.created <= moment + 1 and (w.ended is None or w.ended > moment)]
    if spec.get("concurrencyPolicy") == "Forbid" and running:
        return f"{running[0].name} still ran (concurrencyPolicy is Forbid)"
    if spec.get("startingDeadlineSeconds") is not None:
        return f"startingDeadlineSeconds ({spec['startingDeadlineSeconds']}) had passed"
    return "a later run was due already"


def _queues(chronicle: Chronicle, whole: dict[str, int], began: float, ended: float) -> list[QueueRow]:
    used: dict[str, float] = {}
    waits: dict[str, list[float]] = {}
    pods: dict[str, list[PodLine]] = {}
    for work in chronicle.works.values():
        if work.queue:
            first = min((pod.bound for pod in work.pods if pod.bound is not None), default=None)
            waits.setdefault(work.queue, []).append((first if first is not None else ended) - work.created)
    for line in chronicle.pods.values():
        if line.queue and line.bound is not None:
            length = (line.ended if line.ended is not None else ended) - line.bound
            used[line.queue] = used.get(line.queue, 0.0) + line.requests.get("cpu", 0) * length
            pods.setdefault(line.queue, []).append(line)
    total = sum(used.values())
    return [
        QueueRow(
            name,
            len(found),
            used.get(name, 0.0) / total if total else 0.0,
            sum(found) / len(found),
            max(found),
            over_time.use(pods.get(name, ()), whole, began, ended),
        )
        for name, found in sorted(waits.items())
    ]


def _node(node: Obj, pods: list[PodLine], began: float, ended: float) -> NodeRow:
    has, name = _amounts(node), node["metadata"]["name"]
    used = dict.fromkeys((key for key in has if key != "pods"), 0.0)
    for line in pods:
        assert line.bound is not None, "a pod on a node"
        length = (line.ended if line.ended is not None else ended) - line.bound
        for key in used:
            used[key] += line.requests.get(key, 0) * length
    span = max(ended - began, 1e-9)
    shares = {key: used[key] / (has[key] * span) if has[key] else 0.0 for key in used}
    return NodeRow(name, len(pods), shares, over_time.use(pods, has, began, ended))


def _amounts(node: Obj) -> dict[str, int]:
    """The amounts of a node by resource."""
    status = node.get("status") or {}
    given = status.get("allocatable") or status.get("capacity") or {}
    return {name: number(name, amount) for name, amount in given.items()}


def most(nodes: Sequence[Obj], together: Callable[[int, int], int]) -> dict[str, int]:
    """The amounts of all nodes by resource, combined by `together`: the largest, or the sum."""
    found: dict[str, int] = {}
    for node in nodes:
        for name, amount in _amounts(node).items():
            found[name] = together(found.get(name, 0), amount)
    return found


def _bar(line: PodLine, began: float) -> Bar:
    return Bar(
        _named(line.namespace, line.name),
        line.owner,
        line.index,
        max(line.created - began, 0.0),
        _since(line.bound, began),
        _since(line.started, began),
        _since(line.ended, began),
        line.node,
        line.result,
        line.code,
        line.waits_for,
    )


def _clock_changes(
    schedule: cron.Schedule, zone: cron.Zone, start: int, end: int, ran: Set[int]
) -> Iterator[str]:
    """Says which scheduled times fall out or come twice because clocks are set forward or back between two
    moments. `ran` are the times of actual runs.

    Such runs do not count as skipped: as in Kubernetes, the schedule has no such time. They are reported to
    help people plan a night."""
    zone = schedule.zone or zone
    for at, gap in _changes(zone, start, end):
        before = zone.offset(at - 1)
        if gap > 0:
            missing = _times(schedule._replace(zone=cron.UTC), cron.UTC, at + before, at + before + gap)
            # An hourly schedule runs in the hour after the change: none of its runs is missed.
            if missing and not _times(schedule, zone, at, at + gap):
                yield f"does not run at {_wall_clock(missing[0])}: clocks go forward over it ({zone.name})"
        else:
            walls = [t + zone.offset(t) for t in _times(schedule, zone, at + gap, at - gap) if t in ran]
            twice = [wall for wall in walls if walls.count(wall) > 1]
            # An hourly schedule runs in the hour before, too, and in every other.
            if twice and not _times(schedule, zone, at + 2 * gap, at + gap):
                yield f"runs twice at {_wall_clock(twice[0])}: clocks go back over it ({zone.name})"


def _changes(zone: cron.Zone, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Moments at which the clock is changed, and by how many seconds."""
    at, before = start, zone.offset(start)
    while (at := zone.span(at)[1]) < end:
        if gap := zone.offset(at) - before:
            yield at, gap
            before += gap


def _wall_clock(wall: int) -> str:
    return f"{datetime.fromtimestamp(wall, UTC):%d %b %H:%M}"
