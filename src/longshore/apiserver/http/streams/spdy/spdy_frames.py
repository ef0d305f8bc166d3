"""Frames of SPDY/3.1 as bytes, in and out. Header blocks share one zlib state for a whole connection.

Left out is what no client of Kubernetes sends or needs: pushed streams, credentials, flow control.
"""

from __future__ import annotations

import struct
import zlib
from typing import Final

import msgspec

SYN_STREAM: Final = 1
SYN_REPLY: Final = 2
RST_STREAM: Final = 3
SETTINGS: Final = 4
PING: Final = 6
GOAWAY: Final = 7
HEADERS: Final = 8

FIN: Final = 0x01
CANCEL: Final = 5
"""Status in RST_STREAM: the stream is no longer needed."""

_VERSION: Final = 0x8003
_MAX_HEADERS: Final = 1 << 16
"""Bytes of one header block, unpacked; clients send a few dozen."""

_WORDS: Final = (
    "options|head|post|put|delete|trace|accept|accept-charset|accept-encoding|accept-language|"
    "accept-ranges|age|allow|authorization|cache-control|connection|content-base|content-encoding|"
    "content-language|content-length|content-location|content-md5|content-range|content-type|date|etag|"
    "expect|expires|from|host|if-match|if-modified-since|if-none-match|if-range|if-unmodified-since|"
    "last-modified|location|max-forwards|pragma|proxy-authenticate|proxy-authorization|range|referer|"
    "retry-after|server|te|trailer|transfer-encoding|upgrade|user-agent|vary|via|warning|"
    "www-authenticate|method|get|status|200 OK|version|HTTP/1.1|url|public|set-cookie|keep-alive|origin"
)
_TEXT: Final = (
    "100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505203 "
    "Non-Authoritative Information204 No Content301 Moved Permanently400 Bad Request401 Unauthorized403 "
    "Forbidden404 Not Found500 Internal Server Error501 Not Implemented503 Service UnavailableJan Feb Mar "
    "Apr May Jun Jul Aug Sept Oct Nov Dec 00:00:00 Mon, Tue, Wed, Thu, Fri, Sat, Sun, GMTchunked,text/html,"
    "image/png,image/jpg,image/gif,application/xml,application/xhtml+xml,text/plain,text/javascript,public"
    "privatemax-age=gzip,deflate,sdchcharset=utf-8charset=iso-8859-1,utf-,*,enq=0."
)


def dictionary() -> bytes:
    """The dictionary both ends know before the first header: the table of SPDY/3's section 2.6.10.1."""
    return (
        b"".join(struct.pack(">I", len(word)) + word.encode() for word in _WORDS.split("|")) + _TEXT.encode()
    )


class BadFrame(Exception):
    """The bytes are no SPDY/3.1; the connection cannot go on."""


class Control(msgspec.Struct, frozen=True):
    type: int
    flags: int
    body: bytes


class Data(msgspec.Struct, frozen=True):
    stream: int
    flags: int
    body: bytes


class Reader:
    """Takes bytes as they come and gives whole frames. A frame longer than `limit` is refused."""

    def __init__(self, limit: int = 1 << 24) -> None:
        self._held = bytearray()
        self._limit = limit

    def feed(self, data: bytes) -> list[Control | Data]:
        held = self._held
        held += data
        frames: list[Control | Data] = []
        at = 0
        while len(held) - at >= 8:
            first, second = struct.unpack_from(">II", held, at)
            flags, length = second >> 24, second & 0xFFFFFF
            if length > self._limit:
                raise BadFrame(f"a frame of {length} bytes")
            if len(held) - at - 8 < length:
                break
            body = bytes(held[at + 8 : at + 8 + length])
            at += 8 + length
            if first >> 31:
                if first >> 16 != _VERSION:
                    raise BadFrame(f"version {(first >> 16) & 0x7FFF}")
                frames.append(Control(first & 0xFFFF, flags, body))
            else:
                frames.append(Data(first, flags, body))
        del held[:at]
        return frames


class Headers:
    """Packs and unpacks header blocks, in the order in which they are on the wire."""

    def __init__(self) -> None:
        known = dictionary()
        self._pack = zlib.compressobj(zdict=known)
        self._unpack = zlib.decompressobj(zdict=known)

    def unpack(self, packed: bytes) -> dict[str, str]:
        try:
            block = self._unpack.decompress(packed, _MAX_HEADERS)
            (count,) = struct.unpack_from(">I", block)
            at, out = 4, {}
            for _ in range(count):
                name, at = _text(block, at)
                out[name.lower()], at = _text(block, at)
        except (zlib.error, struct.error, UnicodeDecodeError) as bad:
            raise BadFrame(f"headers: {bad}") from None
        if self._unpack.unconsumed_tail:
            raise BadFrame("headers that are too long")
        return out

    def pack(self, headers: dict[str, str]) -> bytes:
        parts = [struct.pack(">I", len(headers))]
        for pair in headers.items():
            for text in pair:
                parts.append(struct.pack(">I", len(text)) + text.encode())
        return self._pack.compress(b"".join(parts)) + self._pack.flush(zlib.Z_SYNC_FLUSH)


def _text(block: bytes, at: int) -> tuple[str, int]:
    (length,) = struct.unpack_from(">I", block, at)
    end = at + 4 + length
    if end > len(block):
        raise struct.error("a header that is cut off")
    return block[at + 4 : end].decode(), end


def control(type_: int, body: bytes) -> bytes:
    return struct.pack(">HHI", _VERSION, type_, len(body)) + body


def data(stream: int, body: bytes, flags: int = 0) -> bytes:
    return struct.pack(">II", stream, flags << 24 | len(body)) + body


def stream_id(body: bytes) -> int:
    """The stream a SYN_STREAM, SYN_REPLY, RST_STREAM or HEADERS frame is about."""
    if len(body) < 4:
        raise BadFrame("a control frame without its stream")
    number: int = struct.unpack_from(">I", body)[0]
    return number & 0x7FFFFFFF
