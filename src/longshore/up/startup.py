"""Settings of the garbage collector for a fast start, most of which is importing modules.

- The garbage collector has nothing to find among modules being imported, so it is paused.
- Afterwards the collector runs less often than by Python's defaults.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

THRESHOLDS = (20_000, 20, 50)
"""Objects of the API are trees, freed without the collector. With Python's own thresholds it spent a quarter
of the time of a run of 10,000 pods looking through caches in which there is nothing to find."""


@contextmanager
def quick_imports() -> Iterator[None]:
    """Pauses the collector during the block, which imports the server."""
    gc.disable()
    try:
        yield
    finally:
        rest_collector()
        gc.enable()


def rest_collector() -> None:
    """Makes the collector run less often, and skip what is imported by now."""
    gc.freeze()  # modules live as long as the process; looking through them again finds nothing
    gc.set_threshold(*THRESHOLDS)


@contextmanager
def resting_collector(*, stays: bool = False) -> Iterator[None]:
    """Pauses the collector during the block. With `stays` all objects then move to the oldest generation
    without a collection, which would take 25 ms of CPU. They do not move if a test has frozen objects itself.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            if stays and not gc.get_freeze_count():
                gc.freeze()
                gc.unfreeze()
            gc.enable()
