"""A client for the parts that a kit is played against: all that goes wrong between them and an API server.

A `FaultyClient` but for watches, which many scenarios share here: they break now and then, and are
never late.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

from longshore.client import WatchEvent
from longshore.testing.faulty_client import FaultyClient, cut, forgotten

_EVENTS_OF_A_WATCH = 150
"""After about so many it ends, each time in another way."""


class KitFaults(FaultyClient):
    slow_seconds = 0.4

    async def _late(self, events: AsyncIterator[WatchEvent]) -> AsyncIterator[WatchEvent]:
        ends = self._rng.choice((None, forgotten, cut))
        left = round(_EVENTS_OF_A_WATCH * (0.5 + self._rng.random()))
        is_listed = False
        async for event in events:
            yield event
            is_listed = is_listed or event.type != "ADDED"  # a list that came as a stream is at its end
            left -= is_listed
            if self._rate and left <= 0:
                self.happened["watch ends" if ends is None else f"watch breaks: {ends.__name__}"] += 1
                if ends is None:
                    return
                raise ends()
