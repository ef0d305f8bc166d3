"""Settings for a fast start. Importing is most of it.

- The collector has nothing to find among modules being imported, so it waits.
- aiohttp, the HTTP client of `longshore run`, reads the machine's certificate authorities as it is imported,
  which takes 60 ms (bench/start.py). longshore has no use for them; should this process ever verify with
  aiohttp's own defaults, it trusts nobody.
- Afterwards the collector looks less often than Python's defaults have it.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager

_AUTHORITIES = ("SSL_CERT_FILE", "SSL_CERT_DIR")
THRESHOLDS = (20_000, 20, 50)
"""Objects of the API are trees, freed without the collector's help. With Python's own thresholds it spent a
quarter of the time of a run of 10,000 pods looking through caches in which there is nothing to find."""


@contextmanager
def quick_imports() -> Iterator[None]:
    """For importing the server, once."""
    before = {name: os.environ.get(name) for name in _AUTHORITIES}
    os.environ.update(dict.fromkeys(_AUTHORITIES, os.devnull))
    gc.disable()
    try:
        yield
    finally:
        rest_collector()
        gc.enable()
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def rest_collector() -> None:
    """For a process that has imported all it needs."""
    gc.freeze()  # modules live as long as the process; looking through them again finds nothing
    gc.set_threshold(*THRESHOLDS)
