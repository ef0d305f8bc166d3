"""Credentials that never change: a token, a user name with password, a client certificate."""

from __future__ import annotations

import base64

from longshore.client.credentials import Credentials


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
