"""The TLS side of a connection: the authorities to trust, and the client's own certificate."""

from __future__ import annotations

import ssl

from longshore.client.config.connection import Connection
from longshore.client.credentials import certificate_files
from longshore.client.errors import ConfigError, CredentialsError


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
        try:
            certificate_files.load(made, certificate)
        except ssl.SSLError as err:
            text = f"the client certificate and key for {connection.server} cannot be used: {err}"
            raise CredentialsError(text) from None  # the files may be in renewal
    return made
