"""The TLS side of a connection: whom to trust, and the client's own certificate."""

from __future__ import annotations

import os
import ssl

from longshore.client.config.connection import Connection
from longshore.client.errors import ConfigError


def context(connection: Connection, certificate: tuple[bytes, bytes] | None) -> ssl.SSLContext:
    """A context for this server with this client certificate (PEM certificate and key)."""
    if connection.ca is None:
        made = ssl.create_default_context()  # the machine's authorities; reading them takes its time
    else:
        made = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        try:
            # Only comments between certificates may have other characters, and OpenSSL takes none of them.
            made.load_verify_locations(cadata=connection.ca.decode("ascii", "ignore"))
        except (ssl.SSLError, ValueError) as err:
            raise ConfigError(f"certificate-authority of {connection.server} is not PEM: {err}") from None
    made.minimum_version = ssl.TLSVersion.TLSv1_2
    if not connection.verify:
        made.check_hostname = False
        made.verify_mode = ssl.CERT_NONE
    if certificate is not None:
        _load_pair(made, certificate, connection.server)
    return made


def _load_pair(made: ssl.SSLContext, certificate: tuple[bytes, bytes], server: str) -> None:
    """Loads a certificate and key. OpenSSL reads pairs from files only, so they are written to a file of
    mode 0600, read and removed.
    """
    import tempfile

    cert, key = certificate
    fd, path = tempfile.mkstemp(prefix="longshore-")
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(cert.rstrip() + b"\n" + key)
        made.load_cert_chain(path)
    except ssl.SSLError as err:
        raise ConfigError(f"the client certificate and key for {server} cannot be used: {err}") from None
    finally:
        os.unlink(path)
