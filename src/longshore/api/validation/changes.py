"""The difference between two structures, as some refusals of updates print it at their end."""

from __future__ import annotations

import json

from longshore.api.types import Obj


def diff(old: Obj, new: Obj) -> str:
    """A unified diff of both as indented JSON, without the file names."""
    import difflib  # only a refused update pays for it

    before, after = (json.dumps(o, indent=1, sort_keys=True).splitlines() for o in (old, new))
    lines = list(difflib.unified_diff(before, after, lineterm=""))
    return "\n".join(lines[2:])
