"""The stories of runs, for their end and for their record. Nothing where the server tells no stories."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Final

from longshore.api import types
from longshore.api.types import Obj
from longshore.cli.running.progress import Run
from longshore.client import Client, Unreachable
from longshore.why import text
from longshore.why.kinds import KINDS

_MAX_LINES: Final = 6
_SECONDS: Final = 2.0
"""A run that ended does not wait longer for its story."""


async def story(client: Client, run: Run) -> Obj | None:
    """The story of a run so far, as `longshore why -o json` prints it."""
    try:
        async with asyncio.timeout(_SECONDS):
            answer = await client.request("GET", KINDS[run.kind].explanation(run.namespace, run.name))
    except (TimeoutError, Unreachable):
        return None
    found: Obj = types.decode(answer.body) if answer.code == 200 else {}
    return found or None


async def told(client: Client, run: Run) -> list[str]:
    """The last lines, as `longshore why` prints them, below each other."""
    found = await story(client, run)
    if found is None:
        return []
    last = {"story": found["story"][-_MAX_LINES:], "now": [], "next": []}
    return [f"  {line}" for line in text.lines(last, None, datetime.now(UTC))]
