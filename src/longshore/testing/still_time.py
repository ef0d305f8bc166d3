"""Warns when a client waits while the clock stands still, and ends the wait after a while.

A client that watches, or asks again and again, waits for ever if no call lets time pass. After
`NOTICE_SECONDS` of real time a line on stderr says so, which the report repeats. After the cluster's
`patience` the request gets an error with that line: 504, or an ERROR event in a watch. Another request, and
each call that lets time pass, begins the count anew.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import msgspec

from longshore.api.errors import StatusError
from longshore.machinery.time.clock import Clock, RealClock
from longshore.testing.held_loop import HeldLoop, RealTimer
from longshore.testing.seen_requests import SeenRequest

NOTICE_SECONDS: Final = 5.0
"""Real seconds that a client waits before a line says so."""
_LOOK_SECONDS: Final = 0.5
_MIN_POLLS: Final = 4
"""A request that is repeated so often without a change in between is a poll."""


class _Wait(msgspec.Struct, eq=False):
    """A waiting client: it waits for an answer, or polls for a change."""

    what: str
    since: float
    task: asyncio.Task[object] | None = None
    times: int = 1
    is_told: bool = False
    error: StatusError | None = None


class StillTime:
    """The waiting clients of one cluster. On the real clock it notes nothing."""

    def __init__(self, clock: Clock, patience: float) -> None:
        self.notes: list[str] = []
        """The lines that were written."""
        self._clock, self._patience = clock, patience
        self._waits: list[_Wait] = []
        self._polls: dict[str, _Wait] = {}
        self._polled_since = 0.0
        self._timer: RealTimer | None = None

    @contextmanager
    def waiting(self, seen: SeenRequest) -> Iterator[None]:
        """Observes the block, in which the running task waits on behalf of a client. Raises StatusError when
        the patience is over."""
        loop = asyncio.get_running_loop()
        if not isinstance(loop, HeldLoop):
            yield
            return
        wait = _Wait(_named(seen), RealClock.monotonic(), asyncio.current_task())
        self._waits.append(wait)
        if self._timer is None:
            self._timer = loop.call_later_real(_LOOK_SECONDS, lambda: self._look(loop))
        try:
            yield
        except asyncio.CancelledError:
            if wait.error is None:
                raise
            assert wait.task is not None, "it runs"
            wait.task.uncancel()
            raise wait.error from None
        finally:
            self._waits.remove(wait)

    def check_poll(self, seen: SeenRequest) -> None:
        """Notes a request. Raises StatusError if a client has repeated the same GET for longer than the
        patience. A write, or time that passes, starts the count anew."""
        loop = asyncio.get_running_loop()
        if not isinstance(loop, HeldLoop):
            return
        if seen.method != "GET" or not loop.stands_still or loop.stands_since != self._polled_since:
            self._polls.clear()
            self._polled_since = loop.stands_since
        if seen.method != "GET" or not loop.stands_still:
            return
        named = f"{seen.method} {seen.path} {seen.query}"
        wait = self._polls.setdefault(named, _Wait(_named(seen), RealClock.monotonic(), times=0))
        wait.times += 1
        if wait.times >= _MIN_POLLS:
            self._judge(wait, RealClock.monotonic() - wait.since)
        if wait.error is not None:
            del self._polls[named]
            raise wait.error

    def _look(self, loop: HeldLoop) -> None:
        self._timer = None
        if self._waits:
            self._timer = loop.call_later_real(_LOOK_SECONDS, lambda: self._look(loop))
        if loop.stands_still:
            for wait in self._waits:
                self._judge(wait, RealClock.monotonic() - max(wait.since, loop.stands_since))

    def _judge(self, wait: _Wait, waited: float) -> None:
        """Writes the warning when it is due. When the patience is over, sets the error and cancels the
        waiting task."""
        again = f" again and again, {wait.times} times" if wait.task is None else ""
        line = (
            f"time stands still at {self._clock.now().isoformat()}; your code waits in {wait.what}{again} "
            f"since {waited:.0f} s: advance the clock, or use clock.flowing"
        )
        if waited >= min(NOTICE_SECONDS, self._patience) and not wait.is_told:
            wait.is_told = True
            self.notes.append(line)
            print(f"longshore: {line}", file=sys.stderr, flush=True)
        if waited >= self._patience and wait.error is None:
            wait.error = StatusError(504, "Timeout", line)
            if wait.task is not None:
                wait.task.cancel()


def _named(seen: SeenRequest) -> str:
    """The request in a few words: `GET /api/v1/pods?watch`."""
    goes_on = next((key for key in ("watch", "follow") if seen.query.get(key)), "")
    return f"{seen.method} {seen.path}{'?' if goes_on else ''}{goes_on}"
