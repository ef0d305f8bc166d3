"""Durations in Go's spelling. The facts are those of Go's time.ParseDuration and Duration.String."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from longshore.api.time import durations
from longshore.api.time.rfc3339 import TimeError

_NS, _US, _MS, _S, _M, _H = 1, 10**3, 10**6, 10**9, 60 * 10**9, 3600 * 10**9


@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    [
        ("0", 0),
        ("+0", 0),
        ("-0", 0),
        ("5s", 5 * _S),
        ("+5s", 5 * _S),
        ("1h30m", 90 * _M),
        ("1.5h", 90 * _M),
        ("10.5s4m", 4 * _M + 10_500 * _MS),
        ("1h15m30.918273645s", _H + 15 * _M + 30 * _S + 918_273_645),
        (".5s", 500 * _MS),
        ("1.s", _S),
        ("00001s", _S),
        ("-2ms", -2 * _MS),
        ("3us4ns", 3_004),
        ("1µs", _US),
        ("1μs", _US),
        ("9223372036854775807ns", 2**63 - 1),
        ("9223372036854775.807us", 2**63 - 1),
        ("9223372036s854ms775us807ns", 2**63 - 1),
        ("-9223372036854775808ns", -(2**63)),
        ("-9223372036854775.808us", -(2**63)),
        ("-2562047h47m16.854775808s", -(2**63)),
        ("9007199254.740993ms", 2**53 + 1),
        ("0.3333333333333333333h", 20 * _M),
        ("0.100000000000000000000h", 6 * _M),
        ("0.830103483285477580700h", 49 * _M + 48 * _S + 372_539_827),
        ("0." + "0" * 400 + "1h", 0),
        ("0." + "9" * 30 + "s", _S),
        ("-9223372036854775808ns9223372036854775808ns", 0),
    ],
)
def test_a_duration_is_read(text: str, nanoseconds: int) -> None:
    assert durations.parse(text) == nanoseconds


@pytest.mark.parametrize("text", [
    "", "-", "+", ".", "-.", ".s", "+.s", "soon", "--1s", "+-1s",
    "3000000h", "9223372036854775808ns", "9223372036854775809ns", "-9223372036854775809ns",
    "9223372036854775.808us", "9223372036854ms775us808ns", "1" + "0" * 5000 + "ns",
])  # fmt: skip
def test_what_is_no_duration_or_too_long_is_refused_in_go_s_words(text: str) -> None:
    with pytest.raises(TimeError) as refused:
        durations.parse(text)
    assert str(refused.value) == f'time: invalid duration "{text}"'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("3", 'time: missing unit in duration "3"'),
        ("1h2", 'time: missing unit in duration "1h2"'),
        ("1.2.3s", 'time: missing unit in duration "1.2.3s"'),
        ("1d", 'time: unknown unit "d" in duration "1d"'),
        ("1h-2m", 'time: unknown unit "h-" in duration "1h-2m"'),
        ("1h 2m", 'time: unknown unit "h " in duration "1h 2m"'),
        ("1e3s", 'time: unknown unit "e" in duration "1e3s"'),
        ("1S", 'time: unknown unit "S" in duration "1S"'),
        ("1\x85", 'time: unknown unit "\\xc2\\x85" in duration "1\\xc2\\x85"'),
        ("1\x7f", 'time: unknown unit "\x7f" in duration "1\x7f"'),
        ('1"', 'time: unknown unit "\\"" in duration "1\\""'),
    ],
)
def test_a_bad_unit_is_named(text: str, message: str) -> None:
    with pytest.raises(TimeError) as refused:
        durations.parse(text)
    assert str(refused.value) == message


@pytest.mark.parametrize(
    ("nanoseconds", "text"),
    [
        (0, "0s"),
        (1, "1ns"),
        (1_100, "1.1µs"),
        (2_200_000, "2.2ms"),
        (3_300_000_000, "3.3s"),
        (5 * _M, "5m0s"),
        (4 * _M + 5_001 * _MS, "4m5.001s"),
        (5 * _H + 6 * _M + 7_001 * _MS, "5h6m7.001s"),
        (100 * _H, "100h0m0s"),
        (-5 * _S, "-5s"),
        (8 * _M + 1, "8m0.000000001s"),
        (2**63 - 1, "2562047h47m16.854775807s"),
        (-(2**63), "-2562047h47m16.854775808s"),
    ],
)
def test_a_duration_is_written(nanoseconds: int, text: str) -> None:
    assert durations.text(nanoseconds) == text


@given(st.integers(-(2**63), 2**63 - 1))
def test_every_duration_is_read_as_it_was_written(nanoseconds: int) -> None:
    assert durations.parse(durations.text(nanoseconds)) == nanoseconds


@given(
    st.lists(st.tuples(st.integers(0, 999), st.sampled_from(["ns", "us", "ms", "s", "m", "h"])), min_size=1)
)
def test_parts_add_up_in_any_order_and_number(parts: list[tuple[int, str]]) -> None:
    units = {"ns": _NS, "us": _US, "ms": _MS, "s": _S, "m": _M, "h": _H}
    text = "".join(f"{number}{unit}" for number, unit in parts)
    assert durations.parse(f"-{text}") == -sum(number * units[unit] for number, unit in parts)
