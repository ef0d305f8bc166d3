"""Why a node does not fit a pod, in upstream's words and in numbers, and which changes could help."""

from __future__ import annotations

from typing import Final

import msgspec

from longshore.machinery.reasons import Reason

NODE: Final = 1
"""Flag: retry when a node is added or changes its labels, taints or schedulability."""
ROOM: Final = 2
"""Flag: retry when a pod leaves a node, or a node gets more capacity."""
PODS: Final = 4
"""Flag: retry when pods or namespaces change in a way that affinity rules may see."""
VOLUMES: Final = 8
"""Flag: retry when claims, volumes or classes change."""
EVERYTHING: Final = NODE | ROOM | PODS | VOLUMES


class Failure(msgspec.Struct, frozen=True):
    """Why one node does not fit."""

    reasons: tuple[str, ...]
    """Upstream's words, e.g. `Insufficient cpu`."""
    wakes: int
    """The changes after which to retry, as flags."""
    resolvable: bool = False
    """Whether evicting pods of lower priority could help."""
    numbers: tuple[Reason, ...] = ()
    """Numbers for people: `asks 4 cpu, node a has 1.5 of 2 left`."""


class Refusal(msgspec.Struct, frozen=True):
    """A reason that holds for every node, such as a missing claim."""

    reason: str
    wakes: int
    resolvable: bool = False
