"""Troubles of a simulation beside the pods' own: nodes that fail, pods that are evicted."""

from __future__ import annotations

import random

import msgspec


class Troubles(msgspec.Struct, frozen=True):
    """Mean times, in seconds; 0 means that it never happens."""

    node_mtbf: float = 0.0
    """Between two failures of one node."""
    node_repair: float = 600.0
    """From a failure of a node until it is back."""
    eviction_mean: float = 0.0
    """Of running time until a pod is evicted."""

    def next_failure(self, rng: random.Random) -> float | None:
        """Seconds until a node fails; None for never."""
        return rng.expovariate(1 / self.node_mtbf) if self.node_mtbf else None

    def eviction(self, rng: random.Random) -> float | None:
        """Seconds of running until a pod is evicted; None for never."""
        return rng.expovariate(1 / self.eviction_mean) if self.eviction_mean else None
