"""Differences between objects as they are and as they would be, in the form of `diff -u -N`."""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from longshore.api.types import Obj
from longshore.cli.main import Said

_VARIABLE: Final = "KUBECTL_EXTERNAL_DIFF"
_MASK: Final = "***"


class Pair(NamedTuple):
    """An object's text before (empty for a new object) and after, under a file name."""

    name: str
    before: str
    after: str


def show(pairs: Sequence[Pair]) -> int:
    """Runs `diff -u -N`, or the user's own program, on both versions; its exit code 1 is a difference."""
    command = shlex.split(os.environ.get(_VARIABLE) or "") or ["diff", "-u", "-N"]
    with tempfile.TemporaryDirectory(prefix="longshore-diff-") as folder:
        live, merged = (Path(folder, f"{side}-{os.getpid()}") for side in ("LIVE", "MERGED"))
        live.mkdir()
        merged.mkdir()
        for pair in pairs:
            if pair.before:
                (live / pair.name).write_text(pair.before)
            (merged / pair.name).write_text(pair.after)
        try:
            return subprocess.run([*command, live, merged], check=False).returncode
        except OSError as err:
            reason = f"cannot run {command[0]}: {err.strerror}; ${_VARIABLE} may name another program"
            raise Said(f"error: {reason}", 2) from None


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
