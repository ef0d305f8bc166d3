"""One throw-away longshore for all the Jobs of a module."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.longshore_process import longshore_up
from support.real_gangs import Jobs


@pytest.fixture(scope="module")
def jobs() -> Iterator[Jobs]:
    with longshore_up() as running:
        yield Jobs(running)
