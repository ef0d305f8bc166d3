"""Text of objects, made safe for a terminal. Logs and machine-readable output are not changed.

An image name, an annotation or a termination message may hold control sequences, which a terminal obeys:
colours, a new window title, lines that hide others. kubectl writes them out in its tables; so does longshore.
"""

from __future__ import annotations

from typing import Final

_KEPT: Final = "\n\t"
_SHOWN: Final = {
    **{code: "^" + chr(code ^ 0x40) for code in (*range(0x20), 0x7F) if chr(code) not in _KEPT},
    **{code: f"\\x{code:02x}" for code in range(0x80, 0xA0)},
    ord("\r"): "\\r",
}
"""Control characters as kubectl writes the two that it knows: `^[` for ESC, `\\r` for CR."""


def harmless(text: str) -> str:
    """`text` with its control characters written out, except ends of lines and tabs."""
    return text if text.isprintable() else text.translate(_SHOWN)
