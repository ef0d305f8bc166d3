"""Gives memory that is free back to the system, once a minute.

Objects come and go in all sizes, and the C library keeps what they leave behind. Under a steady load of 20
Jobs a second longshore grew by 16 % from the fifth minute to the thirtieth (bench/soak.py), and nothing in it
was new. Trimming takes some milliseconds in a thread of its own. Where the C library has no such call (musl),
nothing is done.
"""

from __future__ import annotations

import asyncio
from typing import Final

from longshore.machinery.time.clock import Clock

_EVERY_SECONDS: Final = 60.0


async def give_back(clock: Clock) -> None:
    """Runs until cancelled."""
    while True:
        await clock.sleep(_EVERY_SECONDS)
        await asyncio.to_thread(_trim)


def _trim() -> None:
    import ctypes  # some milliseconds of a start

    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
