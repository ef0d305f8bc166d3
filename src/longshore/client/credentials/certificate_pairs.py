"""Loads a client certificate with its key. OpenSSL reads pairs from files only.

On Linux the file is in memory: the disk of a container may be read-only. Elsewhere it has mode 0600, and is
removed once it was read.
"""

from __future__ import annotations

import os
import ssl
import sys


def load(made: ssl.SSLContext, pair: tuple[bytes, bytes]) -> None:
    """Makes connections of this context present the pair. Raises ssl.SSLError if it is not usable."""
    cert, key = pair
    pem = cert.rstrip() + b"\n" + key
    if sys.platform == "linux":
        with os.fdopen(os.memfd_create("longshore"), "wb") as file:
            file.write(pem)
            file.flush()
            made.load_cert_chain(f"/proc/self/fd/{file.fileno()}")
        return
    import tempfile

    fd, path = tempfile.mkstemp(prefix="longshore-")
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(pem)
        made.load_cert_chain(path)
    finally:
        os.unlink(path)


def is_one(pair: tuple[bytes, bytes]) -> bool:
    """Whether certificate and key can be used together."""
    try:
        load(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), pair)
    except OSError:  # OpenSSL's errors are some, and there may be no room for the file
        return False
    return True
