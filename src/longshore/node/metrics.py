"""Numbers about the node, under kubelet's names where it has one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from longshore.api.metrics import Registry

if TYPE_CHECKING:
    from longshore.node.agent import Agent


class NodeMetrics:
    def __init__(self, registry: Registry, agent: Agent) -> None:
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
