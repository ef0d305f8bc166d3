"""Continue tokens: where a page ended and which snapshot it came from."""

from __future__ import annotations

import base64
import posixpath
from collections import deque
from typing import Final

import msgspec

from longshore.api import codec, errors, types
from longshore.api.types import Obj
from longshore.store import Compacted, Key

MAX_PAGE_SECONDS: Final = 300.0
"""Seconds for which a list can be continued, as upstream's."""
_MARK_SECONDS: Final = 10.0
_VERSION: Final = "meta.k8s.io/v1"
_ALPHABET: Final = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
_WORDS: Final = {str: "string", dict: "object", list: "array", bool: "bool"}


class Position(msgspec.Struct, frozen=True):
    """The next page begins at the first key >= `start`. `revision` -1 means "any state will do"."""

    revision: int
    start: tuple[str, str]


class Ages:
    """Remembers the newest revision every 10 s, to refuse further pages of a list that is too old. Upstream's
    compaction has this effect, and clients expect it."""

    def __init__(self) -> None:
        self._marks: deque[tuple[float, int]] = deque()
        self._compacted = 0

    def check(self, asked: int, newest: int, now: float) -> None:
        """Raises Compacted if a newer revision than that of the page is more than five minutes old."""
        marks = self._marks
        if not marks or now - marks[-1][0] >= _MARK_SECONDS:
            marks.append((now, newest))
        while marks and now - marks[0][0] >= MAX_PAGE_SECONDS:
            self._compacted = marks.popleft()[1]
        if asked < self._compacted:
            raise Compacted(asked, self._compacted)


def token(revision: int, last: Key, *, all_namespaces: bool) -> str:
    """The token for the page after `last`."""
    start = f"{last.namespace}/{last.name}\0" if all_namespaces and last.namespace else f"{last.name}\0"
    raw = types.encode({"v": _VERSION, "rv": revision, "start": start})
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def position(text: str, namespace: str | None) -> Position:
    """Reads a token. Raises a 400 in upstream's words if the server has not issued it."""
    found = _content(_decoded(text))
    if found["v"] != _VERSION:
        raise _bad(f"server does not recognize this encoded version {found['v']}")
    revision, start = found["rv"], found["start"]
    if revision == 0:
        raise _bad(f"incorrect encoded start resourceVersion (version {_VERSION})")
    if not start:
        raise _bad(f"encoded start key empty (version {_VERSION})")
    path = start if start.startswith("/") else "/" + start
    if "//" in path or posixpath.normpath(path) != path:
        raise _bad(start)
    start = path[1:]
    if namespace is not None:
        return Position(revision, (namespace, start))
    head, slash, tail = start.partition("/")
    return Position(revision, (head, tail) if slash else ("", head))


def _decoded(text: str) -> bytes:
    """Decodes Go's base64 without padding: skips line breaks, and errors name the first invalid byte."""
    data = text.encode()
    for at, byte in enumerate(data):
        if byte not in _ALPHABET and byte not in b"\r\n":
            raise _bad(f"illegal base64 data at input byte {at}")
    plain = data.translate(None, b"\r\n")
    if len(plain) % 4 == 1:
        raise _bad(f"illegal base64 data at input byte {len(data) - 1}")
    return base64.urlsafe_b64decode(plain + b"=" * (-len(plain) % 4))


def _content(raw: bytes) -> Obj:
    """The fields of a token, each of its type."""
    try:
        value = codec.plain_json(raw).value
    except codec.DecodeError as error:
        raise _bad(str(error)) from None
    if value is not None and type(value) is not dict:
        raise _bad(f"json: cannot unmarshal {_word(value)} into Go value of type storage.continueToken")
    found: Obj = {"v": "", "rv": 0, "start": ""}
    for key, inner in (value or {}).items():
        name = key.lower()
        if name not in found or inner is None:
            continue
        is_number = name == "rv"
        fits = type(inner) is int and -(2**63) <= inner < 2**63 if is_number else type(inner) is str
        if not fits:
            what = f"number {inner}" if is_number and _word(inner) == "number" else _word(inner)
            go_type = "int64" if is_number else "string"
            raise _bad(
                f"json: cannot unmarshal {what} into Go struct field continueToken.{name} of type {go_type}"
            )
        found[name] = inner
    return found


def _word(value: object) -> str:
    return _WORDS.get(type(value), "number")


def _bad(why: str) -> errors.StatusError:
    return errors.bad_request(f"invalid continue token: continue key is not valid: {why}")
