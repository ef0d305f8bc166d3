from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from support.keeper_engine import Engine


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, bool]]:
    """The loop that longshore runs on."""
    return ("asyncio", {"use_uvloop": True})


@pytest.fixture
async def engine(tmp_path: Path, anyio_backend: object) -> AsyncIterator[Engine]:
    one = Engine(tmp_path)
    await one.open()
    yield one
    await one.runtime.close(kill=True)


@pytest.fixture
async def engines(tmp_path: Path, anyio_backend: object) -> AsyncIterator[Callable[[], Engine]]:
    """Several, one after the other, on the same directory; the last one cleans up."""
    made: list[Engine] = []

    def make() -> Engine:
        made.append(Engine(tmp_path))
        return made[-1]

    yield make
    for one in made[:-1]:
        await one.runtime.close(kill=False)
    with contextlib.suppress(Exception):
        await made[-1].runtime.close(kill=True)
