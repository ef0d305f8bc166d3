"""Why a node will not do for a pod, in upstream's words and in numbers, and what could change it."""

from __future__ import annotations

from typing import Final

import msgspec

from longshore.machinery.reasons import Reason

NODE: Final = 1
"""Wakes when a node came or changed its labels, taints or schedulability."""
ROOM: Final = 2
"""Wakes when a pod left a node, or a node can give more."""
PODS: Final = 4
"""Wakes when pods that others are drawn to came or changed their labels, or namespaces did."""
VOLUMES: Final = 8
"""Wakes when claims, volumes or classes changed."""
EVERYTHING: Final = NODE | ROOM | PODS | VOLUMES


class Failure(msgspec.Struct, frozen=True):
    """One node's answer."""

    reasons: tuple[str, ...]
    """Upstream's words, e.g. `Insufficient cpu`."""
    wakes: int
    """The changes that may help, as flags."""
    resolvable: bool = False
    """Whether removing pods of less priority could help."""
    numbers: tuple[Reason, ...] = ()
    """For people: `asks 4 cpu, node a has 1.5 of 2 left`."""


class Refusal(msgspec.Struct, frozen=True):
    """The reason that holds for every node, such as a missing claim."""

    reason: str
    wakes: int
    resolvable: bool = False
