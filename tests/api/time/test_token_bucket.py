"""So many at once, then so many a second."""

from __future__ import annotations

from longshore.api.time.backoff import TokenBucket


def test_a_burst_is_followed_by_the_rate() -> None:
    bucket = TokenBucket(2.0, 3.0, filled=100.0)
    assert [bucket.take(100.0) for _ in range(5)] == [True, True, True, False, False]
    assert [bucket.take(100.5), bucket.take(100.5)] == [True, False]


def test_rest_saves_up_no_more_than_a_burst() -> None:
    bucket = TokenBucket(2.0, 3.0, filled=100.0)
    assert [bucket.take(10_000.0) for _ in range(4)] == [True, True, True, False]


def test_a_token_that_is_still_to_come_can_be_reserved() -> None:
    bucket = TokenBucket(2.0, 2.0, filled=100.0)
    assert [bucket.reserve(100.0) for _ in range(4)] == [0.0, 0.0, 0.5, 1.0]
    assert bucket.reserve(102.0) == 0.0
