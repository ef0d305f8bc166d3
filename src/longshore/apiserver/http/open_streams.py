"""The streams of one server that are open: how many there may be, what they share, and when all must end."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

from longshore.api import errors
from longshore.apiserver.http.fanout import Fanout

if TYPE_CHECKING:
    from longshore.apiserver.metrics import Metrics
    from longshore.apiserver.request.call import Call

MAX_POD_STREAMS: Final = 1000
"""Each stream holds a connection and a few tasks, and most hold a process of the node. A client that reads
nothing may hold one for hours, so one client gets at most as many as remain for all others."""


class PodStreams:
    """Logs and connections to pods. All end once `closing` is set."""

    def __init__(self, closing: asyncio.Event) -> None:
        self.closing = closing
        self._open: Counter[str] = Counter()
        """The number of open streams by client, as `fair_share.client_of` names it."""

    def opened(self, client: str) -> None:
        """Counts one more stream; raises 429 at the limit for all clients together or for this one."""
        left, own = MAX_POD_STREAMS - self._open.total(), self._open[client]
        if left <= 0:
            raise _too_many(
                f"{MAX_POD_STREAMS} logs and connections to pods are open, which is as many as there may be; "
                "please try again later"
            )
        if own > left:
            raise _too_many(
                f"{own} of the {MAX_POD_STREAMS} logs and connections to pods that may be open are yours, "
                "and the others are for others; please end one first"
            )
        self._open[client] += 1

    def ended(self, client: str) -> None:
        """Counts one less."""
        self._open[client] -= 1
        if not self._open[client]:
            del self._open[client]


def _too_many(message: str) -> errors.StatusError:
    return errors.StatusError(429, "TooManyRequests", message, details={"retryAfterSeconds": 1})


class Watching:
    """All watches. They end once `closing` is set."""

    def __init__(self, metrics: Metrics, closing: asyncio.Event) -> None:
        self.closing, self.fanout = closing, Fanout()
        self._metrics = metrics

    def began(self, call: Call) -> None:
        """Counts one more."""
        self._metrics.watching(call, +1)
        self.fanout.watchers += 1

    def ended(self, call: Call) -> None:
        """Counts one less."""
        self.fanout.watchers -= 1
        self._metrics.watching(call, -1)


async def until_closing(
    work: asyncio.Future[None], closing: asyncio.Event, *others: asyncio.Future[None]
) -> None:
    """Waits until `work`, one of `others` or the server ends, then cancels all of them."""
    stopping = asyncio.ensure_future(closing.wait())
    every: list[asyncio.Future[Any]] = [work, stopping, *others]
    try:
        await asyncio.wait(every, return_when=asyncio.FIRST_COMPLETED)
        if work.done():
            work.result()
    finally:
        await cancelled(every)


async def cancelled(tasks: Iterable[asyncio.Future[Any]]) -> None:
    """Cancels tasks and waits for their ends, however they end."""
    ending = [*tasks]
    for task in ending:
        task.cancel()
    await asyncio.gather(*ending, return_exceptions=True)
