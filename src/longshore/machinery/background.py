"""Runs coroutines in the background. The event loop itself holds its tasks only weakly."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Iterable
from typing import Any

log = logging.getLogger(__name__)


class Background:
    """Runs each coroutine in a task, which it holds until the end. Logs `failed` if a coroutine raises."""

    def __init__(self, failed: str = "an errand failed") -> None:
        self._failed = failed
        self._tasks: set[asyncio.Task[object]] = set()

    def spawn(self, errand: Coroutine[Any, Any, object]) -> None:
        """Starts the coroutine after this turn of the event loop. Returns at once."""
        task = asyncio.get_running_loop().create_task(errand)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[object]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (err := task.exception()) is not None:
            log.error(self._failed, exc_info=err)

    def cancel(self) -> list[asyncio.Task[object]]:
        """Cancels all tasks and returns them; gather them to wait for their end."""
        tasks = [*self._tasks]
        for task in tasks:
            task.cancel()
        return tasks


async def cancelled(tasks: Iterable[asyncio.Future[Any]]) -> None:
    """Cancels tasks and waits for their ends, however they end."""
    ending = [*tasks]
    for task in ending:
        task.cancel()
    await asyncio.gather(*ending, return_exceptions=True)
