"""Continue tokens: where a page ended and which snapshot it came from."""

from __future__ import annotations

import base64
import binascii
import posixpath
from dataclasses import dataclass
from typing import Final

from longshore.api import codec, errors, types
from longshore.store import Key

_VERSION: Final = "meta.k8s.io/v1"


@dataclass(frozen=True, slots=True)
class Position:
    """The next page begins at the first key >= `start`. `revision` -1 means "any state will do"."""

    revision: int
    start: tuple[str, str]


def token(revision: int, last: Key, *, all_namespaces: bool) -> str:
    """The token for the page after `last`."""
    start = f"{last.namespace}/{last.name}\0" if all_namespaces and last.namespace else f"{last.name}\0"
    raw = types.encode({"v": _VERSION, "rv": revision, "start": start})
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def position(text: str, namespace: str | None) -> Position:
    """Reads a token back; 400 with upstream's words when it is not one of ours."""
    try:
        raw = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        raise _bad("illegal base64 data at input byte 0") from None
    found = _content(raw)
    if not isinstance(found, dict) or found.get("v") != _VERSION:
        version = found.get("v", "") if isinstance(found, dict) else ""
        raise _bad(f"server does not recognize this encoded version {version}")
    revision, start = found.get("rv", 0), found.get("start", "")
    if revision == 0:
        raise _bad(f"incorrect encoded start resourceVersion (version {_VERSION})")
    if not start:
        raise _bad(f"encoded start key empty (version {_VERSION})")
    if posixpath.normpath("/" + start) != "/" + start.rstrip("/"):
        raise _bad(start)
    if namespace is not None:
        return Position(revision, (namespace, start))
    head, slash, tail = start.partition("/")
    return Position(revision, (head, tail) if slash else ("", head))


def _content(raw: bytes) -> object:
    try:
        codec.read_json(raw)
    except codec.DecodeError as error:
        raise _bad(str(error)) from None
    found: object = types.decode(raw)
    return found


def _bad(why: str) -> errors.StatusError:
    return errors.bad_request(f"invalid continue token: continue key is not valid: {why}")
