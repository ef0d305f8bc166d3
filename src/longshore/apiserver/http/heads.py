"""Requests of the usual shape, read from bytes that came in one piece.

A client says the same in all its heads but for the path and the length of the body, so what the header lines
mean is remembered by their bytes. Nothing is judged here: a request that is in any way unusual (another
version, a header that could change where the body ends, two of a kind, odd characters) is None, and aiohttp
reads it with all its care.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, NamedTuple

from multidict import CIMultiDict, CIMultiDictProxy

_LONGEST: Final = 2048
_LINE: Final = re.compile(rb"([A-Z]{3,7}) (/[A-Za-z0-9/._~!$&'()*+,;=:@%?-]*) HTTP/1\.1")
_FIELD: Final = re.compile(r"([A-Za-z-]+): *([!-~](?:[ -~]*[!-~])?) *")
_USUAL: Final = frozenset(
    (
        "accept",
        "accept-encoding",
        "authorization",
        "connection",
        "content-length",
        "content-type",
        "host",
        "kubectl-command",
        "kubectl-session",
        "user-agent",
    )
)


class Head(NamedTuple):
    """The header lines of a request, and the bytes of body they announce."""

    headers: CIMultiDictProxy[str]
    length: int


class Read(NamedTuple):
    """A request, and where its body begins and ends in the bytes it was read from."""

    method: str
    target: str
    headers: CIMultiDictProxy[str]
    start: int
    end: int


def read(data: bytes) -> Read | None:
    """The request that begins with the first of these bytes; None for an unusual or incomplete head."""
    end = data.find(b"\r\n\r\n", 0, _LONGEST)
    if end < 0:
        return None
    first = data.find(b"\r\n")
    line = _LINE.fullmatch(data, 0, first)
    if line is None:
        return None
    head = _head(data[first + 2 : end])
    if head is None:
        return None
    return Read(line[1].decode(), line[2].decode(), head.headers, end + 4, end + 4 + head.length)


@lru_cache(maxsize=512)
def _head(lines: bytes) -> Head | None:
    """The header lines between the first line and the empty one."""
    try:
        text = lines.decode("ascii")
    except UnicodeDecodeError:
        return None
    headers: CIMultiDict[str] = CIMultiDict()
    for line in text.split("\r\n"):
        found = _FIELD.fullmatch(line)
        if found is None or found[1].lower() not in _USUAL or found[1] in headers:
            return None
        headers[found[1]] = found[2]
    length = headers.get("Content-Length", "0")
    if not length.isdigit() or len(length) > 9 or headers.get("Connection", "keep-alive") != "keep-alive":
        return None
    return Head(CIMultiDictProxy(headers), int(length))
