"""The back-off of restarts, with upstream's numbers: none before the first restart, then 10 s, doubling up to
five minutes. After a run of ten minutes it starts over.
"""

from __future__ import annotations

from typing import Final

from longshore.api.time.backoff import Doubling
from longshore.node.pod.memory import ContainerMemory

PAUSES: Final = Doubling(10.0, 300.0)
FORGIVEN_SECONDS: Final = 600.0


def due(record: ContainerMemory) -> tuple[float, float]:
    """When a container may restart (seconds since 1970, or 0), and the back-off after the next crash."""
    assert record.state is not None
    ended = record.state.finished_at
    if not record.backoff or ended - record.backoff_set > FORGIVEN_SECONDS:
        return 0.0, PAUSES.first
    return ended + record.backoff, PAUSES.following(record.backoff)


def recalled(attempt: int) -> float:
    """The back-off of a container that was restarted this often, if it crashed every time."""
    return 0.0 if attempt == 0 else PAUSES.after(attempt)
