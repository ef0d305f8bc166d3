"""Gives free memory back to the system, because the C library gives back little of it by itself.

Objects of all sizes are created and freed, which leaves free memory in fragments. Under a steady load of 20
Jobs a second longshore grew by 16 % from the fifth minute to the thirtieth (bench/soak.py), although it held
no more data. So:

- large blocks are always mapped from the system: by default the C library raises the size that counts as
  large with each block that is freed;
- threads share one heap;
- once a minute all free memory is given back, which takes some milliseconds in a thread of its own.

If the C library has no such calls (musl), nothing is done.
"""

from __future__ import annotations

import asyncio
from typing import Final

from longshore.machinery.time.clock import Clock

_EVERY_SECONDS: Final = 60.0
_LARGE_BYTES: Final = 288 << 10
"""The size from which blocks are mapped from the system. It is above the 256 KiB that uvloop allocates for
each read from a TLS connection: mapping those cost 5 system calls for a one-pod Job."""
_FREE_BYTES: Final = 1 << 20
"""Free memory at the end of the heap that is kept between one such read and the next."""
_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8
"""Options of `mallopt`, from glibc's malloc.h."""


def keep_together() -> None:
    """Sets the C library up, before there are threads: a thread that has a heap of its own keeps it.
    Importing `ctypes` takes 3 ms, a hundredth of a start."""
    _call("mallopt", _MMAP_THRESHOLD, _LARGE_BYTES)
    _call("mallopt", _TRIM_THRESHOLD, _FREE_BYTES)
    _call("mallopt", _ARENA_MAX, 1)


async def give_back(clock: Clock) -> None:
    """Gives free memory back once a minute, until cancelled."""
    while True:
        await clock.sleep(_EVERY_SECONDS)
        await asyncio.to_thread(_call, "malloc_trim", 0)


def _call(name: str, *arguments: int) -> None:
    """Calls this function of the C library, if the library has it."""
    import ctypes

    function = getattr(ctypes.CDLL(None), name, None)
    if function is not None:
        function(*arguments)
