"""Remembers why: the last plans for each object in words, for `longshore why`."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

import msgspec
from msgspec.structs import replace

from longshore.machinery.informers.cache import Key
from longshore.machinery.reasons import Reason

_PER_OBJECT: Final = 20
_OBJECTS: Final = 2000


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

    def __init__(self, *, per_object: int = _PER_OBJECT, objects: int = _OBJECTS) -> None:
        self._per_object, self._objects = per_object, objects
        self._kept: OrderedDict[Key, deque[Explanation]] = OrderedDict()

    def add(self, key: Key, told: Explanation) -> None:
        kept = self._kept.get(key)
        if kept is None:
            kept = self._kept[key] = deque(maxlen=self._per_object)
            if len(self._kept) > self._objects:
                self._kept.popitem(last=False)
        else:
            self._kept.move_to_end(key)
        if kept:
            last = kept[-1]
            if (last.uid, last.why, last.problem) == (told.uid, told.why, told.problem):
                kept[-1] = replace(told, times=last.times + 1)
                return
        kept.append(told)

    @contextmanager
    def telling(self, key: Key, uid: str, now: float, why: tuple[Reason, ...]) -> Iterator[None]:
        """Around carrying a plan out: adds its reasons, and the problem if that raises."""
        problem = ""
        try:
            yield
        except Exception as err:
            problem = str(err) or repr(err)
            raise
        finally:
            self.add(key, Explanation(uid, now, why, problem))

    def of(self, namespace: str, name: str) -> Sequence[Explanation]:
        """Oldest first; empty for an object not looked at lately."""
        return tuple(self._kept.get((namespace, name), ()))
