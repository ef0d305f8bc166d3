"""Numbers about the node, under kubelet's names where it has one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from longshore.api.metrics import Registry


class Counts(Protocol):
    """The agent's own counters."""

    @property
    def lives(self) -> Mapping[str, Any]: ...

    @property
    def starts(self) -> int: ...

    @property
    def status_writes(self) -> int: ...


class NodeMetrics:
    def __init__(self, registry: Registry, agent: Counts) -> None:
        for name, help, number in (
            ("kubelet_active_pods", "Pods that run, start or stop.", lambda: len(agent.lives)),
            ("longshore_node_container_starts", "Starts asked of an engine.", lambda: agent.starts),
            ("longshore_node_status_writes", "Pod statuses written.", lambda: agent.status_writes),
        ):
            registry.gauge(name, help).ask(number)
        self._ended = registry.counter(
            "longshore_node_pods_ended_total", "Pods by their last phase.", ("phase",)
        )

    def ended(self, phase: str) -> None:
        self._ended.inc(phase)
