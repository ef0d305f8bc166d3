"""RFC 3339 times as Go reads and writes them."""

from __future__ import annotations

import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from longshore.api.time import instants, rfc3339
from longshore.api.time.rfc3339 import TimeError

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
        ("9999-12-31T23:59:59Z", "9999-12-31T23:59:59Z"),
        ("0001-01-01T00:00:00Z", None),
        ("0001-01-01T01:00:00+01:00", None),
    ],
)
def test_times_are_written_in_utc_without_fractions(text: str, canonical: str | None) -> None:
    assert rfc3339.canonical(text) == canonical


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
        ("9999-12-31T23:59:59-01:00", ": year out of range"),
        ("0000-01-01T00:59:59+01:00", ": year out of range"),
        ("2026-01-01T00:00:00Zé", ': extra text: "\\xc3\\xa9"'),
    ],
)
def test_bad_times_are_refused_in_gos_words(text: str, what: str) -> None:
    with pytest.raises(TimeError) as caught:
        rfc3339.canonical(text)
    shown = text.replace("é", "\\xc3\\xa9")
    assert str(caught.value) == f'parsing time "{shown}"{what}'


def test_micro_times_have_exactly_six_decimals() -> None:
    assert rfc3339.canonical_micro("2026-01-31T00:00:00.123456+01:00") == "2026-01-30T23:00:00.123456Z"
    assert rfc3339.canonical_micro("0001-01-01T00:00:00.000000Z") is None
    for text, rest in (("2026-01-01T00:00:00Z", "Z"), ("2026-01-01T00:00:00.5Z", ".5Z")):
        with pytest.raises(TimeError) as caught:
            rfc3339.canonical_micro(text)
        shown = f'parsing time "{text}" as {_MICRO_LAYOUT}: cannot parse "{rest}" as ".000000"'
        assert str(caught.value) == shown


@given(st.integers(-62135596800, 253402300799))
def test_seconds_and_text_agree_with_the_calendar(seconds: int) -> None:
    expected = datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=seconds)
    text = rfc3339.from_seconds(seconds)
    assert text == expected.isoformat() + "Z"
    assert rfc3339.parse(text) == seconds * instants.SECOND


@given(st.datetimes(min_value=datetime.datetime(1000, 1, 1), timezones=st.just(datetime.UTC)))
def test_what_a_clock_says_is_written_and_read_back(moment: datetime.datetime) -> None:
    at = instants.of(moment)
    assert instants.moment(at) == moment
    assert rfc3339.parse(rfc3339.micros_from_moment(moment)) == at
    assert rfc3339.parse(rfc3339.from_moment(moment)) == at // instants.SECOND * instants.SECOND
    assert rfc3339.from_moment(moment) == rfc3339.from_instant(at)


@given(
    st.from_regex(
        r"[12]\d{3}-[01]\d-[0-3]\dT[0-2]\d:[0-5]\d:[0-5]\d(\.\d{1,9})?(Z|[+-]0\d:00)", fullmatch=True
    )
)
def test_the_quick_way_reads_what_the_exact_reader_reads(text: str) -> None:
    try:
        exact: object = rfc3339._parse(text, rfc3339._SECONDS)
    except TimeError as err:
        exact = str(err)
    try:
        quick: object = rfc3339.parse(text)
    except TimeError as err:
        quick = str(err)
    assert quick == exact


def test_a_time_that_is_not_there_is_before_all_others() -> None:
    assert rfc3339.seconds(None) == rfc3339.seconds("") == 0.0
    assert rfc3339.seconds("1970-01-01T00:00:07.9Z") == 7.0
