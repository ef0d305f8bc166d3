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

from longshore.machinery.time.clock import Clock
from longshore.node.runtime import Container
from longshore.scripts.runs import Run
from longshore.testing.scripted_node import ScriptedNode

_EVICTED: Final = "The pod was evicted in the simulation"


class Troubles(msgspec.Struct, frozen=True):
    """Mean times in seconds; with a mean time of 0 it never happens."""

    node_mtbf: float = 0.0
    """Mean time between two failures of one node."""
    node_repair: float = 600.0
    """Time from a failure of a node until it is back."""
    eviction_mean: float = 0.0
    """Mean running time until a pod is evicted."""


NO_TROUBLES: Final = Troubles()


class NodeTroubles:
    """The troubles of some nodes. `rng` chooses their moments."""

    def __init__(
        self, nodes: Sequence[ScriptedNode], clock: Clock, troubles: Troubles, rng: random.Random
    ) -> None:
        self._nodes, self._clock, self._troubles, self._rng = nodes, clock, troubles, rng
        self._under_way: set[asyncio.Task[None]] = set()
        self.failures = 0
        """How often a node failed."""
        if troubles.eviction_mean:
            for node in nodes:
                node.started = partial(self._expect_eviction, node)

    def begin(self) -> None:
        if self._troubles.node_mtbf:
            for node in self._nodes:
                self._expect_failure(node)

    def _expect_failure(self, node: ScriptedNode) -> None:
        seconds = self._rng.expovariate(1 / self._troubles.node_mtbf)
        self._clock.call_later(seconds, lambda: self._spawn(node))

    def _spawn(self, node: ScriptedNode) -> None:
        task = asyncio.ensure_future(self._fail(node))
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)

    async def _fail(self, node: ScriptedNode) -> None:
        self.failures += 1
        await node.fail(_EVICTED)
        await self._clock.sleep(self._troubles.node_repair)
        await node.repair()
        self._expect_failure(node)

    def _expect_eviction(self, node: ScriptedNode, container: Container, run: Run) -> None:
        seconds = self._rng.expovariate(1 / self._troubles.eviction_mean)
        if run.ends_after is None or seconds < run.ends_after:
            self._clock.call_later(seconds, lambda: node.evict(container.key, _EVICTED))
