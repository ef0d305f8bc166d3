"""The process runtime on a directory of a test, with what the test wants to know of it."""

from __future__ import annotations

import asyncio
import itertools
import os
import signal
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from longshore.node.keeper import procfs
from longshore.node.keeper.frames import USUAL_CAPABILITIES
from longshore.node.runtime import Container, ContainerState, Key, Walls
from longshore.node.runtimes.process import ProcessRuntime

WALLS = {
    "none": None,
    "process": Walls("process", USUAL_CAPABILITIES, filtered=False),
    "full": Walls("full", USUAL_CAPABILITIES),
}
"""The usual walls of each level."""

LEVEL = os.environ.get("LONGSHORE_TEST_ISOLATION", "none")
"""`make test-walls` runs the tests of the keeper with the walls of `full`."""


class Engine:
    def __init__(self, directory: Path, hidden: Iterable[Path] = ()) -> None:
        self.directory = directory
        self.runtime = ProcessRuntime(directory / "keeper", hidden=hidden)
        self.told: list[ContainerState] = []
        self.remembered: list[ContainerState] = []
        self._numbers = itertools.count()
        self._news = asyncio.Event()

    async def open(self) -> None:
        self.remembered = await self.runtime.open(self._changed)

    def _changed(self, state: ContainerState) -> None:
        self.told.append(state)
        self._news.set()

    @property
    def keeper(self) -> int:
        return self.runtime.keeper_pid

    def container(self, *command: str, **fields: Any) -> Container:
        key = fields.pop("key", None) or Key(f"{self.directory.name}-{next(self._numbers)}", "main", 0)
        fields.setdefault("log", self.directory / "logs" / f"{key.pod_uid}.log")
        fields.setdefault("walls", WALLS[LEVEL])
        return Container(key, "default", "pod", "image", command=command, **fields)

    async def start(self, *command: str, **fields: Any) -> ContainerState:
        return await self.runtime.start(self.container(*command, **fields))

    async def end(self, key: Key) -> ContainerState:
        """Waits until it is told."""
        async with asyncio.timeout(10):
            while True:
                for state in self.told:
                    if state.key == key:
                        return state
                self._news.clear()
                await self._news.wait()

    async def run(self, *command: str, **fields: Any) -> ContainerState:
        return await self.end((await self.start(*command, **fields)).key)

    async def output(self, *command: str, **fields: Any) -> str:
        """What a container writes, without the stamps."""
        return self.log((await self.run(*command, **fields)).key)

    def log(self, key: Key) -> str:
        path = self.directory / "logs" / f"{key.pod_uid}.log"
        if not path.exists():
            return ""
        return "".join(
            text + ("\n" if tag == "F" else "")
            for _, _, tag, text in (line.split(" ", 3) for line in path.read_text().splitlines())
        )


@asynccontextmanager
async def walled(directory: Path) -> AsyncIterator[Engine]:
    """An engine that can give pods all walls; skips the test where the system allows none."""
    one = Engine(directory)
    await one.open()
    try:
        if (await one.runtime.features()).strongest != "full":
            pytest.skip("this system allows no walls")
        yield one
    finally:
        await one.runtime.close(kill=True)


async def until(condition: Callable[[], Any]) -> None:
    async with asyncio.timeout(10):
        while not condition():  # noqa: ASYNC110 - what it waits for happens in other processes
            await asyncio.sleep(0.01)


def exists(path: str | Path) -> bool:
    return os.path.exists(path)


def kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)


def alive(pid: int) -> bool:
    return procfs.start_ticks(pid) != 0
