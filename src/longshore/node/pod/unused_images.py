"""Images that the process engine does not use: told once for each Job and its images, not for each pod."""

from __future__ import annotations

from typing import Final

from longshore.api.facts import owners
from longshore.api.types import Obj
from longshore.node.pod.facts import Facts

_MAX_REMEMBERED: Final = 1024


class UnusedImages:
    """Remembers whose images were told of lately, and forgets the oldest."""

    def __init__(self) -> None:
        self._told: dict[tuple[str, ...], None] = {}

    def is_news(self, pod: Obj, facts: Facts) -> bool:
        """Whether nobody was told yet that the images of this pod, or of those like it that the same owner
        controls, are not used. From now on they were."""
        owner = owners.controller_of(pod)
        containers = (*facts.inits, *facts.mains)
        images = [container.spec.get("image") or "" for container in containers]
        what = (facts.uid if owner is None else owner["uid"], *images)
        if what in self._told:
            return False
        if len(self._told) >= _MAX_REMEMBERED:
            del self._told[next(iter(self._told))]
        self._told[what] = None
        return True
