"""The limit to measure by: aiohttp and TLS as longshore uses them, and a handler that does nothing.

`bare_server.py PORT CERTIFICATE ANSWER [LINE]`: every request is read whole and answered with the bytes
in the file ANSWER; `?watch` streams the line in the file LINE, a thousand a second in steps of ten.
"""

from __future__ import annotations

import asyncio
import ssl
import sys
import time
from contextlib import suppress
from pathlib import Path

import uvloop
from aiohttp import web


async def main(port: int, certificate: str, body: bytes, line: bytes) -> None:
    headers = {"Content-Type": "application/json", "Cache-Control": "no-cache, private"}

    async def handle(request: web.BaseRequest) -> web.StreamResponse:
        await request.read()
        if "watch" in request.raw_path:
            return await stream(request)
        return web.Response(status=201 if request.method == "POST" else 200, body=body, headers=headers)

    async def stream(request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse(headers=headers)
        response.enable_chunked_encoding()
        await response.prepare(request)
        loop = asyncio.get_running_loop()
        tick = loop.time()
        with suppress(ConnectionError):
            while True:
                tick += 0.01
                await asyncio.sleep(max(tick - loop.time(), 0))
                now = b"%020d" % time.monotonic_ns()
                await response.write(line.replace(b"0" * 20, now) * 10)
        return response

    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate)
    runner = web.ServerRunner(web.Server(handle, access_log=None), handle_signals=False)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port, ssl_context=tls, backlog=1024).start()
    await asyncio.Event().wait()


if __name__ == "__main__":
    answer, *line = (Path(name).read_bytes() for name in sys.argv[3:])
    uvloop.run(main(int(sys.argv[1]), sys.argv[2], answer, b"".join(line)))
