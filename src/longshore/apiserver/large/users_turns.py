"""One large body at a time, and users take turns: a user that sends many delays only its own."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class UsersTurns:
    """The turns of all users of one server."""

    def __init__(self) -> None:
        self._is_taken = False
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}
        """Calls that wait, by user; the first user is next."""

    @asynccontextmanager
    async def of(self, user: str) -> AsyncIterator[None]:
        """Waits for a turn of this user, which lasts as long as the block."""
        await self._begin(user)
        try:
            yield
        finally:
            self._pass_on()

    async def _begin(self, user: str) -> None:
        if not self._is_taken:
            self._is_taken = True
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(user, deque()).append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():
                self._pass_on()  # it came at the last moment
            raise

    def _pass_on(self) -> None:
        while self._waiting:
            user = next(iter(self._waiting))
            queue = self._waiting.pop(user)
            turn = queue.popleft()
            if queue:
                self._waiting[user] = queue  # behind all others
            if not turn.done():
                turn.set_result(None)
                return
        self._is_taken = False
