"""Notices that the machine slept or its clock was set: timers count running time and would ring too late."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from longshore.machinery.time.clock import Clock

_LOOK_SECONDS: Final = 30.0
_JUMP_SECONDS: Final = 1.0
"""NTP slews clocks a little all the time; a larger difference than this between two looks is a jump."""


async def watch(clock: Clock, jumped: Callable[[], None], *, every: float = _LOOK_SECONDS) -> None:
    """Calls `jumped` after each jump, until cancelled."""
    difference = _difference(clock)
    while True:
        await clock.glance(every)
        before, difference = difference, _difference(clock)
        if abs(difference - before) > _JUMP_SECONDS:
            jumped()


def _difference(clock: Clock) -> float:
    return clock.now().timestamp() - clock.monotonic()
