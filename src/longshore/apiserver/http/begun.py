"""The six states a request can be in once everything that needs no waiting is done.

`Ready`, `Durable` and `Queued` need no task. The other three run in one, which ends with the connection.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Protocol, TypeAlias

import msgspec

if TYPE_CHECKING:
    from longshore.api.errors import StatusError
    from longshore.apiserver.http.client_connection import Connection
    from longshore.apiserver.http.request import Request
    from longshore.apiserver.http.response import Reply
    from longshore.apiserver.http.sender import Sender
    from longshore.store import Staged


class Ready(msgspec.Struct, frozen=True):
    """The request is answered."""

    reply: Reply


class Durable(msgspec.Struct, frozen=True):
    """A write that is staged. Its answer may be shown once `last` is durable.

    The journal keeps the order of writes, and a failed write fails all later ones, so the last one stands for
    all.
    """

    last: Staged
    reply: Callable[[Exception | None], Reply]
    """Makes the answer, from the error if the write was lost. Never raises."""


async def _nothing_to_drop() -> None: ...


class Streams(msgspec.Struct, frozen=True):
    """A streamed answer: a watch, a log."""

    run: Callable[[Sender], Awaitable[None]]
    drop: Callable[[], Awaitable[None]] = _nothing_to_drop
    """Called in place of `run` by a caller that has no use for streams."""


class Upgrades(msgspec.Struct, frozen=True):
    """A request to change the connection's protocol. `run` raises StatusError if that is impossible."""

    run: Callable[[Connection, Request], Awaitable[None]]


class Waits(msgspec.Struct, frozen=True):
    """The request waits for something: a resourceVersion that is not reached yet, a measurement, a log."""

    work: Callable[[], Awaitable[Ready | Streams | Upgrades]]


class Queued(msgspec.Struct, frozen=True):
    """A request whose client has used up its share of this turn of the loop."""

    when_due: Callable[[Callable[[], None]], None]
    """Calls back once, in a later turn. Then the caller calls `begin`, unless the client has gone."""
    begin: Callable[[], Begun]
    """Begins the request, which becomes any state but `Queued`."""


Begun: TypeAlias = "Ready | Durable | Waits | Streams | Upgrades | Queued"


class Exchange(Protocol):
    """One request on its way, between its head and its answer."""

    refusal: Reply | None
    """The answer, when the head alone is reason to refuse."""


class Front(Protocol):
    """The answering side of a server, as its connections call it. Nothing here raises."""

    def admit(self, request: Request) -> Exchange:
        """Checks the head of a request whose body has not arrived yet."""

    def begin(self, request: Request) -> Begun:
        """Begins a request that has arrived whole."""

    def refuse(self, request: Request, problem: StatusError | Exception) -> Reply:
        """The answer to a request that is no HTTP, or whose task has failed."""

    def close(self) -> None:
        """Ends every stream."""
