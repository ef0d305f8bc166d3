"""Lets Python's collector of garbage rest while much is made that stays: modules, the parts of a cluster."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def resting_collector() -> Iterator[None]:
    """The first cluster of a process, with its imports, takes 545 ms of CPU so, and 702 without
    (bench/testing.py)."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
