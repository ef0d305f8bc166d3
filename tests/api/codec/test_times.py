"""Times and durations as Go reads and writes them."""

from __future__ import annotations

import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from longshore.api import times
from longshore.api.times import TimeError

_LAYOUT = '"2006-01-02T15:04:05Z07:00"'
_MICRO_LAYOUT = '"2006-01-02T15:04:05.000000Z07:00"'


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("2026-01-31T23:59:59Z", "2026-01-31T23:59:59Z"),
        ("2026-01-01T00:00:00.999999999Z", "2026-01-01T00:00:00Z"),
        ("2026-01-01T00:00:00+02:00", "2025-12-31T22:00:00Z"),
        ("2024-02-29T12:00:00-00:30", "2024-02-29T12:30:00Z"),
        ("2026-01-01T1:00:00Z", "2026-01-01T01:00:00Z"),
        ("2026-01-01T00:00:00,5Z", "2026-01-01T00:00:00Z"),
        ("0000-01-01T00:00:00Z", "0000-01-01T00:00:00Z"),
        ("0001-01-01T00:00:00Z", None),
        ("0001-01-01T01:00:00+01:00", None),
    ],
)
def test_times_are_written_in_utc_without_fractions(text: str, canonical: str | None) -> None:
    assert times.canonical(text) == canonical


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("noon", f' as {_LAYOUT}: cannot parse "noon" as "2006"'),
        ("", f' as {_LAYOUT}: cannot parse "" as "2006"'),
        ("2026-01-01", f' as {_LAYOUT}: cannot parse "" as "T"'),
        ("2026-01-01 00:00:00Z", f' as {_LAYOUT}: cannot parse " 00:00:00Z" as "T"'),
        ("2026-1-01T00:00:00Z", f' as {_LAYOUT}: cannot parse "1-01T00:00:00Z" as "01"'),
        ("2026-01-01T00:00:00", f' as {_LAYOUT}: cannot parse "" as "Z07:00"'),
        ("2026-01-01T00:00:00+2:00", f' as {_LAYOUT}: cannot parse "+2:00" as "Z07:00"'),
        ("2026-13-01T00:00:00Z", ": month out of range"),
        ("2026-02-29T00:00:00Z", ": day out of range"),
        ("2026-01-01T24:00:00Z", ": hour out of range"),
        ("2026-01-01T00:60:00Z", ": minute out of range"),
        ("2026-01-01T00:00:60Z", ": second out of range"),
        ("2026-01-01T00:00:00Zé", ': extra text: "\\xc3\\xa9"'),
    ],
)
def test_bad_times_are_refused_in_gos_words(text: str, what: str) -> None:
    with pytest.raises(TimeError) as caught:
        times.canonical(text)
    shown = text.replace("é", "\\xc3\\xa9")
    assert str(caught.value) == f'parsing time "{shown}"{what}'


def test_micro_times_have_exactly_six_decimals() -> None:
    assert times.canonical_micro("2026-01-31T00:00:00.123456+01:00") == "2026-01-30T23:00:00.123456Z"
    assert times.canonical_micro("0001-01-01T00:00:00.000000Z") is None
    for text, rest in (("2026-01-01T00:00:00Z", "Z"), ("2026-01-01T00:00:00.5Z", ".5Z")):
        with pytest.raises(TimeError) as caught:
            times.canonical_micro(text)
        shown = f'parsing time "{text}" as {_MICRO_LAYOUT}: cannot parse "{rest}" as ".000000"'
        assert str(caught.value) == shown


@given(st.integers(-62135596800, 253402300799))
def test_seconds_and_text_agree_with_the_calendar(seconds: int) -> None:
    expected = datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=seconds)
    text = times.format_seconds(seconds)
    assert text == expected.isoformat() + "Z"
    assert times.parse(text) == (seconds, 0)


@pytest.mark.parametrize(
    ("text", "nanos", "shown"),
    [
        ("0", 0, "0s"), ("5m", 300 * 10**9, "5m0s"), ("1.5h", 5400 * 10**9, "1h30m0s"),
        ("-5s", -5 * 10**9, "-5s"),
        ("300ms", 3 * 10**8, "300ms"), ("1us", 1000, "1µs"), ("1µs", 1000, "1µs"),
        ("1500ms", 15 * 10**8, "1.5s"),
        ("100h", 360000 * 10**9, "100h0m0s"), ("1h1m1.001s", 3661001 * 10**6, "1h1m1.001s"),
        (".5s", 5 * 10**8, "500ms"),
    ],
)  # fmt: skip
def test_durations_are_read_and_written_as_in_go(text: str, nanos: int, shown: str) -> None:
    assert times.parse_duration(text) == nanos
    assert times.format_duration(nanos) == shown
    assert times.parse_duration(shown) == nanos


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1d", 'time: unknown unit "d" in duration "1d"'),
        ("1h 2m", 'time: unknown unit "h " in duration "1h 2m"'),
        ("5", 'time: missing unit in duration "5"'),
        ("", 'time: invalid duration ""'),
        ("soon", 'time: invalid duration "soon"'),
        (".s", 'time: invalid duration ".s"'),
        ("3000000h", 'time: invalid duration "3000000h"'),
    ],
)
def test_bad_durations_are_refused_in_gos_words(text: str, message: str) -> None:
    with pytest.raises(TimeError) as caught:
        times.parse_duration(text)
    assert str(caught.value) == message
