"""How the cost of a piece of work grows with its size, in CPU time of this process.

A ratio says what no figure in seconds can: a busy machine makes both runs slower. Work whose cost is the
square of its size is far beyond the bound, and linear work far below.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Awaitable, Callable
from typing import Final

FACTOR: Final = 8
"""How much larger the larger work is."""
MAX_RATIO: Final = 20.0
"""Of linear work it is 8, of the square 64; with half of the work square it is 36."""
_TOO_SHORT_SECONDS: Final = 0.03
"""Work that takes no longer says nothing: its ratio is of other things."""
_TRIES: Final = 3


async def ratio(work: Callable[[int], Callable[[], Awaitable[object]]], size: int) -> float:
    """How many times as long `work` of this size takes as that of an eighth. `work` prepares, and returns
    the part that is measured. 1 for work that takes next to nothing."""
    large = await _seconds(work(size))
    if large < _TOO_SHORT_SECONDS:
        return 1.0
    small = await _seconds(work(size // FACTOR))
    for _ in range(_TRIES):
        if large / small <= MAX_RATIO:
            break
        large, small = (
            min(large, await _seconds(work(size))),
            max(small, await _seconds(work(size // FACTOR))),
        )
    return large / small


async def _seconds(run: Callable[[], Awaitable[object]]) -> float:
    gc.collect()  # the garbage of others is not this work's
    began = time.process_time()
    await run()
    return max(time.process_time() - began, 1e-4)
