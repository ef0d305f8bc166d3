"""A running longshore as the target of random requests: asked in process, or over TLS byte by byte."""

from __future__ import annotations

import ssl

from apiserver.fuzz.seeds import path_of
from apiserver.fuzz.wishes import Wish
from longshore.api.resources import Resource
from longshore.client.http import http1
from longshore.client.http.asyncio_driver import Pool
from longshore.client.local import LocalClient
from longshore.client.protocol import Response
from longshore.up.running import Longshore


class Target:
    def __init__(self, longshore: Longshore) -> None:
        self.api = longshore.api
        self._local = LocalClient(longshore.api, manager="fuzz")
        folder = longshore.kubeconfig.parent
        tls = ssl.create_default_context(cafile=folder / "pki" / "ca.crt")
        self._token = (folder / "token").read_text().strip()
        self._pool = Pool(http1.route(longshore.server), tls, limit=1, seconds=30)

    async def ask(self, wish: Wish, *, over_tls: bool) -> Response:
        if not over_tls:
            near = await self._local.request(wish.method, wish.target, body=wish.body, headers=wish.headers)
            return Response(near.code, near.headers, b"") if wish.method == "HEAD" else near
        if wish.method != "HEAD" and not wish.is_stream:
            return await self._pool.send(self._bytes(wish))
        async with self._pool.open(self._bytes(wish)) as answer:
            found = answer.reader
            has_end = wish.method != "HEAD" and "content-length" in found.headers  # else it is cut off
            body = b"".join([piece async for piece in answer]) if has_end else b""
            return Response(found.code, found.headers, body)

    def _bytes(self, wish: Wish) -> bytes:
        headers = {"Host": "localhost", "Authorization": f"Bearer {self._token}", **wish.headers}
        if wish.body or wish.method in ("POST", "PUT", "PATCH"):
            headers["Content-Length"] = str(len(wish.body))
        head = f"{wish.method} {wish.target} HTTP/1.1\r\n"
        head += "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        return head.encode() + b"\r\n" + wish.body

    async def get(self, resource: Resource, name: str, accept: str) -> Response:
        return await self.ask(Wish("GET", path_of(resource, name), b"", {"Accept": accept}), over_tls=False)

    async def close(self) -> None:
        self._pool.close()
