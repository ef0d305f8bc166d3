"""Credentials of a client: one small contract, one engine for each kind of credential."""

from __future__ import annotations

import base64


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


# ---- Credentials that never change: a token, a user name with password, a client certificate.


class Token(Credentials):
    def __init__(self, token: str) -> None:
        self._headers = {"Authorization": f"Bearer {token}"}

    async def headers(self) -> dict[str, str]:
        return self._headers


class Basic(Credentials):
    """User name and password, for servers (or proxies in front of them) that still accept them."""

    def __init__(self, name: str, password: str) -> None:
        pair = base64.b64encode(f"{name}:{password}".encode()).decode("ascii")
        self._headers = {"Authorization": f"Basic {pair}"}

    async def headers(self) -> dict[str, str]:
        return self._headers


class ClientCertificate(Credentials):
    def __init__(self, cert: bytes, key: bytes) -> None:
        self._pair = (cert, key)

    def certificate(self) -> tuple[bytes, bytes] | None:
        return self._pair
