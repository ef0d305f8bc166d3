"""A fresh cluster on the virtual clock, by hand: the suite does not rely on longshore's own pytest plugin."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from longshore.testing import Cluster


@pytest.fixture
def c() -> Iterator[Cluster]:
    with Cluster(start="2026-01-01") as cluster:
        yield cluster
