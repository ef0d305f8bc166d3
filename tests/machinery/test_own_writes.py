"""A controller waits until it sees its own writes."""

from __future__ import annotations

import asyncio

import pytest

from longshore.machinery.informers.cache import Cache
from longshore.machinery.time import virtual
from longshore.machinery.time.clock import RealClock
from longshore.machinery.time.virtual import VirtualClock
from longshore.machinery.writes.own_writes import OwnWrites, StaleCache
from machinery.scripted_api import obj

KEY, UID = "ns/job", "uid-1"


def gate() -> tuple[Cache, Cache, OwnWrites[str]]:
    jobs, pods = Cache(), Cache()
    jobs.revision = pods.revision = 10
    return jobs, pods, OwnWrites({"jobs.batch": jobs, "pods": pods}, RealClock())


def test_without_writes_there_is_nothing_to_wait_for() -> None:
    gate()[2].check(KEY)


def test_each_cache_must_be_as_new_as_the_last_write_to_its_resource() -> None:
    jobs, pods, written = gate()
    written.wrote(KEY, UID, "jobs.batch", obj("job", 11))
    written.wrote(KEY, UID, "pods", obj("a", 14))
    written.wrote(KEY, UID, "pods", obj("b", 12))
    jobs.revision = 11
    with pytest.raises(StaleCache) as caught:
        written.check(KEY)
    assert (
        str(caught.value) == "read version: 10 is not as new as written version: 14 for group resource pods"
    )
    assert (caught.value.resource, caught.value.read, caught.value.written) == ("pods", 10, 14)
    written.check("ns/other")
    pods.revision = 14
    written.check(KEY)


def test_what_was_seen_once_is_forgotten() -> None:
    jobs, _, written = gate()
    written.wrote(KEY, UID, "jobs.batch", obj("job", 11))
    jobs.revision = 12
    written.check(KEY)
    jobs.revision = 0
    written.check(KEY)


def test_writes_of_an_object_that_was_replaced_do_not_count() -> None:
    _, pods, written = gate()
    written.wrote(KEY, UID, "pods", obj("a", 99))
    written.wrote(KEY, "uid-2", "pods", obj("a", 11))
    pods.revision = 11
    written.check(KEY)


def test_the_writes_of_one_object_can_be_forgotten() -> None:
    _, _, written = gate()
    written.wrote(KEY, UID, "pods", obj("a", 99))
    written.forget(KEY, "another uid")
    with pytest.raises(StaleCache):
        written.check(KEY)
    written.forget(KEY, UID)
    written.check(KEY)
    written.wrote(KEY, UID, "pods", obj("a", 99))
    written.forget(KEY)
    written.check(KEY)


def test_resources_nobody_follows_and_versions_that_are_no_numbers_hold_nothing_up() -> None:
    _, _, written = gate()
    written.wrote(KEY, UID, "services", obj("a", 99))
    odd = obj("a", 1)
    odd["metadata"]["resourceVersion"] = "x12"
    written.wrote(KEY, UID, "pods", odd)
    written.check(KEY)


def test_own_changes_are_known_until_they_have_been_seen() -> None:
    jobs, pods, written = gate()
    written.wrote(KEY, UID, "jobs.batch", obj("job", 11))
    written.wrote(KEY, UID, "pods", obj("a", 12))
    written.wrote(KEY, UID, "pods", obj("b", 13))
    assert written.own(KEY, "pods", obj("a", 12))
    assert written.own(KEY, "pods", obj("b", 13))
    assert not written.own(KEY, "pods", obj("a", 11))
    assert not written.own("ns/other", "pods", obj("a", 12))
    jobs.revision = pods.revision = 13
    written.check(KEY)
    assert not written.own(KEY, "pods", obj("a", 12))


def test_one_can_wait_for_the_caches_to_catch_up() -> None:
    async def main(clock: VirtualClock) -> None:
        jobs, pods, written = gate()
        await written.wait(KEY)
        written.wrote(KEY, UID, "jobs.batch", obj("job", 11))
        written.wrote(KEY, UID, "pods", obj("a", 14))
        waiting = asyncio.create_task(written.wait(KEY))
        await clock.sleep(0.25)
        jobs.advance(11)
        pods.advance(13)
        await clock.sleep(0.25)
        assert not waiting.done()
        pods.advance(14)
        await waiting
        assert clock.monotonic() == 0.5

    virtual.run(main)


def test_waiting_has_an_end() -> None:
    async def main(clock: VirtualClock) -> None:
        _, _, written = gate()
        written.wrote(KEY, UID, "pods", obj("a", 14))
        with pytest.raises(StaleCache):
            await written.wait(KEY, patience=3)
        assert clock.monotonic() == 3

    virtual.run(main)
