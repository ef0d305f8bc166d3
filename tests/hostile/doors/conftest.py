from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from support.door import Door, a_door


@pytest.fixture
async def door(anyio_backend: str) -> AsyncIterator[Door]:
    async with a_door() as door:
        yield door
