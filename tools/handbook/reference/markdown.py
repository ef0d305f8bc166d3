"""Markdown for generated pages: tables whose cells may hold any text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def cell(text: str) -> str:
    """The text on one line, with what would end the cell or begin HTML written as itself."""
    flat = " ".join(text.split())
    return (
        flat.replace("\\", "\\\\")
        .replace("|", "\\|")
        .replace("<", "\\<")
        .replace("*", "\\*")
        .replace("_", "\\_")
    )


def code(text: str) -> str:
    """The text as code inside a table."""
    return f"`{text.replace('|', chr(92) + '|')}`" if text else ""


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def page(title: str, *parts: str) -> str:
    return "\n\n".join((f"# {title}", *(part for part in parts if part))) + "\n"
