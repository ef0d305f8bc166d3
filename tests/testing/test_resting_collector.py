"""Python's collector of garbage is left as a test had it."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from longshore.up.startup import resting_collector


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


def test_what_stays_is_not_looked_through_but_can_be_collected() -> None:
    gc.unfreeze()  # our own tests are frozen (tests/conftest.py)
    gc.collect()
    with resting_collector(stays=True):
        made = [[] for _ in range(10)]  # type: list[list[object]]
    assert gc.get_count()[0] < 5
    assert any(each is made for each in gc.get_objects(generation=2))
    assert gc.get_freeze_count() == 0


def test_objects_that_a_test_froze_stay_frozen() -> None:
    gc.freeze()
    try:
        with resting_collector(stays=True):
            pass
        assert gc.get_freeze_count()
    finally:
        gc.unfreeze()
