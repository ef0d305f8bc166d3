"""The certificate authority that all clusters of one process share, and what servers show of it.

Made when the first cluster starts: loading the certificate library and making keys takes most of that start,
and later clusters do without. Keys stay in memory, but for a moment: OpenSSL reads them from a file only.
"""

from __future__ import annotations

import os
import ssl
import tempfile
import threading
from datetime import UTC, datetime
from functools import lru_cache
from typing import Final, NamedTuple

_DAYS: Final = 3650
"""Longer than a process runs: these certificates are never renewed."""
_LOCK: Final = threading.Lock()


class Identity(NamedTuple):
    """A server's side of TLS, and the authority's certificate for clients."""

    tls: ssl.SSLContext
    ca: bytes
    """PEM."""


def shared() -> Identity:
    """The one of this process."""
    with _LOCK:
        return _made()


@lru_cache(maxsize=1)
def _made() -> Identity:
    from longshore.up import certificates, pki

    now = datetime.now(UTC)
    ca = certificates.authority(now, _DAYS)
    server = certificates.server(ca, now, _DAYS, pki.SERVER_DNS, pki.SERVER_IPS)
    handle, file = tempfile.mkstemp(prefix="longshore-")  # mode 0600
    try:
        with os.fdopen(handle, "wb") as opened:
            opened.write(server.pem)
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.minimum_version = ssl.TLSVersion.TLSv1_2
        tls.load_cert_chain(file)
        tls.set_alpn_protocols(["http/1.1"])
    finally:
        os.unlink(file)
    return Identity(tls, ca.cert_pem)
