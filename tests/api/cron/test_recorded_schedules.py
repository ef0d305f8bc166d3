"""Every row that was recorded from Kubernetes' cron library and CronJob controller."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import pytest

from longshore.api import cron
from support.places import RECORDED

VECTORS = RECORDED / "vectors/cron.jsonl"
SECOND = 1_000_000_000
SATURATED = -(2**63)


def rows(kind: str) -> Iterator[dict[str, Any]]:
    with VECTORS.open(encoding="utf-8") as lines:
        for line in lines:
            if f'"kind":"{kind}"' in line:
                yield json.loads(line)


def instant(text: str | None) -> int | None:
    if text is None:
        return None
    whole, _, fraction = text.rstrip("Z").partition(".")
    seconds = int(datetime.fromisoformat(whole + "+00:00").timestamp())
    return seconds * SECOND + int(fraction.ljust(9, "0") or 0)


def test_next_activations_are_those_of_the_reference() -> None:
    wrong, count = [], 0
    for row in rows("next"):
        schedule = cron.parse_in_zone(row["schedule"], row["tz"])
        at, chain = instant(row["after"]), []
        assert at is not None
        for _ in range(10):
            found = schedule.next(at, cron.UTC)
            chain.append(found)
            if found is None:
                break
            at = found
        count += 1
        if chain != [instant(t) for t in row["next"]]:
            wrong.append(row)
    assert count > 1000
    assert not wrong


def test_broken_schedules_are_refused_in_the_words_of_the_reference() -> None:
    for row in rows("invalid"):
        with pytest.raises(cron.ScheduleError) as refused:
            cron.parse(row["schedule"])
        assert str(refused.value) == row["error"], row["schedule"]


def test_searches_that_never_end_upstream_end_here() -> None:
    for row in rows("hang"):
        schedule = cron.parse_in_zone(row["schedule"], row["tz"])
        after = instant(row["after"])
        assert after is not None
        for _ in range(20):
            found = schedule.next(after, cron.UTC)
            assert found is not None
            assert found > after
            after = found


Judged = tuple[Any, Any, Any, str | None]


def outlook(row: dict[str, Any], deadline: int | None) -> Judged:
    """What the search for missed activations says, in the form of the recorded rows."""
    try:
        found = cron.most_recent(*question(row), deadline=deadline, **history(row))
    except cron.NeverFires as problem:
        return None, None, None, str(problem)
    return found.earliest, found.at, found.missed, None


def due(row: dict[str, Any]) -> Judged:
    try:
        at, many = cron.most_recent(
            *question(row), deadline=row["startingDeadlineSeconds"], **history(row)
        ).due
    except cron.NeverFires as problem:
        return None, False, None, str(problem)
    return at, many, None, None


def question(row: dict[str, Any]) -> tuple[cron.Schedule | cron.Every, cron.Zone, int]:
    now = instant(row["now"])
    assert now is not None
    return cron.parse_in_zone(row["schedule"], row["tz"]), cron.UTC, now


def history(row: dict[str, Any]) -> dict[str, Any]:
    return {"created": instant(row["created"]), "last": instant(row["lastScheduleTime"])}


def test_missed_activations_are_judged_as_the_controller_does() -> None:
    for row in rows("missed"):
        for key, deadline in (("withDeadline", row["startingDeadlineSeconds"]), ("withoutDeadline", None)):
            want = row[key]
            expected: Judged = (instant(want["earliest"]), instant(want["mostRecent"]), want["missed"], None)
            if want["error"]:
                expected = (None, None, None, want["error"])
            assert outlook(row, deadline) == expected, row
        assert due(row) == (instant(row["due"]), row["tooManyMissed"], None, row["dueError"]), row


def test_the_next_look_is_when_the_controller_takes_it() -> None:
    for row in rows("missed"):
        wait = cron.requeue_after(*question(row), **history(row))
        assert (SATURATED if wait is None else wait) == row["requeueAfterNanos"], row
