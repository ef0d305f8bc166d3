"""Base64 by the rules of Go's standard decoder: line breaks are skipped, padding is required."""

from __future__ import annotations

import base64
import binascii
from typing import Final

_ALPHABET: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")


def decode(text: str) -> bytes:
    """Decodes `text`. Raises ValueError with Go's message, which names the offending byte."""
    at = _first_bad_byte(text)
    if at is not None:
        raise ValueError(f"illegal base64 data at input byte {at}")
    return binascii.a2b_base64(text.replace("\n", "").replace("\r", ""))


def encode(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _first_bad_byte(text: str) -> int | None:
    clean = text.rstrip("=")
    if len(text) - len(clean) <= 2 and len(text) % 4 == 0 and _ALPHABET.issuperset(clean):
        return None
    data = text.encode()
    place = 0  # within a group of four characters
    at = 0
    while at < len(data):
        char = chr(data[at])
        at += 1
        if char in _ALPHABET:
            place = (place + 1) % 4
        elif char not in "\r\n":
            if char != "=" or place < 2:
                return at - 1
            return _bad_padding(data, at, place)
    return len(data) - place if place else None


def _bad_padding(data: bytes, at: int, place: int) -> int | None:
    """The place where the padding goes wrong; None if it is right. `at` is the place after its first `=`."""
    at = _skip_breaks(data, at)
    if place == 2:
        if at == len(data):
            return at
        if data[at : at + 1] != b"=":
            return at - 1
        at = _skip_breaks(data, at + 1)
    return at if at < len(data) else None


def _skip_breaks(data: bytes, at: int) -> int:
    while at < len(data) and data[at] in b"\r\n":
        at += 1
    return at
