"""Limits how many pods of one owner get Normal events about their ordinary life.

Five thousand pods of a Job would cost more in events than in pods. So the first 50 pods of each owner get
events, then 5 per second, much as upstream's recorder limits events about one object. Warnings are not
limited here.
"""

from __future__ import annotations

from typing import Final

from longshore.api.facts import owners
from longshore.api.time.backoff import TokenBucket
from longshore.api.types import Obj

BURST: Final = 50
PER_SECOND: Final = 5.0
_MAX_OWNERS: Final = 1024


class Siblings:
    """Limits the pods of one source of events. Remembers 1024 owners and drops the first that it saw."""

    def __init__(self) -> None:
        self._allowances: dict[str, TokenBucket] = {}

    def is_told_of(self, pod: Obj, seconds: float) -> bool:
        """Whether Normal events are made for this pod. Pods without a controller always get them."""
        owner = owners.controller_of(pod)
        if owner is None:
            return True
        allowance = self._allowances.get(owner["uid"])
        if allowance is None:
            if len(self._allowances) >= _MAX_OWNERS:
                del self._allowances[next(iter(self._allowances))]
            allowance = self._allowances[owner["uid"]] = TokenBucket(PER_SECOND, BURST, seconds)
        return allowance.take(seconds)
