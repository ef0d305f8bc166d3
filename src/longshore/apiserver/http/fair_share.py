"""A fair share for every client: a client that sends requests without pause does not keep others waiting.

A small version of upstream's priority and fairness. In one turn of the loop the requests of each client may
take a few milliseconds; further requests wait in the client's own queue, of which a part is taken in each
turn. So a request of another client waits a few milliseconds for every busy client, however many connections
those have. A client with too many waiting requests gets a 429 with retryAfterSeconds.

A client is a user. Administrators often share one name, so they are distinguished by user agent. Health
checks and Leases never wait.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from longshore.api import errors
from longshore.apiserver.access.authz import MASTERS

if TYPE_CHECKING:
    from longshore.apiserver.request.call import Call

_TURN_SECONDS: Final = 0.005
"""Seconds that one client may use in one turn of the loop."""
_MAX_WAITING: Final = 512
"""Waiting requests of one client. Each has a connection of its own."""
_EXEMPT_GROUP: Final = "coordination.k8s.io"
"""The group of Leases, which do not wait: a holder that renews too late loses its Lease."""


class FairShare:
    """The shares of all clients of one server."""

    def __init__(self) -> None:
        self._spent: dict[str, float] = {}
        """Seconds that each client has used in this turn."""
        self._waiting: dict[str, deque[Callable[[], None]]] = {}
        self._is_turning = False

    def must_wait(self, call: Call) -> bool:
        """Whether this client has used up its share of the turn, or other requests of it wait already."""
        if not self._spent and not self._waiting:
            return False
        key = client_of(call)
        return (
            self._spent.get(key, 0.0) > _TURN_SECONDS or key in self._waiting
        ) and call.resource.group != _EXEMPT_GROUP

    def spend(self, call: Call, seconds: float) -> None:
        """Adds the seconds of a request to its client's share."""
        key = client_of(call)
        self._spent[key] = self._spent.get(key, 0.0) + seconds
        if not self._is_turning:
            self._is_turning = True
            asyncio.get_running_loop().call_soon(self._turn)

    def check_room(self, call: Call) -> None:
        """Raises 429 if too many requests of this client wait."""
        if len(self._waiting.get(client_of(call), ())) >= _MAX_WAITING:
            raise errors.StatusError(
                429,
                "TooManyRequests",
                "too many requests, please try again later",
                details={"retryAfterSeconds": 1},
            )

    def when_due(self, call: Call, begin: Callable[[], None]) -> None:
        """Calls `begin` when it is this client's turn. A queue instead of a task for each waiting request:
        tasks took 2 % of the instructions of a create (callgrind, 32 connections)."""
        self._waiting.setdefault(client_of(call), deque()).append(begin)
        if not self._is_turning:
            self._is_turning = True
            asyncio.get_running_loop().call_soon(self._turn)

    def _turn(self) -> None:
        """Begins a turn: renews every client's share, and begins its oldest waiting requests."""
        taken, self._spent = self._spent, {}
        loop = asyncio.get_running_loop()
        for key, queue in list(self._waiting.items()):
            # As many as fit into a turn, by the time used in the last one; at least one.
            share = max(1, int(_TURN_SECONDS / max(taken.get(key, 0.0), _TURN_SECONDS / 8)))
            for _ in range(min(share, len(queue))):
                loop.call_soon(queue.popleft())
            if not queue:
                del self._waiting[key]
        self._is_turning = bool(self._waiting)
        if self._is_turning:
            loop.call_soon(self._turn)


def client_of(call: Call) -> str:
    """The client to whose share a request counts."""
    user = call.user
    return f"{user.name}\0{call.agent}" if MASTERS in user.groups else user.name
