"""A client certificate in files that another program renews, as kubelets renew theirs."""

from __future__ import annotations

import os
import ssl
import sys
import time
from collections.abc import Callable

from longshore.client.credentials import Credentials
from longshore.client.credentials.token_file import REREAD_SECONDS
from longshore.client.errors import ConfigError

# ---- Loads a client certificate with its key. OpenSSL reads pairs from files only.
#
# On Linux the file is in memory: the disk of a container may be read-only. Elsewhere it has mode 0600, and is
# removed once it was read.


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


def is_pair(pair: tuple[bytes, bytes]) -> bool:
    """Whether certificate and key can be used together."""
    try:
        load(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), pair)
    except OSError:  # OpenSSL's errors, and errors of writing the file
        return False
    return True


class CertificateFiles(Credentials):
    def __init__(
        self, read: Callable[[], tuple[bytes, bytes]], *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """`read` gives certificate and key as the files have them now, or raises ConfigError."""
        self._read, self._clock = read, clock
        self._pair = read()
        self._read_at: float | None = clock()

    async def headers(self) -> dict[str, str]:
        now = self._clock()
        if self._read_at is None or now - self._read_at >= REREAD_SECONDS:
            self._renew()
            self._read_at = now
        return {}

    def certificate(self) -> tuple[bytes, bytes] | None:
        return self._pair

    def forget(self) -> bool:
        self._read_at = None
        return True

    def _renew(self) -> None:
        """Reads the files again. Keeps the last pair while a file is missing or the two do not match."""
        try:
            pair = self._read()
        except ConfigError:
            return
        if pair != self._pair and is_pair(pair):
            self._pair = pair
