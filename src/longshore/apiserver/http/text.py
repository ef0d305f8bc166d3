"""Logs on the wire: plain text as it comes, until it ends, the client goes or reads no more, or the server
stops. What is short and complete goes out in one piece."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Final

from aiohttp import web

from longshore.apiserver.http import respond
from longshore.apiserver.http.plain import Plain, Reply

_HEADERS: Final = {"Content-Type": "text/plain", "Cache-Control": "no-cache, private"}
_SHORT: Final = 1 << 16


async def answer(
    request: web.BaseRequest,
    chunks: AsyncGenerator[bytes, None],
    warnings: list[str],
    closing: asyncio.Event,
    stuck_seconds: float,
    *,
    follow: bool,
) -> web.StreamResponse:
    """Sends all of `chunks`. With `follow` the answer begins at once, whether or not there is text yet."""
    async with aclosing(chunks):
        first = b""
        if not follow:
            async for chunk in chunks:
                first += chunk
                if len(first) >= _SHORT:
                    break
            else:
                return Plain(Reply(200, "text/plain", first, respond.warning_headers(warnings)))
        response = web.StreamResponse(headers=_HEADERS)
        respond.add_warnings(response, warnings)
        response.enable_chunked_encoding()
        await response.prepare(request)
        await response.write(first)
        sending = asyncio.ensure_future(_send(response, chunks, stuck_seconds))
        stopping = asyncio.ensure_future(closing.wait())
        try:
            await asyncio.wait((sending, stopping), return_when=asyncio.FIRST_COMPLETED)
            if sending.done():
                sending.result()
        except (ConnectionError, TimeoutError):
            if request.transport is not None:
                request.transport.abort()
        finally:
            sending.cancel()
            stopping.cancel()
            await asyncio.gather(sending, stopping, return_exceptions=True)
    return response


async def _send(response: web.StreamResponse, chunks: AsyncGenerator[bytes, None], seconds: float) -> None:
    async for chunk in chunks:
        async with asyncio.timeout(seconds):
            await response.write(chunk)
