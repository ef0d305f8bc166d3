"""Remembers why: the last plans of each Job in words, for `longshore why job/NAME`."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from longshore.machinery.cache import Key

_PER_JOB: Final = 20
_JOBS: Final = 2000


@dataclass(frozen=True, slots=True)
class Explanation:
    """What one sync decided, and by which rules. Repeats in a row are one, with a count."""

    uid: str
    at: float
    """Seconds since 1970, of the last time."""
    why: tuple[str, ...]
    problem: str = ""
    """What kept it from being carried out; empty when nothing did."""
    times: int = 1


class History:
    """The explanations of the Jobs looked at lately; those not looked at for longest are forgotten first."""

    def __init__(self, *, per_job: int = _PER_JOB, jobs: int = _JOBS) -> None:
        self._per_job, self._jobs = per_job, jobs
        self._kept: OrderedDict[Key, deque[Explanation]] = OrderedDict()

    def add(self, key: Key, told: Explanation) -> None:
        kept = self._kept.get(key)
        if kept is None:
            kept = self._kept[key] = deque(maxlen=self._per_job)
            if len(self._kept) > self._jobs:
                self._kept.popitem(last=False)
        else:
            self._kept.move_to_end(key)
        if kept:
            last = kept[-1]
            if (last.uid, last.why, last.problem) == (told.uid, told.why, told.problem):
                kept[-1] = replace(told, times=last.times + 1)
                return
        kept.append(told)

    def of(self, namespace: str, name: str) -> Sequence[Explanation]:
        """Oldest first; empty for a Job not looked at lately."""
        return tuple(self._kept.get((namespace, name), ()))
