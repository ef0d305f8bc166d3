"""A client with random faults: refusals, lost answers, broken and expired watches, caches that lag.

| fault | what it does |
| --- | --- |
| 409 | an update, patch or delete is refused as if another client had been quicker |
| 429, 500 | any request is refused |
| lost request | a write never reaches the server, and no answer comes |
| lost answer | a write takes place, and no answer comes |
| slow | a write takes place seconds later, and is answered later still |
| 410 | a watch gets 410, because its version is forgotten, at its start or later |
| broken | a watch ends without a word or with an error |
| lag | a watch delivers changes seconds late, each stream with its own delay |

With the same seed on the virtual clock the same faults strike at the same moments.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, ClassVar, Final

from longshore.api.errors import StatusError
from longshore.client import Client, TimedOut, Unreachable, WatchEvent
from longshore.client.ask import Ask
from longshore.client.source import Watching
from longshore.machinery.time.clock import Clock
from longshore.testing.crashing import READS, OneByOne, Send

_LOST_ANSWER, _SLOW_WRITE = "lost answer", "slow"


class FaultyClient(OneByOne):
    """`rate` is the share of requests that a fault strikes (0.1 is one in ten), `lag` the longest delay of a
    watched change, in seconds. Changes keep their order, so the delays of one watch add up."""

    slow_seconds: ClassVar = 3.0
    """The longest delay of a slow write in seconds, and of its answer after that."""

    def __init__(
        self, client: Client, clock: Clock, seed: int, *, rate: float = 0.1, lag: float = 3.0
    ) -> None:
        super().__init__(client)
        self.happened: Counter[str] = Counter()
        self._clock, self._rate, self._lag = clock, rate, lag
        self._rng = random.Random(seed)

    def calm(self) -> None:
        """Stops all faults and delays."""
        self._rate = self._lag = 0.0

    async def reach(self, ask: Ask, send: Send) -> Any:
        if ask.verb in READS:
            self._maybe("read", throttled, broken, unanswered)
            return await send(ask)
        if self._rng.random() >= self._rate:
            return await send(ask)
        fault = self._rng.choice(_OF_CREATES if ask.verb == "create" else _OF_CHANGES)
        self.happened[fault if isinstance(fault, str) else fault.__name__] += 1
        if fault == _SLOW_WRITE:
            await self._clock.sleep(self._rng.random() * self.slow_seconds)
            answer = await send(ask)
            await self._clock.sleep(self._rng.random() * self.slow_seconds)
            return answer
        if fault == _LOST_ANSWER:
            await send(ask)
        await self._clock.sleep(self._rng.random())
        raise unanswered() if isinstance(fault, str) else fault()

    @asynccontextmanager
    async def _events(self, ask: Ask) -> AsyncIterator[Watching]:
        self._maybe("watch", throttled, broken, unanswered)
        if "resourceVersion" in ask.query:
            self._maybe("watch", forgotten)
        async with super()._events(ask) as events:
            yield Watching(self._late(events))

    async def _late(self, events: AsyncIterator[WatchEvent]) -> AsyncIterator[WatchEvent]:
        async for event in events:
            dice = self._rng.random()
            if dice < self._rate / 5:
                self.happened["watch ends"] += 1
                return
            if dice < self._rate / 2:
                self._raise("watch breaks", self._rng.choice((forgotten, cut)))
            if dice > 0.7:
                self.happened["lag"] += 1
                await self._clock.sleep(self._lag * self._rng.random())
            yield event

    def _maybe(self, where: str, *faults: Callable[[], Exception]) -> None:
        if self._rng.random() < self._rate:
            self._raise(where, self._rng.choice(faults))

    def _raise(self, where: str, fault: Callable[[], Exception]) -> None:
        self.happened[f"{where}: {fault.__name__}"] += 1
        raise fault()


def conflict() -> Exception:
    return StatusError(409, "Conflict", "the object has been modified")


def throttled() -> Exception:
    return StatusError(429, "TooManyRequests", "too many requests, please try again later")


def broken() -> Exception:
    return StatusError(500, "InternalError", "an error on the server")


def forgotten() -> Exception:
    return StatusError(410, "Expired", "too old resource version")


def unanswered() -> Exception:
    return TimedOut("no answer in time")


def cut() -> Exception:
    return Unreachable("connection reset by peer")


_OF_CREATES: Final[tuple[Callable[[], Exception] | str, ...]] = (
    throttled, broken, unanswered, _LOST_ANSWER, _SLOW_WRITE,
)  # fmt: skip
_OF_CHANGES: Final = (*_OF_CREATES, conflict)
