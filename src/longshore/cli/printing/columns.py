"""Text in aligned columns, by the rules of the writer that kubectl uses.

A cell ends with a tab. Cells of one column in adjacent lines have the same width; text after the last tab
of a line belongs to no column.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from longshore.api.terminal import harmless


def aligned(text: str) -> str:
    """`text` with every tab replaced by as many spaces as its column needs."""
    rows = [line.split("\t") for line in harmless(text).split("\n")]
    out = [""] * len(rows)
    _place(rows, out, 0, len(rows), 0)
    return "\n".join(out)


def _place(rows: Sequence[list[str]], out: list[str], start: int, end: int, column: int) -> None:
    at = start
    while at < end:
        if column >= len(rows[at]) - 1:  # the last cell, which ends no column
            out[at] += rows[at][column]
            at += 1
            continue
        last = at
        while last < end and column < len(rows[last]) - 1:
            last += 1
        width = max(len(rows[i][column]) for i in range(at, last)) + 2
        for i in range(at, last):
            out[i] += rows[i][column].ljust(width)
        _place(rows, out, at, last, column + 1)
        at = last


class Columns:
    """A growing table: the first lines set the widths, and wider cells push the cells on their right."""

    def __init__(self) -> None:
        self._widths: list[int] = []

    def lines(self, rows: Sequence[Sequence[str]]) -> str:
        """Formats the rows as text, each ended by a line feed."""
        rows = [[harmless(cell) for cell in row] for row in rows]
        for row in rows:
            for column, cell in enumerate(row[:-1]):
                width = max(6, len(cell) + 3)
                if column == len(self._widths):
                    self._widths.append(width)
                elif width > self._widths[column]:
                    self._widths[column] = width
        return "".join(
            "".join(cell.ljust(self._widths[i]) for i, cell in enumerate(row[:-1])) + row[-1] + "\n"
            for row in rows
        )


_UNITS: Final = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB")


def size(amount: int) -> str:
    """`0 bytes`, `512 MiB`, `1.2 GiB`: one digit after the point below ten."""
    size, unit = float(amount), 0
    while size >= 1024 and unit < len(_UNITS) - 1:
        size, unit = size / 1024, unit + 1
    digits = 1 if unit and size < 9.95 and round(size, 1) != int(size) else 0
    return f"{size:.{digits}f} {_UNITS[unit]}"


def padded(rows: Sequence[Sequence[str]], widths: Sequence[int]) -> str:
    """Cells padded to these widths, headers included; a longer cell pushes the rest."""
    lines = ["".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)) for row in rows]
    return "\n".join(lines)


def fitted(rows: Sequence[Sequence[str]], spacing: int, *, header: bool = True) -> str:
    """Columns as wide as their longest cell plus `spacing`; `header` says whether the title counts."""
    counted = rows if header else rows[1:]
    return padded(rows, [max(map(len, column)) + spacing for column in zip(*counted, strict=True)])
