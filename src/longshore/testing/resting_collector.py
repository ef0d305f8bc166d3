"""Pauses Python's garbage collector while objects are made that stay: modules, the parts of a cluster."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def resting_collector(*, stays: bool = False) -> Iterator[None]:
    """Pauses the collector during the block. With `stays` all objects are then moved unseen to its oldest
    generation, where one look through them takes 25 ms of CPU; not if a test has frozen objects itself."""
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
