"""Remembers the last plans for each object and their reasons; new reasons are passed on to be recorded."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

import msgspec
from msgspec.structs import replace

from longshore.machinery import catalogue
from longshore.machinery.catalogue import Place
from longshore.machinery.informers.cache import Key
from longshore.machinery.reasons import Reason
from longshore.machinery.records import PROBLEM

_MAX_PER_OBJECT: Final = 20
_MAX_OBJECTS: Final = 2000

Tell = Callable[[Key, str, float, Reason], None]
"""Takes one new reason: the object's key, its UID, the time in seconds since 1970, and the reason."""


class Explanation(msgspec.Struct):
    """One decision about an object, and its reasons. Equal decisions in a row are one, with a count.

    Never changed once made. Not `frozen`: every sync makes one, and `frozen` would cost ten times as much.
    """

    uid: str
    at: float
    """The time of the last repetition, in seconds since 1970."""
    why: tuple[Reason, ...]
    problem: str = ""
    """The error with which the plan failed; empty if it did not fail."""
    times: int = 1


class Explanations:
    """Keeps explanations of the objects that were synced most recently, and drops the others."""

    def __init__(
        self, tell: Tell | None = None, *, per_object: int = _MAX_PER_OBJECT, objects: int = _MAX_OBJECTS
    ) -> None:
        """`tell` is called with each reason that the previous sync did not have, except passing ones."""
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
            before = () if problem else last.why  # a plan that was not carried out is recorded again
        new = [reason for reason in told.why if _is_kept(reason) and reason not in before]
        for reason in new:
            tell(key, told.uid, told.at, reason)
        if told.problem and (new or told.problem != problem):  # else the new reasons count as carried out
            tell(key, told.uid, told.at, Reason(PROBLEM, {"message": told.problem}))

    @contextmanager
    def telling(self, key: Key, uid: str, now: float, why: tuple[Reason, ...]) -> Iterator[None]:
        """Context around acting on a plan: adds its reasons, and the error if the block raises."""
        problem = ""
        try:
            yield
        except Exception as err:  # any error is remembered and raised again
            problem = str(err) or repr(err)
            raise
        finally:
            self.add(key, Explanation(uid, now, why, problem))

    def of(self, namespace: str, name: str) -> Sequence[Explanation]:
        """The explanations of an object, oldest first; empty if it was not synced lately."""
        return tuple(self._kept.get((namespace, name), ()))


def _is_kept(reason: Reason) -> bool:
    return catalogue.place(reason.code) is not Place.PASSING
