"""`usage`: how busy nodes are, measured. A node that is too busy takes no more tasks; idle ones come first.

A node without figures, or with old ones, is treated as if nobody had asked.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from longshore.scheduler.amounts import CPU, MEMORY
from longshore.scheduler.gang.model.task import Task
from longshore.scheduler.gang.settings import Plugin
from longshore.scheduler.ledger import Node

FRESH_SECONDS: Final = 300.0
"""Volcano's own: older figures say nothing."""
_MAX_SCORE: Final = 100.0
_DEFAULT_PERCENT: Final = 80.0


class Load(NamedTuple):
    """The amounts that a node uses, in the units of `amounts.py`, and when that was measured."""

    cpu: int
    memory: int
    at: float


class Busy(NamedTuple):
    """Parts of what a node has, in percent."""

    cpu: float
    memory: float


class Usage:
    """The figures of one moment."""

    def __init__(self, loads: Mapping[str, Load], now: float) -> None:
        self._loads, self._now = loads, now

    def of(self, node: Node) -> Busy | None:
        """None where nothing is known."""
        load = self._loads.get(node.name)
        cpu, memory = node.allocatable.get(CPU, 0), node.allocatable.get(MEMORY, 0)
        if load is None or self._now - load.at > FRESH_SECONDS or not cpu or not memory:
            return None
        return Busy(100.0 * load.cpu / cpu, 100.0 * load.memory / memory)


class BusyNodes:
    """The plugin, with its arguments."""

    def __init__(self, plugin: Plugin, usage: Usage) -> None:
        self._usage = usage
        limits: Mapping[str, float] = plugin.argument("thresholds")
        self._most = Busy(limits.get("cpu", _DEFAULT_PERCENT), limits.get("mem", _DEFAULT_PERCENT))
        self._weight: float = _MAX_SCORE * plugin.argument("usage.weight")
        self._weights = Busy(plugin.argument("cpu.weight"), plugin.argument("memory.weight"))

    def problem(self, task: Task, node: Node) -> str:
        """Why a node takes no more tasks; empty if it does."""
        busy = self._usage.of(node)
        if busy is None:
            return ""
        if busy.cpu > self._most.cpu:
            return "the CPU load of the node exceeds the upper limit."
        return (
            "the memory load of the node exceeds the upper limit." if busy.memory > self._most.memory else ""
        )

    def score(self, task: Task, node: Node) -> float:
        busy, weights = self._usage.of(node), self._weights
        if busy is None or not sum(weights):
            return 0.0
        idle = (100 - busy.cpu) * weights.cpu + (100 - busy.memory) * weights.memory
        return self._weight * idle / 100 / sum(weights)
