"""Users who come while others go, and reads that fail: nobody waits for ever, and nothing gone comes back."""

from __future__ import annotations

import asyncio
import gc
import random
import weakref
from collections.abc import Callable
from typing import Any

import pytest

from longshore.client.errors import ConfigError
from longshore.machinery.informers import followed_selection
from longshore.machinery.informers.informer import Handler, Informer
from longshore.machinery.informers.reflector import Selection
from longshore.machinery.time import virtual
from longshore.machinery.time.virtual import VirtualClock
from longshore.up.outside.health import Health
from machinery.control_plane import MAPS
from machinery.scripted_api import Scripted, bookmark, modified
from machinery.test_scopes import User, World, play

LONG_SECONDS = 60.0


def _is_first(namespace: str) -> bool:
    return namespace == "n0"


async def ended(task: asyncio.Task[Any]) -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def turns_until(is_so: Callable[[], bool]) -> None:
    while not is_so():  # noqa: ASYNC110 - the very turn in which it becomes so is wanted
        await asyncio.sleep(0)


def test_a_user_who_begins_after_all_others_have_ended_is_read_in() -> None:
    async def story(world: World) -> None:
        await world.write("n0", "a")
        await world.write("n1", "a")
        one = world.informers.share(lambda namespace: namespace == "n0")
        two = world.informers.share(lambda namespace: namespace == "n1")
        one.get(MAPS)
        two.get(MAPS)
        running = asyncio.create_task(one.run())
        await one.synced()
        await ended(running)
        running = asyncio.create_task(two.run())
        async with world.clock.timeout(LONG_SECONDS):
            await two.synced()
        assert two.get(MAPS).cache.get("n1", "a")
        await ended(running)

    play(story)


def test_a_cache_that_is_followed_again_reaches_no_version_before_its_objects_are_in_it() -> None:
    async def main(clock: VirtualClock) -> None:
        client = Scripted([([], "5")], [[0.5, modified("a", 6), 100], [1, bookmark(7), 100]])
        informer = Informer(client, Selection(MAPS), clock=clock, rng=random.Random(0))
        tell = informer.followed.modified

        def told(*change: Any) -> None:
            running.cancel()
            tell(*change)

        informer.followed.modified = told  # type: ignore[method-assign] # to end its user just then
        running = asyncio.create_task(informer.run())
        await asyncio.gather(running, return_exceptions=True)
        running = asyncio.create_task(informer.run())
        await informer.cache.reached(7)
        assert informer.cache.get("ns", "a")
        await ended(running)

    virtual.run(main)


def test_a_failure_nobody_expected_keeps_no_user_waiting_for_ever() -> None:
    async def story(world: World) -> None:
        await world.write("n1", "a")
        one, two = User(world, frozenset(("n0",))), User(world, frozenset(("n1",)))
        await one.begin()
        lists = world.line.pages

        async def broken(*args: Any, **options: Any) -> Any:
            world.line.pages = lists  # type: ignore[method-assign] # it fails once
            raise ConfigError("the client certificate and key cannot be used")
            yield

        world.line.pages = broken  # type: ignore[method-assign] # it fails once
        async with world.clock.timeout(LONG_SECONDS):
            await two.begin()
        await asyncio.gather(one.end(), two.end())

    play(story)


def test_an_object_deleted_while_nobody_wants_it_does_not_come_back_from_changes_on_their_way(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(followed_selection, "_TURN_CHANGES", 1)  # as if there were 512 times as many

    async def story(world: World) -> None:
        for number in range(300):
            await world.write("n1", f"a{number}")
        stays = User(world, frozenset(("n0",)))
        await stays.begin()
        goes = world.informers.share(lambda namespace: namespace == "n1")
        cache = goes.get(MAPS).cache
        running = asyncio.create_task(goes.run())
        await turns_until(lambda: len(cache) > 0)  # the first of them are cached, the others on their way
        await ended(running)
        reflector = goes.get(MAPS).followed._reflector
        before = reflector._version
        await world.client.delete(MAPS, "a299", "n1")
        await turns_until(lambda: reflector._version != before)  # the watch has passed the deletion over
        again = world.informers.share(lambda namespace: namespace == "n1")
        again.get(MAPS)
        running = asyncio.create_task(again.run())
        await again.synced()
        await world.clock.sleep(5)
        assert cache.get("n1", "a298")
        assert not cache.get("n1", "a299")
        await ended(running)
        await stays.end()

    play(story)


def test_a_replica_is_not_ready_while_it_cannot_read_in_what_a_shard_wants() -> None:
    async def story(world: World) -> None:
        await world.write("n1", "a")
        one, two = User(world, frozenset(("n0",))), User(world, frozenset(("n1",)))
        await one.begin()
        reading = world.slow_lists()
        beginning = asyncio.create_task(two.begin())
        await reading.wait()
        assert not all(check.well for check in Health(world.informers, None).ready())
        await beginning
        assert all(check.well for check in Health(world.informers, None).ready())
        await asyncio.gather(one.end(), two.end())

    play(story)


@pytest.mark.parametrize("turns", range(6))
@pytest.mark.parametrize("same", [True, False])
def test_a_user_who_begins_while_the_last_one_ends_is_read_in(turns: int, same: bool) -> None:
    async def story(world: World) -> None:
        await world.write("n0", "a")
        one = world.informers.share(_is_first)
        two = world.informers.share(_is_first if same else lambda namespace: namespace == "n0")
        one.get(MAPS)
        two.get(MAPS)
        running = asyncio.create_task(one.run())
        await one.synced()
        running.cancel()
        for _ in range(turns):
            await asyncio.sleep(0)
        other = asyncio.create_task(two.run())
        async with world.clock.timeout(LONG_SECONDS):
            await two.synced()
        await world.write("n0", "b")
        await world.clock.sleep(5)
        assert two.get(MAPS).cache.get("n0", "b")
        await ended(other)

    play(story)


def test_nothing_is_left_of_users_that_are_gone() -> None:
    async def story(world: World) -> None:
        stays = User(world, frozenset(("n0",)))
        await stays.begin()
        gone = []
        for _ in range(5):
            shared, handler = world.informers.share(_is_first), Handler()
            shared.get(MAPS).add_handler(handler)
            gone.append(weakref.ref(handler))
            running = asyncio.create_task(shared.run())
            await shared.synced()
            await ended(running)
        del shared, handler, running
        await world.clock.sleep(1)
        gc.collect()
        assert [ref() for ref in gone] == [None] * 5
        await stays.end()

    play(story)
