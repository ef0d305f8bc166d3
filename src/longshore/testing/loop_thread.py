"""A thread with its own event loop, for callers that have no loop or run another one."""

from __future__ import annotations

import asyncio
import importlib
import threading
from collections.abc import Callable, Coroutine
from typing import Any, Generic, TypeVar

__tracebackhide__ = True
"""Reports of pytest end at the line of the test that called; `--full-trace` shows the rest."""
L = TypeVar("L", bound=asyncio.AbstractEventLoop)
T = TypeVar("T")


class LoopThread(Generic[L]):
    """Runs until `stop`, or until the process ends."""

    def __init__(self, make_loop: Callable[[], L], name: str) -> None:
        self.loop = make_loop()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Runs a coroutine in the loop, waits, and returns its result. Cancels it if the wait is
        interrupted."""
        if threading.current_thread() is self._thread:
            work.close()
            raise RuntimeError(
                "called from the cluster's own thread: a function of pods must not ask the cluster"
            )
        running = asyncio.run_coroutine_threadsafe(work, self.loop)
        try:
            error = running.exception()
        except BaseException:
            running.cancel()
            raise
        if error is not None:
            raise error  # without the frames of concurrent.futures
        return running.result()

    def call(self, fn: Callable[[], T]) -> T:
        """Calls a function in the loop and returns its result."""

        async def work() -> T:
            return fn()

        return self.run(work())

    def stop(self) -> None:
        """Ends the loop and waits for the thread."""
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        try:
            self.loop.run_forever()
            left = asyncio.all_tasks(self.loop)
            for task in left:
                task.cancel()
            self.loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
            self.loop.run_until_complete(self.loop.shutdown_asyncgens())
            self.loop.run_until_complete(self.loop.shutdown_default_executor())
        finally:
            asyncio.set_event_loop(None)
            self.loop.close()


async def in_thread(work: Callable[[], T]) -> T:
    """Does work in a thread, while the caller's loop goes on: asyncio's or trio's."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        trio = importlib.import_module("trio")
        result: T = await trio.to_thread.run_sync(work)
        return result
    return await asyncio.to_thread(work)
