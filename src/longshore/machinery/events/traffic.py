"""The events of a component on their way to a server: how many may wait, and how many are written at a time.

Shards of one process have a recorder each, so that one that is handed over takes its events along; they share
this. Else a process with eight shards would send eight times as many events at a time as one without, and
keep eight times as many waiting where the other drops them.
"""

from __future__ import annotations

import asyncio
from typing import Final, Protocol
from weakref import ref

MAX_WAITING: Final = 1000
"""Upstream's queue has room for as many."""
WRITERS: Final = 4


class Sender(Protocol):
    """A recorder."""

    @property
    def waiting(self) -> int:
        """Events that wait to be written."""


class Traffic:
    """Of one component in one process."""

    def __init__(self) -> None:
        self.turns = asyncio.Semaphore(WRITERS)
        """Held while an event is written."""
        self._senders: list[ref[Sender]] = []
        """One that never ran goes with whoever made it."""

    def join(self, sender: Sender) -> None:
        self._senders.append(ref(sender, self._senders.remove))

    def leave(self, sender: Sender) -> None:
        """A sender that has ended takes no room, whatever it left unwritten."""
        mine = ref(sender)
        if mine in self._senders:
            self._senders.remove(mine)

    @property
    def is_full(self) -> bool:
        waiting = 0
        for each in self._senders:
            sender = each()
            if sender is not None:
                waiting += sender.waiting
        return waiting >= MAX_WAITING
