"""Users of a watch want some namespaces each: others cost nothing, and of their own nothing is missed."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from longshore.client.local import LocalClient
from longshore.machinery.informers.cache import Key, key_of
from longshore.machinery.informers.informer import Handler, Informer
from longshore.machinery.informers.shared import Informers
from longshore.machinery.time import virtual
from longshore.machinery.time.virtual import VirtualClock
from machinery.bad_lines import BadLine
from machinery.control_plane import MAPS, api

NAMESPACES = tuple(f"n{number}" for number in range(6))
Seen = dict[Key, tuple[str, int]]
"""By key, UID and version."""
Story = Callable[["World"], Awaitable[None]]


def identity(obj: Any) -> tuple[str, int]:
    return obj["metadata"]["uid"], int(obj["metadata"]["resourceVersion"])


class World:
    """Maps in six namespaces, and a process that follows them."""

    def __init__(self, client: LocalClient, clock: VirtualClock, rng: random.Random, late: float) -> None:
        self.client, self.clock, self.rng = client, clock, rng
        self.line = BadLine(client, clock, rng, late)
        self.informers = Informers(self.line, clock=clock, rng=rng)  # type: ignore[arg-type] # a client in all it does
        self.stored: Seen = {}
        self.deleted: set[str] = set()

    async def write(self, namespace: str, name: str) -> None:
        """Creates, changes or deletes a map."""
        key = (namespace, name)
        if key not in self.stored:
            made = await self.client.create(MAPS, {"metadata": {"name": name, "namespace": namespace}})
            self.stored[key] = identity(made)
        elif self.rng.random() < 0.4:
            self.deleted.add(self.stored.pop(key)[0])
            await self.client.delete(MAPS, name, namespace)
        else:
            changed = await self.client.patch(MAPS, name, {"data": {"x": str(self.rng.random())}}, namespace)
            self.stored[key] = identity(changed)

    def slow_lists(self) -> asyncio.Event:
        """From now on lists come 30 seconds after they were made. Set when the first one is asked for."""
        reading, lists = asyncio.Event(), self.line.pages

        async def slow_pages(*args: Any, **options: Any) -> Any:
            reading.set()
            async for page in lists(*args, **options):
                await self.clock.sleep(30)
                yield page

        self.line.pages = slow_pages  # type: ignore[method-assign] # a line that is slow for a while
        return reading

    async def write_at_random(self, seconds: float) -> None:
        end = self.clock.monotonic() + seconds
        while self.clock.monotonic() < end:
            await self.write(self.rng.choice(NAMESPACES), self.rng.choice("abcdef"))
            await self.clock.sleep(self.rng.random() * 0.2)

    def cached(self) -> Seen:
        """All that the process remembers."""
        (watch,) = self.informers.watches()
        return {key_of(obj): identity(obj) for obj in watch.cache}


class User(Handler):
    """Hears of some namespaces, and checks that what it hears is a story that can be true."""

    def __init__(self, world: World, namespaces: frozenset[str]) -> None:
        self.world, self.namespaces = world, namespaces
        self.heard: Seen = {}
        self.before: Seen = {}
        self._only = namespaces.__contains__
        self._task: asyncio.Task[None] | None = None

    async def begin(self) -> None:
        """Returns when its cache has all. What was there before must be in it, in no older state."""
        self.before = self.mine(self.world.stored)
        await self.world.informers.caught_up()
        shared = self.world.informers.share(self._only, gradually=True)
        self.informer: Informer = shared.get(MAPS)
        self.informer.add_handler(self)
        self._task = asyncio.create_task(shared.run())
        await shared.synced()
        cached = {key_of(obj): identity(obj) for obj in self.informer.cache}
        for key, (uid, version) in self.before.items():
            if uid not in self.world.deleted:
                assert cached[key][0] == uid
                assert cached[key][1] >= version
        assert self.mine(cached) == self.heard

    async def end(self) -> None:
        assert self._task is not None
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    def mine(self, seen: Seen) -> Seen:
        return {key: found for key, found in seen.items() if key[0] in self.namespaces}

    def on_add(self, obj: Any, initial: bool) -> None:
        key, found = key_of(obj), identity(obj)
        assert key[0] in self.namespaces
        assert key not in self.heard
        assert initial or found[0] not in {uid for uid, _ in self.before.values()}
        self.heard[key] = found

    def on_update(self, old: Any, new: Any) -> None:
        assert self.heard[key_of(new)] == identity(old)
        assert identity(new)[1] >= identity(old)[1]
        self.heard[key_of(new)] = identity(new)

    def on_delete(self, obj: Any, stale: bool) -> None:
        assert self.heard.pop(key_of(obj))[0] == obj["metadata"]["uid"]


@pytest.fixture(autouse=True)
def _handlers_may_not_fail(caplog: pytest.LogCaptureFixture) -> Any:
    yield
    assert not [record for record in caplog.records if "a handler failed" in record.message]


def play(story: Story, seed: int = 0, late: float = 0.0) -> None:
    async def main(clock: VirtualClock) -> None:
        async with api(clock) as client:
            for name in NAMESPACES:
                await client.create(("v1", "Namespace"), {"metadata": {"name": name}})
            await story(World(client, clock, random.Random(seed), late))

    virtual.run(main)


@pytest.mark.parametrize("seed", range(40))
def test_whoever_comes_and_goes_sees_all_of_its_own_and_the_process_nothing_else(seed: int) -> None:
    async def story(world: World) -> None:
        world.line.breaks = world.rng.choice((0, 40, 200))
        writing = asyncio.create_task(world.write_at_random(60))
        there: list[User] = []
        first = User(world, frozenset(world.rng.sample(NAMESPACES, 2)))
        await first.begin()
        while not writing.done():
            await world.clock.sleep(world.rng.random() * 4)
            if there and world.rng.random() < 0.4:
                await there.pop(world.rng.randrange(len(there))).end()
            else:
                some = world.rng.randrange(1, len(NAMESPACES))
                users = [User(world, frozenset(world.rng.sample(NAMESPACES, some))) for _ in range(2)]
                await asyncio.gather(*(user.begin() for user in users))
                there += users
        world.line.breaks = 0
        await world.clock.sleep(120)
        wanted = frozenset().union(first.namespaces, *(user.namespaces for user in there))
        expected = {key: found for key, found in world.stored.items() if key[0] in wanted}
        assert world.cached() == expected
        for user in (first, *there):
            assert user.heard == user.mine(world.stored)
            await user.end()

    play(story, seed, late=0.05 if seed % 2 else 0.6)


def test_objects_of_namespaces_that_nobody_wants_never_come() -> None:
    async def story(world: World) -> None:
        await world.write("n0", "a")
        await world.write("n1", "a")
        user = User(world, frozenset(("n1",)))
        await user.begin()
        for name in "bcd":
            await world.write("n0", name)
        await world.write("n1", "b")
        await world.clock.sleep(5)
        assert [*world.cached()] == [("n1", "a"), ("n1", "b")]
        assert world.line.told == 2
        await user.end()

    play(story)


def test_a_cache_reaches_versions_of_objects_that_nobody_wants() -> None:
    async def story(world: World) -> None:
        user = User(world, frozenset(("n1",)))
        await user.begin()
        await world.write("n0", "a")
        await user.informer.cache.reached(world.stored["n0", "a"][1])
        await user.end()

    play(story)


def test_those_who_were_there_hear_of_changes_while_somebody_new_is_read_in() -> None:
    async def story(world: World) -> None:
        one, two = User(world, frozenset(("n0",))), User(world, frozenset(("n1",)))
        await world.write("n1", "a")
        await one.begin()
        world.line.late = 0.01
        reading = world.slow_lists()
        beginning = asyncio.create_task(two.begin())
        await reading.wait()
        await world.write("n0", "a")
        await world.clock.sleep(5)
        assert [*one.heard] == [("n0", "a")]
        assert not two.heard
        assert not two.informer.has_synced
        await beginning
        assert [*two.heard] == [("n1", "a")]
        await asyncio.gather(one.end(), two.end())

    play(story)


def test_an_object_that_is_deleted_while_it_is_read_in_is_not_there_afterwards() -> None:
    async def story(world: World) -> None:
        one, two = User(world, frozenset(("n0",))), User(world, frozenset(("n1",)))
        await world.write("n1", "a")
        await world.write("n1", "b")
        await one.begin()
        reading = world.slow_lists()
        beginning = asyncio.create_task(two.begin())
        await reading.wait()
        await world.clock.sleep(5)  # the list is made, and on its way
        while ("n1", "a") in world.stored:
            await world.write("n1", "a")
        await beginning
        assert [*two.heard] == [*two.mine(world.cached())] == [("n1", "b")]
        await asyncio.gather(one.end(), two.end())

    play(story)


def test_a_user_who_wants_everything_is_read_in_too() -> None:
    async def story(world: World) -> None:
        for namespace in NAMESPACES:
            await world.write(namespace, "a")
        one, every = User(world, frozenset(("n0",))), User(world, frozenset(NAMESPACES))
        every._only = None  # type: ignore[assignment] # all namespaces, without a function that says so
        await one.begin()
        assert len(world.cached()) == 1
        await every.begin()
        assert world.cached() == world.stored
        await every.end()
        assert [*world.cached()] == [("n0", "a")]
        await one.end()

    play(story)


def test_who_goes_and_comes_back_misses_nothing_of_the_time_between() -> None:
    async def story(world: World) -> None:
        stays, goes = User(world, frozenset(("n0",))), User(world, frozenset(("n1",)))
        await world.write("n1", "a")
        await world.write("n1", "b")
        await stays.begin()
        await goes.begin()
        await goes.end()
        while ("n1", "a") in world.stored:
            await world.write("n1", "a")
        await world.write("n1", "c")
        again = User(world, goes.namespaces)
        await again.begin()
        assert again.heard == again.mine(world.stored)
        await asyncio.gather(stays.end(), again.end())

    play(story)
