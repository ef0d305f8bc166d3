"""Keeps the reasons of controllers outside, where no longshore has a store: as Events of the cluster.

At most 50 a second are written, and at most a hundred wait; more are dropped, as is what the server refuses.
Nobody waits for them.
"""

from __future__ import annotations

import asyncio
import logging
import random
from typing import Final

from longshore.api.errors import StatusError
from longshore.api.facts import kinds
from longshore.client import Client, Unreachable
from longshore.machinery.reason_book import Tellers
from longshore.machinery.records import Record
from longshore.machinery.time.clock import Clock
from longshore.why import reason_events

_PER_SECOND: Final = 50
_MAX_WAITING: Final = 100

log = logging.getLogger(__name__)


class EventReasons(Tellers):
    """`run` it beside the controllers."""

    def __init__(self, client: Client, clock: Clock, rng: random.Random) -> None:
        self.dropped = 0
        """Reasons that nobody will see because too many waited."""
        self._client, self._clock, self._rng = client, clock, rng
        self._waiting: list[Record] = []
        self._any = asyncio.Event()
        self._last_micros = 0

    def note(self, record: Record) -> None:
        if len(self._waiting) >= _MAX_WAITING:
            self.dropped += 1
            return
        self._waiting.append(record)
        self._any.set()

    async def run(self) -> None:
        """Writes until cancelled."""
        while True:
            await self._any.wait()
            these, self._waiting = self._waiting[:_PER_SECOND], self._waiting[_PER_SECOND:]
            if not self._waiting:
                self._any.clear()
            for record in these:
                await self._write(record)
            await self._clock.sleep(1.0)

    def _name(self, record: Record) -> str:
        """A name that no other process chooses. Names are in the order of the records, as lists are."""
        self._last_micros = max(int(record.at * 1e6), self._last_micros + 1)
        return f"longshore.{self._last_micros:014x}.{self._rng.getrandbits(32):08x}"

    async def _write(self, record: Record) -> None:
        event = reason_events.event_of(record, self._name(record))
        try:
            await self._client.create(kinds.EVENTS, event, event["metadata"]["namespace"])
        except (StatusError, Unreachable) as err:
            log.debug("a reason of %s/%s is not kept: %s", record.kind, record.name, err)
