"""Runs the jobs of the journal one at a time: in a thread if they may wait for a disk, or in the event loop.

Results go to the event loop in either case.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from typing import Protocol, TypeAlias

from longshore.store.errors import WriteFailed

Finished: TypeAlias = Callable[[WriteFailed | None], None]
_Job: TypeAlias = tuple[Callable[[], None], asyncio.AbstractEventLoop, Finished]


class Writer(Protocol):
    def submit(self, job: Callable[[], None], finished: Finished) -> None:
        """Runs `job`, then `finished` in the running loop, with the error if there was one."""

    def stop(self) -> None:
        """Stops after the jobs that were submitted."""


class InTurn:
    """Runs each job in the next turn of the event loop, for a store that keeps nothing. Without a thread, a
    run on a virtual clock repeats step by step."""

    def submit(self, job: Callable[[], None], finished: Finished) -> None:
        asyncio.get_running_loop().call_soon(lambda: finished(attempt(job)))

    def stop(self) -> None:
        """Does nothing: there is no thread."""


class WriterThread:
    """A thread that lives from the first job to `stop`. It is a daemon: the process may be killed at any
    moment anyway, so nothing depends on an orderly end of this thread."""

    def __init__(self) -> None:
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._thread: threading.Thread | None = None

    def submit(self, job: Callable[[], None], finished: Finished) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="longshore-journal", daemon=True)
            self._thread.start()
        self._jobs.put((job, asyncio.get_running_loop(), finished))

    def stop(self) -> None:
        if self._thread is not None:
            self._jobs.put(None)
            self._thread.join()
            self._thread = None

    def _run(self) -> None:
        while (item := self._jobs.get()) is not None:
            job, loop, finished = item
            error = attempt(job)
            with suppress(RuntimeError):  # the loop is closed: nothing waits any more
                loop.call_soon_threadsafe(finished, error)


async def beside(job: Callable[[], None]) -> None:
    """Runs a job in a thread of its own while the journal's jobs go on."""
    await asyncio.to_thread(job)


def attempt(job: Callable[..., None], *args: object) -> WriteFailed | None:
    """Runs a job and returns its error, of any kind, for the waiters."""
    try:
        job(*args)
    except WriteFailed as failed:
        return failed
    except Exception as failed:
        error = WriteFailed(repr(failed))
        error.__cause__ = failed
        return error
    return None
