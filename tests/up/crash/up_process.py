"""`longshore up` that does nothing but store, as a process that a test may kill."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from support.http_calls import Calls, calling
from support.longshore_process import Up


class UpProcess(Up):
    """Runs from the beginning. `log` takes its standard error, `before` runs in it first."""

    def __init__(
        self, data: Path, *words: str, log: Path | None = None, before: Callable[[], object] | None = None
    ) -> None:
        super().__init__(data, "--controllers", "none", "--no-node", "--no-scheduler", *words)
        self.errors = log or data.with_name(data.name + ".log")
        self.begin(before=before)

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[Calls]:
        longshore = await asyncio.to_thread(self.meet)
        headers = {"Authorization": f"Bearer {longshore.token}"}
        async with calling(longshore.server, longshore.tls, headers) as calls:
            yield calls
