"""Credentials of a client: one small contract, one engine for each kind of credential."""

from __future__ import annotations


class Credentials:
    """Headers for every request, and perhaps a client certificate for the connection.

    The base class has neither.
    """

    async def headers(self) -> dict[str, str]:
        """Headers to send now. May read a file or run a plugin; raises CredentialsError."""
        return {}

    def certificate(self) -> tuple[bytes, bytes] | None:
        """Certificate and key as PEM, as of the last `headers()`. A new pair means new connections."""
        return None

    def forget(self) -> bool:
        """Drops credentials that a 401 refused. Returns True if `headers` may give other ones next time."""
        return False


class NoCredentials(Credentials):
    """An anonymous caller."""
