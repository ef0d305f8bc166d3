"""Loads a client certificate with its key. OpenSSL reads pairs from files only, so they are written to a file
of mode 0600, read and removed.
"""

from __future__ import annotations

import os
import ssl


def load(made: ssl.SSLContext, pair: tuple[bytes, bytes]) -> None:
    """Has connections of this context show the pair. Raises ssl.SSLError for one that is none."""
    import tempfile

    cert, key = pair
    fd, path = tempfile.mkstemp(prefix="longshore-")
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(cert.rstrip() + b"\n" + key)
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
