"""A virtual loop that runs what is ready in any order, by dice: every interleaving of tasks is possible."""

from __future__ import annotations

import asyncio
import itertools
import random
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from longshore.machinery.time.virtual import VirtualClock, VirtualLoop

T = TypeVar("T")


class NumberedTask(asyncio.Task[Any]):
    """A task with a number for a hash: sets of tasks, which asyncio cancels in their order, have the same
    order in every run.
    """

    _numbers = itertools.count()
    _number: int | None = None
    """Drawn when it is first asked for, which asyncio does when it makes the task."""

    def __hash__(self) -> int:
        if self._number is None:
            self._number = next(self._numbers)
        return self._number


class RestlessError(Exception):
    """Work goes on and on, and no virtual time passes: something is tried again without a pause."""


class BoundedLoop(VirtualLoop):
    """Raises RestlessError after MAX_TURNS at one moment, where a run would never end."""

    MAX_TURNS = 50_000
    _turns = 0
    _moment = 0.0

    def _run_once(self) -> None:
        if self.elapsed != self._moment:
            self._moment, self._turns = self.elapsed, 0
        self._turns += 1
        if self._turns > self.MAX_TURNS:
            self._turns = 0
            raise RestlessError(f"{self.MAX_TURNS} turns of the loop at second {self._moment}")
        super()._run_once()  # type: ignore[misc] # asyncio's own step, which typeshed does not tell


class ShuffledLoop(BoundedLoop):
    """asyncio promises no order among tasks; its own loop has one, and code may come to rely on it."""

    _ready: deque[asyncio.Handle]

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        super().__init__()

    def _run_once(self) -> None:
        ready = self._ready
        if len(ready) > 1:
            handles = list(ready)
            self._rng.shuffle(handles)
            ready.clear()
            ready.extend(handles)
        super()._run_once()


def run(main: Callable[[VirtualClock], Awaitable[T]], seed: int, *, shuffled: bool) -> T:
    async def whole() -> T:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        NumberedTask._numbers = itertools.count()
        loop.set_task_factory(lambda loop, work, **more: NumberedTask(work, loop=loop, **more))
        return await main(VirtualClock(loop, seed=seed))

    def loop() -> VirtualLoop:
        return ShuffledLoop(random.Random(f"order {seed}")) if shuffled else BoundedLoop()

    with asyncio.Runner(loop_factory=loop) as runner:
        # Not by runner.run: to say what SIGINT did before, it describes the task in words, which takes 30 ms.
        return runner.get_loop().run_until_complete(whole())
