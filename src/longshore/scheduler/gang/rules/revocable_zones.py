"""`tdm`: nodes that belong to batch work at some hours only (label `volcano.sh/revocable-zone`).

    tdm.revocable-zone.night: 20:00-06:00          # UTC
    tdm.evict.period: 1m

While its hours last, a node of a zone takes tasks that allow it (annotation `volcano.sh/revocable-zone`), and
no others. When they are over, the action `shuffle` removes preemptable tasks, so many of each gang as its
budget allows.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from longshore.scheduler.gang.model.group import Group
from longshore.scheduler.gang.model.task import FAILED, RUNNING, SUCCEEDED, Task
from longshore.scheduler.gang.settings import Plugin
from longshore.scheduler.ledger import Node

LABEL: Final = "volcano.sh/revocable-zone"
_HOURS: Final = re.compile(r"([01]?[0-9]|2[0-3]):([0-5][0-9])-([01]?[0-9]|2[0-3]):([0-5][0-9])", re.ASCII)
_DAY_SECONDS: Final = 24 * 3600
_MAX_SCORE: Final = 100.0
_BUDGETS: Final = ("volcano.sh/jdb-max-unavailable", "volcano.sh/jdb-min-available")


class Zones:
    """The zones of a scheduler, at one moment."""

    def __init__(self, plugin: Plugin, now: float) -> None:
        hours: Mapping[str, str] = plugin.argument("tdm.revocable-zone.*")
        self._hours = {name: _read(text) for name, text in hours.items()}
        self._second = now % _DAY_SECONDS
        self.period: float = plugin.argument("tdm.evict.period")

    def is_open(self, zone: str) -> bool:
        """Whether the hours of a zone last. One that nobody knows never opens."""
        hours = self._hours.get(zone)
        if hours is None:
            return False
        begin, end = hours
        inside = begin <= self._second <= end
        return inside if begin < end else self._second >= begin or self._second <= end

    def next_change(self) -> float | None:
        """Seconds until hours begin or are over; None without zones."""
        moments = [moment for hours in self._hours.values() for moment in hours]
        left = [(moment - self._second) % _DAY_SECONDS or _DAY_SECONDS for moment in moments]
        return min(left, default=None)

    def problem(self, task: Task, node: Node) -> str:
        """Why a task may not be on a node; empty if it may."""
        zone = node.labels.get(LABEL)
        if not zone:
            return ""
        if not self.is_open(zone):
            return "node(s) were outside the hours of their revocable zone"
        return "" if is_guest(task) else "node(s) were in a revocable zone"

    def score(self, task: Task, node: Node) -> float:
        zone = node.labels.get(LABEL)
        return _MAX_SCORE if zone and self.is_open(zone) and is_guest(task) else 0.0

    def overstays(self, task: Task, node: Node) -> bool:
        """Whether a task is on a node whose hours are over."""
        zone = node.labels.get(LABEL)
        return bool(zone) and zone in self._hours and not self.is_open(zone) and task.preemptable


def is_guest(task: Task) -> bool:
    """Whether a task may be in a revocable zone."""
    return bool((task.pod.obj["metadata"].get("annotations") or {}).get(LABEL))


def budget(group: Group) -> int:
    """How many tasks of a gang may be removed at a time."""
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
    """A number, or a part of `count`, rounded up."""
    if not text:
        return None
    words = str(text)
    try:
        return -(-int(words[:-1]) * count // 100) if words.endswith("%") else int(words)
    except ValueError:
        return None


def _read(text: str) -> tuple[int, int]:
    found = _HOURS.fullmatch(str(text).strip())
    if found is None:
        return 0, 0
    first, second, third, fourth = map(int, found.groups())
    return first * 3600 + second * 60, third * 3600 + fourth * 60


def are_hours(text: str) -> bool:
    """Whether a text says hours, such as `20:00-06:00`."""
    return _HOURS.fullmatch(text.strip()) is not None
