"""Keeps a part of longshore running: if it fails, that is logged as a bug, and the part is started again."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Final, NoReturn

from longshore.api.time.backoff import Doubling
from longshore.machinery.time.clock import Clock
from longshore.machinery.unavailable import Unavailable

_PAUSES: Final = Doubling(1.0, 60.0)
log = logging.getLogger(__name__)


async def supervised(what: str, run: Callable[[], Awaitable[None]], clock: Clock) -> NoReturn:
    """Runs `run` again and again until cancelled, with growing pauses; other parts keep running meanwhile."""
    pause = 0.0
    while True:
        pause = _PAUSES.following(pause)
        try:
            await run()
        except Unavailable as err:
            log.warning("%s cannot run, and is tried again in %g s: %s", what, pause, err)
        except Exception:  # a part that fails is a bug, and is started again
            log.exception("%s failed; starting it again in %g s", what, pause)
        await clock.sleep(pause)
