"""What a person sees while runs go on. One contract, two engines: `live.py` and `plain.py`."""

from __future__ import annotations

from typing import Protocol

from longshore.cli.running.progress import Failed, Run


class Display(Protocol):
    """Everything is told on the event loop, and may be told thousands of times a second."""

    def say(self, text: str) -> None:
        """A line that stays."""

    def begin(self, runs: list[Run]) -> None: ...

    def changed(self, run: Run) -> None: ...

    def failure(self, run: Run, failed: Failed) -> None: ...

    def line(self, prefix: str, line: bytes) -> None:
        """A line of output, with its end, for standard output."""

    async def follow(self) -> None:
        """Redraws what has changed, a few times a second, until cancelled."""

    def close(self) -> None:
        """Before the last words."""


class Quiet:
    """Says nothing: for programs that want the result alone."""

    def say(self, text: str) -> None: ...

    def begin(self, runs: list[Run]) -> None: ...

    def changed(self, run: Run) -> None: ...

    def failure(self, run: Run, failed: Failed) -> None: ...

    def line(self, prefix: str, line: bytes) -> None: ...

    async def follow(self) -> None: ...

    def close(self) -> None: ...
