"""Index lists of Indexed Jobs: reading, writing, merging, at any size."""

from __future__ import annotations

import random
from contextlib import nullcontext

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longshore.api import indexes
from longshore.api.indexes import IndexListError

SETS = st.frozensets(st.integers(0, 200))
LONG = "9" * 5000


def runs(members: frozenset[int]) -> indexes.Runs:
    return indexes.from_sorted(sorted(members))


def members(found: indexes.Runs) -> set[int]:
    return {i for first, last in found for i in range(first, last + 1)}


@given(SETS)
def test_what_is_written_reads_back(given_set: frozenset[int]) -> None:
    text = indexes.write(runs(given_set))
    assert indexes.read(text, 201) == runs(given_set)
    assert members(indexes.parse(text, 201)) == given_set
    assert indexes.count(indexes.parse(text, 201)) == len(given_set)


@given(SETS, SETS)
def test_merging_and_intersecting_are_those_of_sets(a: frozenset[int], b: frozenset[int]) -> None:
    assert indexes.merge(runs(a), runs(b)) == runs(a | b)
    assert members(indexes.common(runs(a), runs(b))) == a & b


@given(SETS, st.integers(0, 250))
def test_membership_and_what_is_missing_are_those_of_sets(a: frozenset[int], limit: int) -> None:
    assert indexes.contains(runs(a), limit) == (limit in a)
    assert list(indexes.missing(runs(a), limit)) == [i for i in range(limit) if i not in a]


@given(SETS, st.lists(st.integers(0, 30), max_size=60))
def test_indexes_put_in_and_taken_out_one_by_one_leave_the_runs_of_the_set(
    begun: frozenset[int], changes: list[int]
) -> None:
    found, left = [*runs(begun)], set(begun)
    for index in changes:
        if index in left:
            left.remove(index)
            indexes.discard(found, index)
        else:
            left.add(index)
            indexes.add(found, index)
        assert tuple(found) == runs(frozenset(left))


@settings(max_examples=15, deadline=None)
@given(
    st.integers(0, 2**32).map(lambda seed: random.Random(seed).sample(range(400), 120)).map(frozenset),
    SETS,
    st.integers(380, 410),
)
def test_a_long_list_that_was_written_before_reads_as_any_other(
    a: frozenset[int], b: frozenset[int], completions: int
) -> None:
    for found in (
        runs(a),
        indexes.merge(runs(a), runs(b)),
        indexes.merge(runs(a), runs(frozenset([*b][:1]))),
    ):
        text = indexes.write(found)
        again = f"{text},x"  # never written, and the same to a reader who forgives
        assert indexes.read(text, completions) == indexes.read(again, completions)
        for check in (indexes.check, indexes.parse):
            with pytest.raises(IndexListError) if members(found) - set(range(completions)) else nullcontext():
                check(text, completions)
        assert members(found) == {i for i in range(401) if indexes.contains(found, i)}
    assert members(indexes.merge(runs(a), runs(b))) == a | b


def test_two_in_a_row_are_written_apart_and_three_as_a_range() -> None:
    assert indexes.write(indexes.from_sorted([0, 1, 3, 5, 6, 7])) == "0,1,3,5-7"
    assert indexes.write(()) == ""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x", 'cannot convert string to integer for index: "x"'),
        ("1,", 'cannot convert string to integer for index: ""'),
        ("-1", 'cannot convert string to integer for index: ""'),
        ("1-", 'cannot convert string to integer for index: ""'),
        ("1_0", 'cannot convert string to integer for index: "1_0"'),
        ("99999999999999999999", 'cannot convert string to integer for index: "99999999999999999999"'),
        pytest.param(
            LONG, f'cannot convert string to integer for index: "{LONG}"', id="too long for Python to read"
        ),
        ("10", 'too large index: "10"'),
        ("0-10", 'too large index: "10"'),
        ("2,1", "non-increasing order, previous: 2, current: 1"),
        ("1,1", "non-increasing order, previous: 1, current: 1"),
        ("3-2", "non-increasing order, previous: 3, current: 2"),
        ("3-3", "non-increasing order, previous: 3, current: 3"),
        (
            "1-2-3",
            'the fragment "1-2-3" violates the requirement that an index interval can have at most two parts '
            "separated by '-'",
        ),
    ],
)
def test_a_list_out_of_form_is_refused_with_the_reason(text: str, message: str) -> None:
    with pytest.raises(indexes.IndexListError) as refused:
        indexes.parse(text, 10)
    assert str(refused.value) == message


def test_reading_skips_what_is_corrupt_and_cuts_what_is_beyond_the_job() -> None:
    assert indexes.read("0,1-foo,bar", 5) == ((0, 0),)
    assert indexes.read("0-1,2,4-9,11", 6) == ((0, 2), (4, 5))
    assert indexes.read("", 5) == ()


def test_a_hundred_thousand_indexes_make_one_run() -> None:
    half = indexes.from_sorted(range(0, 100_000, 2))
    text = indexes.write(half)
    again = indexes.read(text, 100_000)
    everything = indexes.merge(again, indexes.from_sorted(range(1, 100_000, 2)))
    assert everything == ((0, 99_999),)
    assert indexes.count(indexes.common(again, everything)) == 50_000


def test_leading_zeros_and_a_sign_are_read_as_go_reads_them() -> None:
    assert indexes.integer("0" * 5000 + "7") == 7
    assert (indexes.integer("+7"), indexes.integer("-7"), indexes.integer("-0")) == (7, -7, 0)


@given(SETS, SETS)
def test_one_list_without_another_holds_the_difference(a: frozenset[int], b: frozenset[int]) -> None:
    assert indexes.without(runs(a), runs(b)) == runs(a - b)
