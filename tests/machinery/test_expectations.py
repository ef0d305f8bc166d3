"""What a controller has done and not yet seen."""

from __future__ import annotations

from longshore.machinery.writes.expectations import Expectations, UidExpectations
from machinery.manual_clock import ManualClock

KEY = "ns/job"


def test_nothing_expected_is_satisfied() -> None:
    assert Expectations[str](ManualClock()).satisfied(KEY)


def test_creations_are_waited_for_until_all_are_seen() -> None:
    expected = Expectations[str](ManualClock())
    expected.expect_creations(KEY, 2)
    assert not expected.satisfied(KEY)
    assert expected.satisfied("ns/other")
    expected.creations_observed(KEY)
    assert not expected.satisfied(KEY)
    expected.creations_observed(KEY)
    assert expected.satisfied(KEY)


def test_creations_and_deletions_must_both_be_seen() -> None:
    expected = Expectations[str](ManualClock())
    expected.expect_deletions(KEY, 1)
    expected.creations_observed(KEY)
    assert not expected.satisfied(KEY)
    expected.deletions_observed(KEY)
    assert expected.satisfied(KEY)


def test_expecting_anew_replaces_both_counters() -> None:
    expected = Expectations[str](ManualClock())
    expected.expect_creations(KEY, 5)
    expected.expect_deletions(KEY, 1)
    assert expected.pending(KEY) == (0, 1)
    expected.expect_creations(KEY, 3)
    assert expected.pending(KEY) == (3, 0)


def test_more_may_be_seen_than_was_expected() -> None:
    expected = Expectations[str](ManualClock())
    expected.expect_creations(KEY, 1)
    expected.creations_observed(KEY, 3)
    assert expected.pending(KEY) == (-2, 0)
    assert expected.satisfied(KEY)


def test_what_is_seen_without_an_expectation_leaves_no_trace() -> None:
    expected = Expectations[str](ManualClock())
    expected.creations_observed(KEY)
    expected.deletions_observed(KEY)
    assert expected.pending(KEY) is None
    expected.expect_creations(KEY, 1)
    assert not expected.satisfied(KEY)


def test_after_five_minutes_it_stops_waiting() -> None:
    clock = ManualClock()
    expected = Expectations[str](clock)
    expected.expect_creations(KEY, 1)
    clock.advance(299)
    assert not expected.satisfied(KEY)
    assert expected.patience(KEY) == 1.0
    clock.advance(1)
    assert expected.satisfied(KEY)
    expected.expect_deletions(KEY, 1)
    assert not expected.satisfied(KEY)


def test_seeing_something_does_not_give_more_time() -> None:
    clock = ManualClock()
    expected = Expectations[str](clock)
    expected.expect_creations(KEY, 2)
    clock.advance(299)
    expected.creations_observed(KEY)
    clock.advance(2)
    assert expected.satisfied(KEY)


def test_forgetting_satisfies() -> None:
    expected = Expectations[str](ManualClock())
    expected.expect_creations(KEY, 1)
    expected.forget(KEY)
    expected.forget(KEY)
    assert expected.satisfied(KEY)


def test_uids_are_expected_until_seen_and_never_given_up() -> None:
    expected = UidExpectations[str]()
    assert expected.uids(KEY) == set()
    expected.expect(KEY, ["a", "b"])
    expected.expect(KEY, ["b", "c"])
    assert expected.uids(KEY) == {"a", "b", "c"}
    expected.observed(KEY, "b")
    expected.observed(KEY, "unknown")
    expected.observed("ns/other", "a")
    assert expected.uids(KEY) == {"a", "c"}
    expected.observed(KEY, "a")
    expected.observed(KEY, "c")
    assert expected.uids(KEY) == set()
    expected.expect(KEY, ["d"])
    expected.forget(KEY)
    assert expected.uids(KEY) == set()


def test_keys_without_expectations_take_no_room() -> None:
    expected = UidExpectations[str]()
    expected.expect(KEY, ["a"])
    expected.observed(KEY, "a")
    assert not expected._expectations
