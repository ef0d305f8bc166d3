"""Threads in virtual time: a program that waits, sleeps and locks as programs do runs on the virtual loop.

A strand is a thread that runs only while the loop stands still, and the loop goes on only while every strand
waits for it: nothing ever happens at the same time, so the run is the same every time. A strand waits for a
coroutine of the loop (`wait_for`).
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

T = TypeVar("T")

_here = threading.local()


class Ended(BaseException):
    """The run is over: the strand leaves whatever it is doing."""


def loop() -> asyncio.AbstractEventLoop:
    """The loop on which the strand of this thread runs."""
    return _strand()._loop


def wait_for(work: Coroutine[Any, Any, T]) -> T:
    """Lets the loop do this work, and everything else there is to do, and returns what comes of it."""
    answer: T = _strand()._await(work)
    return answer


async def run(work: Callable[[], T]) -> T:
    return await _Strand(work).run()


def _strand() -> _Strand:
    strand: _Strand = _here.strand
    return strand


class _Strand:
    def __init__(self, work: Callable[[], Any]) -> None:
        self._work = work
        self._loop = asyncio.get_running_loop()
        self._turn, self._back = threading.Semaphore(0), threading.Semaphore(0)
        self._wish: Coroutine[Any, Any, Any] | None = None
        self._answer: Future[Any] = Future()
        self._is_over = False
        self._result: Future[Any] = Future()

    async def run(self) -> Any:
        thread = threading.Thread(target=self._main, daemon=True)
        thread.start()
        self._go_on()
        try:
            while self._wish is not None:
                wish, self._wish = self._wish, None
                self._answer = Future()
                try:
                    self._answer.set_result(await wish)
                except Exception as err:  # the strand's to deal with
                    self._answer.set_exception(err)
                self._go_on()
        finally:
            self._is_over = True
            while thread.is_alive():  # cancelled: it leaves at each place where it would wait
                if self._wish is not None:
                    self._wish.close()
                    self._wish = None
                self._turn.release()
                thread.join(0.01)
        return self._result.result()

    def _go_on(self) -> None:
        """Lets the strand run until it waits again, or ends."""
        self._turn.release()
        self._back.acquire()

    def _main(self) -> None:
        _here.strand = self
        self._turn.acquire()
        try:
            self._result.set_result(self._work())
        except Ended:
            pass
        except BaseException as err:  # raised where the strand was started
            self._result.set_exception(err)
        finally:
            self._back.release()

    def _await(self, work: Coroutine[Any, Any, Any]) -> Any:
        if self._is_over:
            work.close()
            raise Ended
        self._wish = work
        self._back.release()
        self._turn.acquire()
        if self._is_over:
            raise Ended
        return self._answer.result()
