"""Waits for many things at once: descriptors, named timers, and the end of children. One thread, no tasks."""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Callable

READ, WRITE = select.EPOLLIN, select.EPOLLOUT


class Loop:
    def __init__(self) -> None:
        self._poll = select.epoll()
        self._handlers: dict[int, Callable[[int], None]] = {}
        self._timers: dict[str, tuple[float, Callable[[], None]]] = {}
        self._stopped = False
        self._signals: list[Callable[[], None]] = []
        self._woken, wake = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        self.add(self._woken, self._on_signals)

    def on_signal(self, number: int, handler: Callable[[], None]) -> Callable[[], None]:
        """Calls `handler` from the loop, once for any number of signals that arrived together. Returns a
        function for use in long work, which calls the handler at once if a signal has arrived."""
        pending: list[int] = []

        def note(number: int, frame: object) -> None:
            pending.append(number)

        def handle() -> None:
            if pending:
                pending.clear()
                handler()

        signal.signal(number, note)
        self._signals.append(handle)
        return handle

    def add(self, fd: int, handler: Callable[[int], None], mask: int = READ) -> None:
        self._handlers[fd] = handler
        self._poll.register(fd, mask)

    def change(self, fd: int, mask: int) -> None:
        self._poll.modify(fd, mask)

    def remove(self, fd: int) -> None:
        """Stops watching a descriptor, which must still be open."""
        if self._handlers.pop(fd, None) is not None:
            self._poll.unregister(fd)

    def at(self, name: str, seconds: float, handler: Callable[[], None]) -> None:
        """Calls `handler` once, `seconds` from now, unless a timer of that name is due earlier."""
        due = time.monotonic() + seconds
        known = self._timers.get(name)
        if known is None or due < known[0]:
            self._timers[name] = (due, handler)

    def stop(self) -> None:
        self._stopped = True

    def run(self) -> None:
        while not self._stopped:
            wait = -1.0
            if self._timers:
                wait = max(0.0, min(due for due, _ in self._timers.values()) - time.monotonic())
            for fd, mask in self._poll.poll(wait):
                handler = self._handlers.get(fd)
                if handler is not None:
                    handler(mask)
            if self._timers:
                self._run_timers()

    def _on_signals(self, mask: int) -> None:
        os.read(self._woken, 4096)
        for handle in self._signals:
            handle()

    def _run_timers(self) -> None:
        now = time.monotonic()
        for name, (due, handler) in list(self._timers.items()):
            if due <= now:
                del self._timers[name]
                handler()
