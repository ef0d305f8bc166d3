"""Durations in Go's spelling."""

from __future__ import annotations

import pytest

from longshore.api.cron import duration


@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    [
        ("0", 0),
        ("+0", 0),
        ("5s", 5_000_000_000),
        ("1h30m", 5_400_000_000_000),
        ("1.5s", 1_500_000_000),
        (".5s", 500_000_000),
        ("1.s", 1_000_000_000),
        ("-2ms", -2_000_000),
        ("3us4ns", 3_004),
        ("1µs", 1_000),
        ("1μs", 1_000),
        ("9223372036854775807ns", 2**63 - 1),
        ("-9223372036854775808ns", -(2**63)),
    ],
)
def test_a_duration_is_read(text: str, nanoseconds: int) -> None:
    assert duration.parse(text) == nanoseconds


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", 'time: invalid duration ""'),
        ("-", 'time: invalid duration "-"'),
        (".s", 'time: invalid duration ".s"'),
        ("9223372036854775808ns", 'time: invalid duration "9223372036854775808ns"'),
        ("3", 'time: missing unit in duration "3"'),
        ("1d", 'time: unknown unit "d" in duration "1d"'),
        ("1\x85", 'time: unknown unit "\\xc2\\x85" in duration "1\\xc2\\x85"'),
        ('1"', 'time: unknown unit "\\"" in duration "1\\""'),
    ],
)
def test_what_is_no_duration_is_refused_in_go_s_words(text: str, message: str) -> None:
    with pytest.raises(ValueError, match="time:") as refused:
        duration.parse(text)
    assert str(refused.value) == message
