"""Durations for people, at every boundary of their units."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from longshore.api.time import ages

MINUTE, HOUR, DAY, YEAR = 60, 3600, 86400, 365 * 86400


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-2, "<invalid>"),
        (-1.5, "0s"),
        (0, "0s"),
        (0.9, "0s"),
        (119.9, "119s"),
        (120, "2m"),
        (125, "2m5s"),
        (10 * MINUTE - 1, "9m59s"),
        (10 * MINUTE, "10m"),
        (10 * MINUTE + 59, "10m"),
        (3 * HOUR - 1, "179m"),
        (3 * HOUR, "3h"),
        (3 * HOUR + 5 * MINUTE, "3h5m"),
        (8 * HOUR - 1, "7h59m"),
        (8 * HOUR + 59 * MINUTE, "8h"),
        (48 * HOUR - 1, "47h"),
        (48 * HOUR, "2d"),
        (53 * HOUR, "2d5h"),
        (8 * DAY - 1, "7d23h"),
        (8 * DAY + 23 * HOUR, "8d"),
        (2 * YEAR - 1, "729d"),
        (2 * YEAR, "2y"),
        (2 * YEAR + DAY, "2y1d"),
        (8 * YEAR - 1, "7y364d"),
        (8 * YEAR + 300 * DAY, "8y"),
    ],
)
def test_a_span_is_written_in_at_most_two_units(seconds: float, text: str) -> None:
    assert ages.human(seconds) == text


@pytest.mark.parametrize("timestamp", [None, "", "0001-01-01T00:00:00Z", "soon"])
def test_a_time_that_is_not_there_is_unknown(timestamp: str | None) -> None:
    assert ages.age(timestamp, datetime(2025, 1, 1, tzinfo=UTC)) == "<unknown>"


def test_microseconds_and_offsets_are_read() -> None:
    now = datetime(2025, 1, 1, 0, 1, tzinfo=UTC)
    assert ages.age("2025-01-01T00:00:00.000000Z", now) == "60s"
    assert ages.age("2025-01-01T01:00:00+01:00", now) == "60s"
