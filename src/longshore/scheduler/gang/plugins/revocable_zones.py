"""`tdm`: nodes that belong to batch work at some hours only (label `volcano.sh/revocable-zone`).

    tdm.revocable-zone.night: 20:00-06:00          # UTC
    tdm.evict.period: 1m

During its hours, a node of a zone takes only tasks that allow it (annotation `volcano.sh/revocable-zone`).
When they are over, the action `shuffle` evicts preemptable tasks, as many of each gang as its budget allows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from longshore.scheduler.gang.conf import plugin_table
from longshore.scheduler.gang.model.group import Group
from longshore.scheduler.gang.model.task import FAILED, RUNNING, SUCCEEDED, Task
from longshore.scheduler.gang.plugins.gang_plugin import GangPlugin, Owned
from longshore.scheduler.gang.settings import SHUFFLE, Plugin
from longshore.scheduler.ledger import Node

if TYPE_CHECKING:
    from longshore.scheduler.gang.preempt_and_reclaim import Claim
    from longshore.scheduler.gang.trying.trial import Trial

LABEL: Final = "volcano.sh/revocable-zone"
_DAY_SECONDS: Final = 24 * 3600
_MAX_SCORE: Final = 100.0
_BUDGETS: Final = ("volcano.sh/jdb-max-unavailable", "volcano.sh/jdb-min-available")


class RevocableZones(GangPlugin):
    """The revocable zones of a scheduler at one moment."""

    removal_code = "EvictsAfterHours"

    def __init__(self, conf: Plugin, trial: Trial) -> None:
        super().__init__(conf, trial)
        hours: Mapping[str, str] = conf.argument("tdm.revocable-zone.*")
        self._hours = {name: _read(text) for name, text in hours.items()}
        self._second = trial.now % _DAY_SECONDS
        self._period: float = conf.argument("tdm.evict.period")

    def is_open(self, zone: str) -> bool:
        """Whether the zone's hours include the present. An unknown zone is never open."""
        hours = self._hours.get(zone)
        if hours is None:
            return False
        begin, end = hours
        inside = begin <= self._second <= end
        return inside if begin < end else self._second >= begin or self._second <= end

    def due(self) -> Iterable[float]:
        """Seconds until hours begin or end, and until tasks may be evicted again."""
        moments = [moment for hours in self._hours.values() for moment in hours]
        yield from ((moment - self._second) % _DAY_SECONDS or _DAY_SECONDS for moment in moments)
        if moments and SHUFFLE in self.trial.settings.actions and self._period:
            yield self._period

    def filter_node(self, task: Task, node: Node) -> str:
        """Why a task may not be on a node; empty if it may."""
        zone = node.labels.get(LABEL)
        if not zone:
            return ""
        if not self.is_open(zone):
            return "node(s) were outside the hours of their revocable zone"
        return "" if _is_guest(task) else "node(s) were in a revocable zone"

    def score_node(self, task: Task, node: Node) -> float:
        zone = node.labels.get(LABEL)
        return _MAX_SCORE if zone and self.is_open(zone) and _is_guest(task) else 0.0

    def job_order(self, group: Group) -> float:
        return any(task.preemptable for task in group.tasks.values())

    def removals(self) -> list[Task]:
        """Tasks on nodes whose hours are over, as many of each gang as its budget allows."""
        trial = self.trial
        if trial.now < trial.shuffled.get(self.conf.name, 0.0) + self._period:
            return []
        nodes = {node.name: node for node in trial.rooms.nodes}
        found: list[Task] = []
        for group in trial.groups.values():
            over = [
                task
                for task in group.in_status(RUNNING)
                if task.node in nodes and self._overstays(task, nodes[task.node])
            ]
            found += over[: _budget(group)]
        return found

    def victims(self, claim: Claim, found: Sequence[Owned]) -> list[Owned]:
        """Preemptable pods on nodes outside revocable zones, as many of each gang as its budget allows. No
        pod, if the claiming task is preemptable itself or may run in such a zone."""
        if claim.task.preemptable or _is_guest(claim.task):
            return []
        lasting = {node.name for node in self.trial.rooms.nodes if not node.labels.get(LABEL)}
        left: dict[str, int] = {}
        named = []
        for owner, victim in found:
            count = left.setdefault(owner.uid, _budget(owner))
            if victim.node in lasting and victim.status == RUNNING and count > 0:
                left[owner.uid] = count - 1
                named.append((owner, victim))
        return named

    def _overstays(self, task: Task, node: Node) -> bool:
        """Whether a preemptable task is on a node whose hours are over."""
        zone = node.labels.get(LABEL)
        return bool(zone) and zone in self._hours and not self.is_open(zone) and task.preemptable


def _is_guest(task: Task) -> bool:
    """Whether a task may run in a revocable zone."""
    return bool((task.pod.obj["metadata"].get("annotations") or {}).get(LABEL))


def _budget(group: Group) -> int:
    """How many tasks of a gang may be evicted at a time."""
    notes = group.obj["metadata"].get("annotations") or {}
    count, running = len(group.tasks), group.counts.get(RUNNING, 0)
    most, least = (_number(notes.get(key), count) for key in _BUDGETS)
    if most is not None:
        ended = group.counts.get(SUCCEEDED, 0) + group.counts.get(FAILED, 0)
        return max(most - (count - ended - running), 0)
    if least is not None and running >= least:
        return running - least
    return 1


def _number(text: object, count: int) -> int | None:
    """A number, or a percentage of `count`, rounded up."""
    if not text:
        return None
    words = str(text)
    try:
        return -(-int(words[:-1]) * count // 100) if words.endswith("%") else int(words)
    except ValueError:
        return None


def _read(text: str) -> tuple[int, int]:
    found = plugin_table.HOURS.fullmatch(str(text).strip())
    if found is None:
        return 0, 0
    first, second, third, fourth = map(int, found.groups())
    return first * 3600 + second * 60, third * 3600 + fourth * 60
