"""How long a container that ended waits for its next start: not at all the first time, then 10 s, twice that
and so on up to five minutes; one that ran for ten minutes starts over. Upstream's numbers.
"""

from __future__ import annotations

from typing import Final

from longshore.api.time.doubling import Doubling
from longshore.node.pod.memory import Record

PAUSES: Final = Doubling(10.0, 300.0)
FORGIVEN_SECONDS: Final = 600.0


def due(record: Record) -> tuple[float, float]:
    """When it may start again (seconds since 1970, 0 for at once), and what the next crash will cost."""
    assert record.state is not None
    ended = record.state.finished_at
    if not record.backoff or ended - record.backoff_set > FORGIVEN_SECONDS:
        return 0.0, PAUSES.first
    return ended + record.backoff, PAUSES.following(record.backoff)


def recalled(attempt: int) -> float:
    """The back-off of a container that was restarted this often, if it crashed every time."""
    return 0.0 if attempt == 0 else PAUSES.after(attempt)
