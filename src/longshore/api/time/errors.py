"""Errors of times and durations, in the words of Go's time package."""

from __future__ import annotations


class TimeError(ValueError):
    """The text is not a time or duration; the message is Go's own."""


def quoted(text: str) -> str:
    """Go's time package escapes every byte that is not printable ASCII."""
    out = []
    for byte in text.encode("utf-8", "surrogatepass"):
        char = chr(byte)
        if char in '"\\':
            out.append("\\" + char)
        elif 0x20 <= byte < 0x80:
            out.append(char)
        else:
            out.append(f"\\x{byte:02x}")
    return '"' + "".join(out) + '"'
