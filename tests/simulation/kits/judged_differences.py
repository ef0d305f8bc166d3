"""Which differences from a recording cannot be explained by a request that failed and was tried again."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

_SEEN_IN = re.compile(r"snapshot [^:]*: events[.:]|measure ")
"""An event whose write was lost is missing, one tells of a failed write, and a retry has its pause."""


def judged(said: Sequence[str]) -> Iterator[str]:
    """The differences that no retry explains. A line with blanks in front belongs to the one before it."""
    explained = False
    for line in said:
        if not line.startswith(" "):
            explained = bool(_SEEN_IN.match(line))
        if not explained:
            yield line
