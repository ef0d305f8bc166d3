"""Events live for an hour after their last change, and the oldest go earlier when there are too many."""

from __future__ import annotations

import random

import pytest

from longshore.api.errors import StatusError
from longshore.api.retention import Retention
from longshore.api.time import rfc3339
from longshore.apiserver.event_expiry import Ages, forget_old_events, forget_surplus_events, is_due

pytestmark = pytest.mark.anyio

TTL_SECONDS = int(Retention().event_age)
EVENT = {
    "involvedObject": {"kind": "Job", "name": "j", "namespace": "default"},
    "reason": "R",
    "message": "m",
}


async def test_an_old_event_goes_and_a_young_one_stays(server):
    await server.create("events", {"metadata": {"name": "old"}, **EVENT})
    server.clock.seconds += TTL_SECONDS - 1
    await server.create("events", {"metadata": {"name": "young"}, **EVENT})
    assert await forget_old_events(server.api, Ages(TTL_SECONDS)) == 0
    server.clock.seconds += 1
    assert await forget_old_events(server.api, Ages(TTL_SECONDS)) == 1
    assert await server.names("events") == ["young"]


async def test_looks_that_remember_find_what_looks_without_a_memory_find(server):
    dice, ages, told = random.Random(7), Ages(TTL_SECONDS), []
    for number in range(120):
        stamp = rfc3339.from_seconds(server.api.seconds() + dice.choice([-60, 0, 900, 10**9]))
        if number % 4 == 3 and (names := await server.names("events")):
            await server.patch("events", dice.choice(names), {"count": number, "lastTimestamp": stamp})
        else:
            await server.create(
                "events", {"metadata": {"name": f"e-{number}"}, **EVENT, "lastTimestamp": stamp}
            )
        server.clock.seconds += dice.randint(0, 400)
        now, entries = server.api.seconds(), server.api.store.list("events").entries
        due = [entry.key.name for entry in entries if is_due(entry.obj, now, TTL_SECONDS)]
        assert (ages.first(entries, now) <= now) >= bool(due), "no look comes too late"
        told += due
        assert await forget_old_events(server.api, ages) == len(due)
        assert not {*due} & {*await server.names("events")}
    assert len(told) > 20


async def test_a_repeated_event_lives_on(server):
    await server.create("events", {"metadata": {"name": "e"}, **EVENT})
    server.clock.seconds += TTL_SECONDS
    stamp = server.api.now()
    await server.patch("events", "e", {"count": 2, "lastTimestamp": stamp})
    assert await forget_old_events(server.api, Ages(TTL_SECONDS)) == 0


async def test_a_time_stamp_after_the_last_year_is_refused_and_hinders_nobody(server):
    stamp = "9999-12-31T23:59:59-01:00"
    with pytest.raises(StatusError, match="year out of range"):
        await server.create("events", {"metadata": {"name": "never"}, **EVENT, "lastTimestamp": stamp})
    await server.create("events", {"metadata": {"name": "old"}, **EVENT})
    server.clock.seconds += TTL_SECONDS
    assert await forget_old_events(server.api, Ages(TTL_SECONDS)) == 1


async def test_of_too_many_events_those_that_changed_longest_ago_go(server):
    for name in ("first", "second", "third", "fourth"):
        await server.create("events", {"metadata": {"name": name}, **EVENT})
    await server.patch("events", "first", {"count": 2})
    assert await forget_surplus_events(server.api, 4) == 0
    assert await forget_surplus_events(server.api, 2) == 2
    assert await server.names("events") == ["first", "fourth"]


def test_a_time_stamp_in_the_future_keeps_nothing_for_ever():
    event = {
        "metadata": {"creationTimestamp": "2026-01-01T00:00:00Z"},
        "lastTimestamp": "2999-01-01T00:00:00Z",
    }
    created = 1_767_225_600
    assert not is_due(event, created + TTL_SECONDS - 1, TTL_SECONDS)
    assert is_due(event, created + TTL_SECONDS, TTL_SECONDS)


def test_a_series_lives_from_its_last_observation():
    event = {
        "metadata": {"creationTimestamp": "2026-01-01T00:00:00Z"},
        "eventTime": "2026-01-01T00:00:00.000000Z",
        "series": {"count": 2, "lastObservedTime": "2026-01-01T00:30:00.000000Z"},
    }
    created = 1_767_225_600
    assert not is_due(event, created + TTL_SECONDS, TTL_SECONDS)
    assert is_due(event, created + 1800 + TTL_SECONDS, TTL_SECONDS)
