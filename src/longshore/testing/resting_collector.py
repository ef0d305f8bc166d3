"""Lets Python's collector of garbage rest while much is made that stays: modules, the parts of a cluster."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def resting_collector(*, stays: bool = False) -> Iterator[None]:
    """With `stays` all that was made stays as long as the process: it is moved to the collector's oldest
    generation unseen, where looking through it once takes 25 ms of CPU. Not where a test has frozen objects
    itself.
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
