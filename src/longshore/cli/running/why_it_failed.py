"""The end of a failed run's story, for the end of the run. Nothing where the server tells no stories."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Final

from longshore.api import types
from longshore.cli.running.progress import Run
from longshore.client import Client, Unreachable
from longshore.why import text
from longshore.why.kinds import KINDS

_MAX_LINES: Final = 6
_SECONDS: Final = 2.0
"""A run that ended does not wait longer for its story."""


async def told(client: Client, run: Run) -> list[str]:
    """The last lines, as `longshore why` prints them, below each other."""
    try:
        async with asyncio.timeout(_SECONDS):
            answer = await client.request("GET", KINDS[run.kind].explanation(run.namespace, run.name))
    except (TimeoutError, Unreachable):
        return []
    if answer.code != 200:
        return []
    story = types.decode(answer.body)
    last = {"story": story["story"][-_MAX_LINES:], "now": [], "next": []}
    return [f"  {line}" for line in text.lines(last, None, datetime.now(UTC))]
