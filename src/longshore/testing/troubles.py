"""Troubles by dice: nodes that fail and are repaired, pods that are evicted.

Faults on demand: `injected_faults.py`.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from functools import partial
from typing import Final

import msgspec

from longshore.client import Client
from longshore.machinery.time.clock import Clock
from longshore.node.runtime import Container
from longshore.scripts.runs import Run
from longshore.testing import silent_node
from longshore.testing.scripted_node import ScriptedNode

_EVICTED: Final = "The pod was evicted in the simulation"
_NOTICED_SECONDS: Final = 40.0
"""Seconds from a node's last sign of life until Kubernetes counts it as down."""


class NodeFailure(msgspec.Struct, frozen=True):
    """One failure of a node's machine."""

    node: str
    """The name of the node; empty for the first."""
    at: float
    """Seconds by the monotonic clock."""
    seconds: float
    """How long the machine is down."""


class Troubles(msgspec.Struct, frozen=True):
    """Mean times and fixed failures. Times are in seconds; a mean time of 0 means never."""

    node_mtbf: float = 0.0
    """Mean time between two failures of one node."""
    node_repair: float = 600.0
    """Time from a failure of a node until it is back."""
    eviction_mean: float = 0.0
    """Mean running time until a pod is evicted."""
    failures: tuple[NodeFailure, ...] = ()
    """Failures at given moments."""

    @property
    def longest_failure(self) -> float:
        return max(
            self.node_repair if self.node_mtbf else 0.0,
            *(each.seconds for each in self.failures),
            0.0,
        )


NO_TROUBLES: Final = Troubles()


class NodeTroubles:
    """The troubles of some nodes. `rng` chooses their moments."""

    def __init__(
        self,
        nodes: Sequence[ScriptedNode],
        client: Client,
        clock: Clock,
        troubles: Troubles,
        rng: random.Random,
    ) -> None:
        self._nodes, self._client, self._clock = nodes, client, clock
        self._troubles, self._rng = troubles, rng
        self._under_way: set[asyncio.Task[None]] = set()
        self.failures: list[NodeFailure] = []
        """The failures that have happened."""
        if troubles.eviction_mean:
            for node in nodes:
                node.started = partial(self._expect_eviction, node)

    def begin(self) -> None:
        """Starts the troubles. Raises ValueError for a failure of an unknown node."""
        known = {node.name: node for node in reversed(self._nodes)}
        for each in self._troubles.failures:
            name = each.node or self._nodes[0].name
            if name not in known:
                raise ValueError(f"there is no node {name!r} that could fail; there are: {', '.join(known)}")
            self._later(each.at - self._clock.monotonic(), known[name], each.seconds, False)
        if self._troubles.node_mtbf:
            for node in self._nodes:
                self._expect_failure(node)

    def _expect_failure(self, node: ScriptedNode) -> None:
        seconds = self._rng.expovariate(1 / self._troubles.node_mtbf)
        self._later(seconds, node, self._troubles.node_repair, True)

    def _later(self, after: float, node: ScriptedNode, seconds: float, again: bool) -> None:
        self._clock.call_later(after, lambda: self._spawn(node, seconds, again))

    def _spawn(self, node: ScriptedNode, seconds: float, again: bool) -> None:
        task = asyncio.ensure_future(self._fail(node, seconds, again))
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)

    async def _fail(self, node: ScriptedNode, seconds: float, again: bool) -> None:
        if not node.is_down:
            self.failures.append(NodeFailure(node.name, self._clock.monotonic(), seconds))
            node.fail()
            await silent_node.play(self._client, self._clock, node.name, _NOTICED_SECONDS, seconds)
            node.repair()
        if again:
            self._expect_failure(node)

    def _expect_eviction(self, node: ScriptedNode, container: Container, run: Run) -> None:
        seconds = self._rng.expovariate(1 / self._troubles.eviction_mean)
        if run.ends_after is None or seconds < run.ends_after:
            self._clock.call_later(seconds, lambda: node.evict(container.key, _EVICTED))
