from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from support.preparing_world import World, preparing


@pytest.fixture
async def world(anyio_backend: str, tmp_path: Path) -> AsyncIterator[World]:
    async with preparing(tmp_path / "node" / "pods") as made:
        yield made
