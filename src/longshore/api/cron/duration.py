"""Durations as Go writes and reads them: `1h30m`, `1.5s`, `-2ms`. No days, no blanks."""

from __future__ import annotations

import re
from typing import Final

from longshore.api.field import quoted

_MICRO: Final = 1_000
_MILLI: Final = 1_000 * _MICRO
_SECOND: Final = 1_000 * _MILLI
_UNITS: Final = {
    "ns": 1,
    "us": _MICRO,
    "µs": _MICRO,  # micro sign
    "μs": _MICRO,  # Greek mu
    "ms": _MILLI,
    "s": _SECOND,
    "m": 60 * _SECOND,
    "h": 3600 * _SECOND,
}
_LIMIT: Final = 2**63
_part: Final = re.compile(r"([0-9]*)(\.[0-9]*)?([^0-9.]*)").match


def parse(text: str) -> int:
    """The nanoseconds of a duration. Raises ValueError with Go's words."""
    rest, sign = text, 1
    if rest[:1] in ("+", "-"):
        sign = -1 if rest[0] == "-" else 1
        rest = rest[1:]
    if rest == "0":
        return 0
    if not rest:
        raise _invalid(text)
    total = 0
    while rest:
        match = _part(rest)
        assert match is not None
        whole, fraction, unit = match.groups()
        digits = fraction[1:] if fraction else ""
        if not whole and not digits:
            raise _invalid(text)
        if whole and int(whole) > _LIMIT:
            raise _invalid(text)
        if not unit:
            raise ValueError(f"time: missing unit in duration {_quote(text)}")
        scale = _UNITS.get(unit)
        if scale is None:
            raise ValueError(f"time: unknown unit {_quote(unit)} in duration {_quote(text)}")
        total += int(whole or 0) * scale
        if digits:
            total += int(int(digits) * (scale / 10 ** len(digits)))
        if total > _LIMIT:
            raise _invalid(text)
        rest = rest[match.end() :]
    if sign > 0 and total == _LIMIT:
        raise _invalid(text)
    return sign * total


def _invalid(text: str) -> ValueError:
    return ValueError(f"time: invalid duration {_quote(text)}")


def _quote(text: str) -> str:
    """Quoted as Go's time package does: anything but printable ASCII byte by byte."""
    if text.isascii() and text.isprintable():
        return quoted(text)
    out = []
    for ch in text:
        if " " <= ch < "\x80":
            out.append("\\" + ch if ch in '"\\' else ch)
        else:
            out.extend(f"\\x{byte:02x}" for byte in ch.encode())
    return '"' + "".join(out) + '"'
