"""A longshore for each module: a process of its own that the client libraries know nothing about."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.longshore_process import RunningLongshore, longshore_up


@pytest.fixture(scope="module")
def longshore() -> Iterator[RunningLongshore]:
    """No controllers: what a test has made changes only when a client changes it."""
    with longshore_up("--controllers", "none", "--no-node", "--no-scheduler") as running:
        yield running
