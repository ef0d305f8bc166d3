"""Differences between objects as they are and as they would be, in the form of `diff -u -N`."""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple, TextIO

from longshore.api.types import Obj

_VARIABLE: Final = "KUBECTL_EXTERNAL_DIFF"
_MASK: Final = "***"


class Pair(NamedTuple):
    """An object's text before (empty for a new object) and after, under a file name."""

    name: str
    before: str
    after: str


def show(pairs: Sequence[Pair], out: TextIO) -> int:
    """Writes the differences; returns 1 when there are some, or the exit code of the user's own program."""
    different = [pair for pair in pairs if pair.before != pair.after]
    if os.environ.get(_VARIABLE):
        return _by_program(pairs, shlex.split(os.environ[_VARIABLE]))
    for pair in different:
        out.write(_text(pair))
    return 1 if different else 0


def _text(pair: Pair) -> str:
    import difflib

    live, merged = f"LIVE/{pair.name}", f"MERGED/{pair.name}"
    lines = difflib.unified_diff(
        pair.before.splitlines(keepends=True), pair.after.splitlines(keepends=True), live, merged
    )
    return "".join([f"diff -u -N {live} {merged}\n", *lines])


def _by_program(pairs: Sequence[Pair], command: list[str]) -> int:
    from longshore.cli.main import Said

    with (
        tempfile.TemporaryDirectory(prefix="LIVE-") as live,
        tempfile.TemporaryDirectory(prefix="MERGED-") as to,
    ):
        for pair in pairs:
            if pair.before:
                Path(live, pair.name).write_text(pair.before)
            Path(to, pair.name).write_text(pair.after)
        try:
            return subprocess.run([*command, live, to], check=False).returncode
        except OSError as err:
            raise Said(f"error: ${_VARIABLE}: cannot run {command[0]}: {err.strerror}", 2) from None


def masked(before: Obj | None, after: Obj | None) -> tuple[Obj | None, Obj | None]:
    """Both sides of a Secret without its values: one that changes is marked on both sides."""
    old: dict[str, Any] = (before or {}).get("data") or {}
    new: dict[str, Any] = (after or {}).get("data") or {}

    def hidden(obj: Obj | None, values: dict[str, Any], side: str) -> Obj | None:
        if obj is None or not values:
            return obj
        changes = {key for key in values if key in old and key in new and old[key] != new[key]}
        data = {key: f"{_MASK} ({side})" if key in changes else _MASK for key in values}
        return {**obj, "data": data}

    return hidden(before, old, "before"), hidden(after, new, "after")
