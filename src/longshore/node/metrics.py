"""Numbers about the node, under kubelet's names where it has one."""

from __future__ import annotations

from collections.abc import Callable

from longshore.api.metrics import Registry


class NodeMetrics:
    """`pods`, `starts` and `writes` return the agent's own counts."""

    def __init__(
        self,
        registry: Registry,
        *,
        pods: Callable[[], int],
        starts: Callable[[], int],
        writes: Callable[[], int],
    ) -> None:
        for name, help, number in (
            ("kubelet_active_pods", "Pods that run, start or stop.", pods),
            ("longshore_node_container_starts", "Starts asked of a runtime.", starts),
            ("longshore_node_status_writes", "Pod statuses written.", writes),
        ):
            registry.gauge(name, help).ask(number)
        self._ended = registry.counter(
            "longshore_node_pods_ended_total", "Pods by their last phase.", ("phase",)
        )

    def ended(self, phase: str) -> None:
        self._ended.inc(phase)
