"""A running longshore as the target of random requests: asked in process, or over TLS byte by byte."""

from __future__ import annotations

import ssl
from urllib.parse import urlsplit

from apiserver.fuzz.raw_http import Answer, RawConnection
from apiserver.fuzz.seeds import path_of
from apiserver.fuzz.wishes import Wish
from longshore.api.resources import Resource
from longshore.client.local import LocalClient
from longshore.up.running import Longshore


class Target:
    """A running longshore, asked in process or over TLS."""

    def __init__(self, longshore: Longshore) -> None:
        self.api = longshore.api
        self._local = LocalClient(longshore.api, manager="fuzz")
        folder = longshore.kubeconfig.parent
        tls = ssl.create_default_context(cafile=folder / "pki" / "ca.crt")
        where = urlsplit(longshore.server)
        assert where.hostname
        assert where.port
        self._token = (folder / "token").read_text().strip()
        self._connection = RawConnection(where.hostname, where.port, tls)

    async def ask(self, wish: Wish, *, over_tls: bool) -> Answer:
        if over_tls:
            return await self._connection.ask(self._bytes(wish), head_only=wish.is_stream)
        found = await self._local.request(wish.method, wish.target, body=wish.body, headers=wish.headers)
        body = b"" if wish.method == "HEAD" else found.body
        return Answer(found.code, dict(found.headers), body)

    def _bytes(self, wish: Wish) -> bytes:
        headers = {"Host": "localhost", "Authorization": f"Bearer {self._token}", **wish.headers}
        if wish.body or wish.method in ("POST", "PUT", "PATCH"):
            headers["Content-Length"] = str(len(wish.body))
        head = f"{wish.method} {wish.target} HTTP/1.1\r\n"
        head += "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        return head.encode() + b"\r\n" + wish.body

    async def get(self, resource: Resource, name: str, accept: str) -> Answer:
        return await self.ask(Wish("GET", path_of(resource, name), b"", {"Accept": accept}), over_tls=False)

    async def close(self) -> None:
        await self._connection.close()
