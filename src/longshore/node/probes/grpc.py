"""The gRPC health check (`grpc.health.v1.Health/Check`), spoken by hand: one request on one connection.

A probe needs no more of HTTP/2 than the preface, one request and the frames of its answer. The answer's only
message says SERVING or not; headers are not read, because only that message can make the check succeed.
"""

from __future__ import annotations

import asyncio
from typing import Final

from longshore.api.types import Obj
from longshore.node.probes.hooks import HookResult

_PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_DATA, _HEADERS, _RST, _SETTINGS, _PING, _GOAWAY = 0, 1, 3, 4, 6, 7
_END_STREAM, _END_HEADERS, _ACK, _PADDED = 1, 4, 1, 8
_STREAM_ID: Final = 1
_STATUSES: Final = {0: "UNKNOWN", 1: "SERVING", 2: "NOT_SERVING", 3: "SERVICE_UNKNOWN"}


async def check(handler: Obj, host: str) -> HookResult:
    """Asks for the health of `handler.service` at its port."""
    port = int(handler["port"])
    try:
        reader, writer = await asyncio.open_connection(host, port)
    except OSError as err:
        return HookResult(False, f'error: connect to "{host}:{port}": {err}')
    try:
        writer.write(_request(f"{host}:{port}", handler.get("service") or ""))
        status = await _answer(reader, writer)
    except (OSError, EOFError, ValueError) as err:
        return HookResult(False, f"error: health rpc failed: {err}")
    finally:
        writer.close()
    if status == 1:
        return HookResult(True)
    shown = _STATUSES.get(status, str(status))
    return HookResult(False, f'service unhealthy (responded with "{shown}")')


def _request(authority: str, service: str) -> bytes:
    fields = (
        (":method", "POST"),
        (":scheme", "http"),
        (":path", "/grpc.health.v1.Health/Check"),
        (":authority", authority),
        ("content-type", "application/grpc"),
        ("te", "trailers"),
    )
    # Literal fields without indexing: no table, no compression.
    block = b"".join(b"\x00" + _text(name) + _text(value) for name, value in fields)
    name = service.encode()
    message = b"\x0a" + bytes([len(name)]) + name if name else b""
    body = b"\x00" + len(message).to_bytes(4, "big") + message
    return b"".join(
        (
            _PREFACE,
            _frame(_SETTINGS, 0, 0, b""),
            _frame(_HEADERS, _END_HEADERS, _STREAM_ID, block),
            _frame(_DATA, _END_STREAM, _STREAM_ID, body),
        )
    )


def _text(text: str) -> bytes:
    raw = text.encode()
    if len(raw) > 126:
        raise ValueError(f"too long for a probe: {text!r}")
    return bytes([len(raw)]) + raw


def _frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> int:
    """The status in the answer; an empty message is status 0. ValueError when there is none."""
    body = b""
    while True:
        head = await reader.readexactly(9)
        size, kind, flags = int.from_bytes(head[:3], "big"), head[3], head[4]
        stream = int.from_bytes(head[5:], "big") & 0x7FFFFFFF
        payload = await reader.readexactly(size)
        if kind == _SETTINGS and not flags & _ACK:
            writer.write(_frame(_SETTINGS, _ACK, 0, b""))
        elif kind == _PING and not flags & _ACK:
            writer.write(_frame(_PING, _ACK, 0, payload))
        elif kind == _GOAWAY or (kind == _RST and stream == _STREAM_ID):
            raise ValueError("the server ended the request")
        elif kind == _DATA and stream == _STREAM_ID:
            body += payload[1 : size - payload[0]] if flags & _PADDED else payload
            if len(body) >= 5 and len(body) >= 5 + int.from_bytes(body[1:5], "big"):
                return _status(body[5:])
        if stream == _STREAM_ID and flags & _END_STREAM and kind in (_DATA, _HEADERS):
            raise ValueError("the server does not offer the health service")


def _status(message: bytes) -> int:
    """`HealthCheckResponse`: field 1, a number; left out when it is 0."""
    return message[1] if len(message) >= 2 and message[0] == 0x08 else 0
