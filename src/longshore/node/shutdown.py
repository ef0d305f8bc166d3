"""The end of all pods at once: the node goes away, and nothing of it may run on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from longshore.machinery.time.clock import Clock
from longshore.node.pod.life import Life
from longshore.node.pod.memory import Verdict

MESSAGE: Final = "Pod was terminated in response to imminent node shutdown."
_MAX_GRACE_SECONDS: Final = 5.0
_WRITING_SECONDS: Final = 2.0
"""Beyond the grace period, for the last statuses to be written."""
_PAUSE_SECONDS: Final = 0.02


async def stop_all(lives: Mapping[str, Life], clock: Clock, wake: Callable[[Life], None]) -> None:
    """Stops every pod that runs and waits until that is in the API. Pods that did not start stay as they are:
    they start when longshore does."""
    running = [life for life in lives.values() if any(r.running or r.starting for r in life.memory.records())]
    for life in lives.values():
        life.memory.leaving = True
    for life in running:
        memory = life.memory
        if memory.verdict is None:
            memory.verdict = Verdict("Terminated", MESSAGE, grace=min(_MAX_GRACE_SECONDS, memory.facts.grace))
        wake(life)
    end = clock.monotonic() + _MAX_GRACE_SECONDS + _WRITING_SECONDS
    while any(not life.closed for life in running) and clock.monotonic() < end:
        await clock.sleep(_PAUSE_SECONDS)
