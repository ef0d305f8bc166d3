"""The signals that stop longshore: Ctrl-C, SIGTERM, and SIGHUP when its terminal goes away."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from typing import Final

_NUMBERS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def on_signal(asked: Callable[[], object]) -> None:
    """Calls `asked` at the first of these signals. A second signal ends the process at once.

    SIGINT and SIGHUP stay ignored if they were when the process started: `nohup` relies on that, and Ctrl-C
    at a script must not stop what the script started with `&`. SIGTERM always stops.
    """
    loop = asyncio.get_running_loop()
    numbers = [n for n in _NUMBERS if n == signal.SIGTERM or signal.getsignal(n) != signal.SIG_IGN]

    def once() -> None:
        for number in numbers:
            loop.remove_signal_handler(number)
        asked()

    for number in numbers:
        loop.add_signal_handler(number, once)
