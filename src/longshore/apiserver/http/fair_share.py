"""A fair share for every client: one that asks without pause does not keep others waiting.

A small version of upstream's priority and fairness. In one turn of the loop the requests of each client may
take a few milliseconds; what it asks beyond waits in its own queue, of which a part is taken in each turn. So
a request of somebody else waits for a few milliseconds of every busy client, however many connections those
have. Whoever has too many waiting gets 429 and the advice to come back.

A client is a user. Administrators often share one name, so theirs are told apart by their programs. Health
and leases are never made to wait.
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
"""Of one client, in one turn of the loop."""
_MAX_WAITING: Final = 512
"""Requests of one client. Each has a connection of its own."""
_EXEMPT_GROUP: Final = "coordination.k8s.io"
"""Leases: who does not renew one in time loses it."""


class FairShare:
    """The shares of all clients of one server."""

    def __init__(self) -> None:
        self._spent: dict[str, float] = {}
        """Seconds of each client in this turn."""
        self._waiting: dict[str, deque[Callable[[], None]]] = {}
        self._is_turning = False

    def must_wait(self, call: Call) -> bool:
        """Whether this client has had its share of the turn, or others of its requests wait already."""
        if not self._spent and not self._waiting:
            return False
        key = client_of(call)
        return (
            self._spent.get(key, 0.0) > _TURN_SECONDS or key in self._waiting
        ) and call.resource.group != _EXEMPT_GROUP

    def spend(self, call: Call, seconds: float) -> None:
        """Counts what a request took."""
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
        """Calls `begin` when it is this client's turn. No task: one for each request that waits took 2 % of
        the instructions of a create (callgrind, 32 connections)."""
        self._waiting.setdefault(client_of(call), deque()).append(begin)
        if not self._is_turning:
            self._is_turning = True
            asyncio.get_running_loop().call_soon(self._turn)

    def _turn(self) -> None:
        """Begins a turn: every client has a share again, and what waits longest begins."""
        taken, self._spent = self._spent, {}
        loop = asyncio.get_running_loop()
        for key, queue in list(self._waiting.items()):
            # As many as fit, by what one took last; at least one.
            share = max(1, int(_TURN_SECONDS / max(taken.get(key, 0.0), _TURN_SECONDS / 8)))
            for _ in range(min(share, len(queue))):
                loop.call_soon(queue.popleft())
            if not queue:
                del self._waiting[key]
        self._is_turning = bool(self._waiting)
        if self._is_turning:
            loop.call_soon(self._turn)


def client_of(call: Call) -> str:
    """The client whose share a request is of."""
    user = call.user
    return f"{user.name}\0{call.agent}" if MASTERS in user.groups else user.name
