"""Pods of one owner: how many of them have the ordinary course of their lives told by events.

Five thousand pods of a Job that all go the same way would cost more in events than in pods, and nobody reads
them. The first pods of each owner are told of, then some in every second, as upstream's recorder does with
the events about one object. Warnings are no part of this: each is told.
"""

from __future__ import annotations

from typing import Final

from longshore.api.facts import owners
from longshore.api.time.token_bucket import TokenBucket
from longshore.api.types import Obj

BURST: Final = 50
PER_SECOND: Final = 5.0
_MAX_OWNERS: Final = 1024


class Siblings:
    """Of one source of events. Forgets the owners that it met first."""

    def __init__(self) -> None:
        self._allowances: dict[str, TokenBucket] = {}

    def is_told_of(self, pod: Obj, seconds: float) -> bool:
        """Whether this pod is one of those whose ordinary events are made. One without an owner always is."""
        owner = owners.controller_of(pod)
        if owner is None:
            return True
        allowance = self._allowances.get(owner["uid"])
        if allowance is None:
            if len(self._allowances) >= _MAX_OWNERS:
                del self._allowances[next(iter(self._allowances))]
            allowance = self._allowances[owner["uid"]] = TokenBucket(PER_SECOND, BURST, seconds)
        return allowance.take(seconds)
