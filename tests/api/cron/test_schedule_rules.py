"""The schedule language: what fires when, and what never does."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from longshore.api import cron
from longshore.api.cron import schedule as searching

SECOND = 1_000_000_000
ZONES = ("UTC", "America/New_York", "Africa/Cairo", "Australia/Lord_Howe", "Pacific/Apia", "Asia/Kathmandu")


def at(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()) * SECOND


def runs(spec: str, zone: str, after: str, count: int) -> list[str]:
    schedule, moment, out = cron.parse_in_zone(spec, zone), at(after), []
    for _ in range(count):
        found = schedule.next(moment, cron.UTC)
        assert found is not None
        out.append(datetime.fromtimestamp(found // SECOND, UTC).strftime("%m-%d %H:%M"))
        moment = found
    return out


def fields(low: int, high: int) -> st.SearchStrategy[str]:
    values = st.integers(low, high)
    ranges = st.tuples(values, values).map(lambda p: f"{min(p)}-{max(p)}")
    steps = st.tuples(st.sampled_from(("*", str(low))), st.integers(1, high)).map(lambda p: f"{p[0]}/{p[1]}")
    return st.lists(st.one_of(st.just("*"), values.map(str), ranges, steps), min_size=1, max_size=3).map(
        ",".join
    )


SPECS = st.tuples(fields(0, 59), fields(0, 23), fields(1, 31), fields(1, 12), fields(0, 6)).map(" ".join)


@given(SPECS, st.sampled_from(ZONES), st.integers(at("1995-01-01"), at("2035-01-01")))
def test_the_next_run_is_later_and_matches_the_schedule_on_the_local_clock(
    spec: str, zone_name: str, after: int
) -> None:
    schedule, zone = cron.parse(spec), cron.load(zone_name)
    assert isinstance(schedule, cron.Schedule)
    found = schedule.next(after, zone)
    if found is None:
        return
    assert found > after
    wall = found // SECOND + zone.offset(found // SECOND)
    days, seconds = divmod(wall, 86_400)
    _, month, day = searching.civil(days)
    assert seconds % 60 == 0
    assert schedule.minutes >> (seconds % 3600 // 60) & 1
    assert schedule.hours >> (seconds // 3600) & 1
    assert schedule.months >> month & 1
    assert schedule.matches_day(day, (days + 4) % 7)


@given(SPECS, st.integers(at("1995-01-01"), at("2035-01-01")), st.integers(1, 10**7))
def test_without_clock_changes_nothing_is_left_out(spec: str, after: int, step: int) -> None:
    schedule = cron.parse(spec)
    found = schedule.next(after, cron.UTC)
    between = after + step * SECOND
    if found is not None and between < found:
        assert schedule.next(between, cron.UTC) == found


@given(st.integers(-800_000, 3_000_000))
def test_dates_and_day_numbers_are_inverse(days: int) -> None:
    assert searching.ordinal(*searching.civil(days)) == days


def test_a_restricted_day_of_month_and_weekday_mean_either() -> None:
    assert runs("0 0 13 * 5", "UTC", "2024-09-01", 4) == [
        "09-06 00:00", "09-13 00:00", "09-20 00:00", "09-27 00:00",
    ]  # fmt: skip
    assert runs("0 0 14 * 5", "UTC", "2024-09-01", 3) == ["09-06 00:00", "09-13 00:00", "09-14 00:00"]


def test_a_star_with_step_one_means_both_and_with_a_larger_step_either() -> None:
    assert runs("0 0 */1 * 5", "UTC", "2024-09-01", 2) == ["09-06 00:00", "09-13 00:00"]
    assert runs("0 0 */2 * 5", "UTC", "2024-09-04", 3) == ["09-05 00:00", "09-06 00:00", "09-07 00:00"]


def test_an_hour_that_is_skipped_skips_its_runs() -> None:
    assert runs("30 2 * * *", "America/New_York", "2024-03-09T12:00", 1) == ["03-11 06:30"]


def test_an_hour_that_comes_twice_runs_twice() -> None:
    assert runs("30 1 * * *", "America/New_York", "2024-11-03T00:00", 3) == [
        "11-03 05:30", "11-03 06:30", "11-04 06:30",
    ]  # fmt: skip


def test_a_day_without_midnight_is_lost_east_of_greenwich() -> None:
    assert runs("0 12 * * 5", "Africa/Cairo", "2024-04-25T12:00", 1) == ["05-03 09:00"]
    assert runs("0 12 * * 5", "Africa/Cairo", "2024-04-26T00:30", 1) == ["04-26 09:00"]


def test_a_month_without_its_first_midnight_is_left_on_the_evening_before_it() -> None:
    """In Paraguay 1 October 2023 began at 01:00. A search from that month steps on from the evening of
    30 September: it comes to January when the 15th is over, and to September late on the 1st. Kubernetes'
    library does the same."""
    found = cron.parse_in_zone("0 12 15 1 *", "America/Asuncion").next(at("2023-10-10"), cron.UTC)
    assert found == at("2025-01-15T15:00")
    found = cron.parse_in_zone("0 12 * 9 *", "America/Asuncion").next(at("2023-10-10"), cron.UTC)
    assert found == at("2024-09-02T16:00")


def test_a_half_hour_change_throws_out_the_whole_hours_of_its_day() -> None:
    assert runs("0 5 * * *", "Australia/Lord_Howe", "2024-10-05T00:00", 2) == ["10-06 18:00", "10-07 18:00"]
    assert runs("30 5 * * *", "Australia/Lord_Howe", "2024-10-05T00:00", 2) == ["10-05 18:30", "10-06 18:30"]


def test_fixed_delays_count_from_whole_seconds() -> None:
    schedule = cron.parse("@every 1h30m0.9s")
    assert schedule.next(at("2024-01-01T00:00") + 999_999_999, cron.UTC) == at("2024-01-01T01:30")
    assert cron.parse("@every 10ms") == cron.Every(1)
    assert cron.parse("@every -5h") == cron.Every(1)


@pytest.mark.parametrize("spec", [", * * * *", "* ,, * * *", "* * , * *", "* * * , *", "* * * * ,"])
def test_a_field_of_commas_never_fires(spec: str) -> None:
    assert cron.parse(spec).next(at("2024-01-01"), cron.UTC) is None


def test_a_field_of_commas_leaves_the_other_day_field_in_force() -> None:
    assert runs("0 0 , * 5", "UTC", "2024-09-01", 1) == ["09-06 00:00"]


def test_nothing_is_found_beyond_five_years() -> None:
    leap_day = cron.parse("0 0 29 2 *")
    assert leap_day.next(at("2088-03-01"), cron.UTC) == at("2092-02-29")
    assert leap_day.next(at("2096-03-01"), cron.UTC) is None
    assert cron.parse("59 23 31 2 *").next(at("2024-01-01"), cron.load("Europe/Berlin")) is None


def test_a_zone_in_the_schedule_wins_over_the_one_asked_about() -> None:
    assert runs("TZ=Asia/Tokyo 0 9 * * *", "America/New_York", "2024-01-01", 1) == ["01-02 00:00"]
    assert cron.parse("CRON_TZ= 0 9 * * *").next(at("2024-01-01"), cron.load("Asia/Tokyo")) == at(
        "2024-01-01T09:00"
    )


def test_a_zone_that_is_not_there_leaves_the_schedule_without_one() -> None:
    schedule = cron.parse_in_zone("0 9 * * *", "Mars/Base")
    assert schedule.zone is None


@pytest.mark.parametrize("name", ["america/new_york", "America", "Nowhere", "Local", "zone.tab"])
def test_zones_are_known_by_their_exact_names(name: str) -> None:
    with pytest.raises(cron.UnknownZone, match=f"^unknown time zone {name}$"):
        cron.load(name)


@pytest.mark.parametrize("name", ["../UTC", "/UTC", "Europe/.."])
def test_zone_names_that_lead_elsewhere_are_refused(name: str) -> None:
    with pytest.raises(cron.UnknownZone, match=r"^time: invalid location name$"):
        cron.load(name)
