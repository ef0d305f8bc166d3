"""The six things that a request can have become by the time all that can be done at once is done.

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
    """Answered."""

    reply: Reply


class Durable(msgspec.Struct, frozen=True):
    """A write that is staged. Its answer may be shown once `last` is durable.

    The journal keeps the order of writes, and one that fails takes all behind it along, so the last speaks
    for all.
    """

    last: Staged
    reply: Callable[[Exception | None], Reply]
    """Makes the answer, from the error if the write was lost. Never raises."""


async def _nothing_to_drop() -> None: ...


class Streams(msgspec.Struct, frozen=True):
    """An answer that goes on: a watch, a log."""

    run: Callable[[Sender], Awaitable[None]]
    drop: Callable[[], Awaitable[None]] = _nothing_to_drop
    """For whoever has no use for streams, in place of `run`."""


class Upgrades(msgspec.Struct, frozen=True):
    """The wish for another protocol on this connection. `run` raises StatusError if it cannot be had."""

    run: Callable[[Connection, Request], Awaitable[None]]


class Waits(msgspec.Struct, frozen=True):
    """Something has to come first: a version that is not there yet, a measurement, a log."""

    work: Callable[[], Awaitable[Ready | Streams | Upgrades]]


class Queued(msgspec.Struct, frozen=True):
    """A request whose client has had its share of this turn of the loop."""

    when_due: Callable[[Callable[[], None]], None]
    """Calls back in a later turn, once. The caller then begins, if anybody still waits for the answer."""
    begin: Callable[[], Begun]
    """Begins the request, which becomes anything but this."""


Begun: TypeAlias = "Ready | Durable | Waits | Streams | Upgrades | Queued"


class Exchange(Protocol):
    """One request on its way, between its head and its answer."""

    refusal: Reply | None
    """The answer, when the head alone is reason to refuse."""


class Front(Protocol):
    """The answering side of a server, as its connections call it. Nothing here raises."""

    def admit(self, request: Request) -> Exchange:
        """Looks at a head whose body is still to come."""

    def begin(self, request: Request) -> Begun:
        """Begins a request that is whole."""

    def refuse(self, request: Request, problem: StatusError | Exception) -> Reply:
        """The answer to a request that is no HTTP, or whose task has failed."""

    def close(self) -> None:
        """Tells every stream to end."""
