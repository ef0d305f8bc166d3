"""Amounts of bytes as people write them."""

from __future__ import annotations

from typing import Final

_UNITS: Final = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB")


def human(amount: int) -> str:
    """`0 bytes`, `512 MiB`, `1.2 GiB`: one digit after the point below ten."""
    size, unit = float(amount), 0
    while size >= 1024 and unit < len(_UNITS) - 1:
        size, unit = size / 1024, unit + 1
    digits = 1 if unit and size < 9.95 and round(size, 1) != int(size) else 0
    return f"{size:.{digits}f} {_UNITS[unit]}"
