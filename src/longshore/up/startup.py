"""What makes a start quick. Importing the server is most of it, and these two save a fifth of that.

- The collector has nothing to find among modules being imported, so it waits.
- aiohttp reads the machine's certificate authorities as it is imported. A server has no use for them; should
  this process ever verify with aiohttp's own defaults, it trusts nobody.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager

_AUTHORITIES = ("SSL_CERT_FILE", "SSL_CERT_DIR")


@contextmanager
def quick_imports() -> Iterator[None]:
    """For importing the server, once."""
    before = {name: os.environ.get(name) for name in _AUTHORITIES}
    os.environ.update(dict.fromkeys(_AUTHORITIES, os.devnull))
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        gc.freeze()  # modules live as long as the process; looking through them again finds nothing
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
