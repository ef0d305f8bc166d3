"""Replicas that share shards, on the virtual clock: each can die, be cut off, or be stopped and continued."""

from __future__ import annotations

import asyncio
import random
from itertools import pairwise
from typing import Any, NamedTuple

from longshore.client import Client, Unreachable
from longshore.client.ask import Ask
from longshore.machinery.election import LeadershipLost
from longshore.machinery.fence import LeaseTooOld
from longshore.machinery.sharding import replica
from longshore.machinery.sharding.division import Division
from longshore.machinery.sharding.replica import Holding, Replica
from longshore.machinery.time.virtual import VirtualClock
from longshore.testing.crashing import OneByOne, Send


class Written(NamedTuple):
    """A write for a shard that reached the server."""

    at: float
    shard: int
    term: int
    who: str


class Process:
    """One process: its time stands still for it while it is stopped, and goes on for everybody else."""

    def __init__(self, clock: VirtualClock) -> None:
        self._clock, self.rng = clock, clock.rng
        self.running = asyncio.Event()
        self.running.set()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._clock, name)

    async def sleep(self, seconds: float) -> None:
        await self._clock.sleep(seconds)
        await self.running.wait()


class Line(OneByOne):
    """A client over a network with delays, which can be cut: requests get lost, or only their answers."""

    def __init__(self, client: Client, process: Process, rng: random.Random) -> None:
        super().__init__(client)
        self._process, self._rng = process, rng
        self.cut = ""

    async def reach(self, ask: Ask, send: Send) -> Any:
        await self._process.running.wait()
        await asyncio.sleep(self._rng.random() * 0.05)
        if self.cut == "refused":
            raise Unreachable("connection refused")
        if self.cut == "silent":
            await asyncio.Event().wait()
        answer = await send(ask)
        if self.cut == "no answers":
            await asyncio.Event().wait()
        await asyncio.sleep(self._rng.random() * 0.05)
        await self._process.running.wait()
        return answer


class Worker:
    """A replica that writes for the shard that it holds, some times a second."""

    def __init__(
        self, clock: VirtualClock, client: Client, name: str, division: Division, written: list[Written]
    ) -> None:
        self.name, self._written, self._clock = name, written, clock
        self.process = Process(clock)
        self.line = Line(client, self.process, random.Random(name))
        self.waits_for: list[str] = []
        self._fence = replica.fence(self.process)
        self.replica = Replica(
            self.line,
            self._work,
            namespace="ns",
            group="controllers",
            identity=name,
            division=division,
            fence=self._fence,
            clock=self.process,
            rng=random.Random(name),
            waiting=self.waits_for.append,
        )
        self._task = asyncio.create_task(self.replica.run())
        self._task.add_done_callback(lambda task: task.cancelled() or task.exception())  # not warned of

    @property
    def lost(self) -> bool:
        return self._task.done() and isinstance(self._task.exception(), LeadershipLost)

    @property
    def ended(self) -> bool:
        return self._task.done()

    async def _work(self, holding: Holding) -> None:
        while True:
            await self.process.running.wait()
            try:
                self._fence.check()
                if not self.line.cut:
                    now = self._clock.monotonic()
                    self._written.append(Written(now, holding.shard, holding.term, self.name))
            except LeaseTooOld:
                pass
            await self.process.sleep(0.25)

    async def stop(self) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def die(self) -> None:
        """Ends it as `kill -9` does: nothing more is sent, and nobody hears of it."""
        self.line.cut = "silent"
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)


def two_owners(written: list[Written]) -> list[tuple[Written, Written]]:
    """Writes for a shard that came after a later holder's: there must be none."""
    latest: dict[int, Written] = {}
    wrong = []
    for write in written:
        last = latest.setdefault(write.shard, write)
        if write.term < last.term or (write.term == last.term and write.who != last.who):
            wrong.append((last, write))
        latest[write.shard] = max(last, write, key=lambda one: one.term)
    return wrong


def longest_gap(written: list[Written], shard: int, begin: float, end: float) -> float:
    """The longest time in which nobody wrote for a shard."""
    between = [write.at for write in written if write.shard == shard and begin <= write.at <= end]
    return max(later - earlier for earlier, later in pairwise([begin, *between, end]))
