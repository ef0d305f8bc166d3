"""Python's collector of garbage is left as a test had it."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from longshore.testing.resting_collector import resting_collector


@pytest.fixture(autouse=True)
def enabled_afterwards() -> Iterator[None]:
    yield
    gc.enable()


def test_the_collector_works_again_after_an_error_too() -> None:
    with pytest.raises(RuntimeError), resting_collector():
        raise RuntimeError
    assert gc.isenabled()


def test_the_collector_rests_for_so_long() -> None:
    with resting_collector():
        assert not gc.isenabled()


def test_a_collector_that_a_test_turned_off_stays_off() -> None:
    gc.disable()
    with resting_collector():
        assert not gc.isenabled()
    assert not gc.isenabled()
