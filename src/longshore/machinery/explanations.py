"""Remembers why: the last plans for each object in words. What is new in them goes to the book of reasons."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

import msgspec
from msgspec.structs import replace

from longshore.machinery.informers.cache import Key
from longshore.machinery.reasons import PASSING, Reason
from longshore.machinery.records import PROBLEM

_PER_OBJECT: Final = 20
_OBJECTS: Final = 2000

Tell = Callable[[Key, str, float, Reason], None]
"""Takes one new reason: the object's key and UID, the time in seconds since 1970, and the reason."""


class Explanation(msgspec.Struct):
    """One decision about an object, and the rules behind it. Repeats in a row are one, with a count.

    Nobody changes one. It is not `frozen`, as every look makes one: that would cost ten times as much.
    """

    uid: str
    at: float
    """Seconds since 1970, of the last time."""
    why: tuple[Reason, ...]
    problem: str = ""
    """The error that kept the plan from being carried out; empty without one."""
    times: int = 1


class Explanations:
    """Of the objects looked at lately; those not looked at for longest are forgotten first."""

    def __init__(
        self, tell: Tell | None = None, *, per_object: int = _PER_OBJECT, objects: int = _OBJECTS
    ) -> None:
        """`tell` is called with each reason that was not said at the last look, but for passing ones."""
        self._tell, self._per_object, self._objects = tell, per_object, objects
        self._kept: OrderedDict[Key, deque[Explanation]] = OrderedDict()

    def add(self, key: Key, told: Explanation) -> None:
        kept = self._kept.get(key)
        if kept is None:
            kept = self._kept[key] = deque(maxlen=self._per_object)
            if len(self._kept) > self._objects:
                self._kept.popitem(last=False)
        else:
            self._kept.move_to_end(key)
        last = None
        if kept:
            last = kept[-1]
            if (last.uid, last.why, last.problem) == (told.uid, told.why, told.problem):
                kept[-1] = replace(told, times=last.times + 1)
                return
        kept.append(told)
        if self._tell is not None:
            self._say(self._tell, key, told, last)

    def _say(self, tell: Tell, key: Key, told: Explanation, last: Explanation | None) -> None:
        before: tuple[Reason, ...] = ()
        problem = ""
        if last is not None and last.uid == told.uid:
            problem = last.problem
            before = () if problem else last.why  # a plan that was not carried out is told again
        for reason in told.why:
            if reason.code not in PASSING and reason not in before:
                tell(key, told.uid, told.at, reason)
        if told.problem and told.problem != problem:
            tell(key, told.uid, told.at, Reason(PROBLEM, told.problem))

    @contextmanager
    def telling(self, key: Key, uid: str, now: float, why: tuple[Reason, ...]) -> Iterator[None]:
        """Around carrying a plan out: adds its reasons, and the problem if that raises."""
        problem = ""
        try:
            yield
        except Exception as err:  # remembered, whatever it is, and raised again
            problem = str(err) or repr(err)
            raise
        finally:
            self.add(key, Explanation(uid, now, why, problem))

    def of(self, namespace: str, name: str) -> Sequence[Explanation]:
        """Oldest first; empty for an object not looked at lately."""
        return tuple(self._kept.get((namespace, name), ()))
