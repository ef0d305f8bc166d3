"""Pauses that double."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from longshore.api.time.backoff import Doubling

PAUSES = Doubling(10.0, 300.0)


def test_a_pause_doubles_from_the_first_to_the_cap() -> None:
    assert [PAUSES.after(n) for n in range(1, 8)] == [10, 20, 40, 80, 160, 300, 300]


def test_any_number_of_failures_has_a_pause() -> None:
    assert PAUSES.after(10**9) == 300
    assert Doubling(0.005, 1000.0).after(10**6) == 1000.0


@given(st.floats(0.001, 10), st.floats(10, 1000), st.integers(1, 40))
def test_counting_failures_and_doubling_the_last_pause_come_to_the_same(
    first: float, cap: float, n: int
) -> None:
    pauses, pause = Doubling(first, cap), 0.0
    for _ in range(n):
        pause = pauses.following(pause)
    assert pause == pauses.after(n)
