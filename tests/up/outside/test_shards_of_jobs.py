"""Replicas with shards run Jobs together: each Job has one that looks after it, and nothing is done twice."""

from __future__ import annotations

import asyncio
import random
import zlib
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from longshore.api import cron
from longshore.api.types import Obj
from longshore.client import Client
from longshore.client.ask import Ask
from longshore.machinery.fence import Fence
from longshore.machinery.informers.informer import Informers
from longshore.machinery.sharding import replica
from longshore.machinery.sharding.division import By
from longshore.machinery.time import virtual
from longshore.machinery.time.virtual import VirtualClock
from longshore.plane.controllers import reads_of
from longshore.plane.wiring import Wiring
from longshore.testing import SeededKeys
from longshore.testing.crashing import READS, OneByOne, Send
from longshore.up.outside import leading
from longshore.up.outside.settings import OutsideSettings
from support.job_world import World, a_run, a_world, goes

JOBS = 12


class Wire(OneByOne):
    """A client that can be cut, and that counts who writes the status of which Job."""

    def __init__(self, client: Client, name: str, seen: list[tuple[str, str]], fence: Fence | None) -> None:
        super().__init__(client)
        self._name, self._seen, self.fence, self.cut = name, seen, fence, False

    async def reach(self, ask: Ask, send: Send) -> Any:
        if ask.verb not in READS:
            if self.cut:
                await asyncio.Event().wait()
            if self.fence is not None:
                self.fence.check()
            if (ask.resource.plural, ask.verb, ask.subresource) == ("jobs", "update", "status"):
                self._seen.append((ask.name, self._name))
        return await send(ask)


class Process:
    """`longshore controllers`, with or without `--shards`, without the process."""

    def __init__(
        self, world: World, name: str, seen: list[tuple[str, str]], settings: OutsideSettings
    ) -> None:
        fence = replica.fence(world.clock) if settings.shards else Fence(world.clock)
        self.wires = [Wire(world.client, name, seen, one) for one in (fence, None)]
        self.started = asyncio.Event()
        rng = random.Random(name)
        wiring = Wiring(
            world.clock,
            rng,
            Informers(
                self.wires[0],
                clock=world.clock,
                rng=rng,
                reads=reads_of(settings.controllers),
            ),
            zone=cron.UTC,
            keys=SeededKeys(rng),
            managed_by=settings.managed_by,
        )
        self.registry = wiring.registry
        work = leading.work(
            self.wires[0],  # type: ignore[arg-type] # the same
            settings,
            wiring,
            election_client=self.wires[1],  # type: ignore[arg-type] # the same
            fence=fence,
            identity=name,
            started=self.started.set,
            waiting=lambda why: None,
            shard=leading.OwnShard(settings) if settings.shards else None,
        )
        self._task = asyncio.create_task(work)

    async def stop(self) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def die(self) -> None:
        for wire in self.wires:
            wire.cut = True
        await self.stop()


def settings(by: By = "object", controllers: tuple[str, ...] = ("job",), shards: int = 2) -> OutsideSettings:
    return OutsideSettings(
        managed_by="kubernetes.io/job-controller",
        lease_namespace="ns",
        shards=shards,
        shard_by=by,
        controllers=controllers,
    )


def play(
    story: Callable[[World, list[tuple[str, str]]], Awaitable[None]],
    seconds: Callable[[Obj], float] = lambda pod: 20.0,
) -> None:
    async def main(clock: VirtualClock) -> None:
        async with a_world(clock, goes(lambda pod: a_run(seconds(pod)))) as world:
            await story(world, [])

    virtual.run(main)


async def _jobs_ended(world: World) -> None:
    for number in range(JOBS):
        await world.ended(f"j{number}")


@pytest.mark.parametrize("end", ["stop", "die"])
def test_jobs_go_on_when_a_replica_comes_and_when_one_ends(end: str) -> None:
    async def story(world: World, seen: list[tuple[str, str]]) -> None:
        one = Process(world, "one", seen, settings())
        await one.started.wait()
        for number in range(JOBS):
            await world.job(f"j{number}", completions=6, parallelism=2)
        two, spare = (Process(world, name, seen, settings()) for name in ("two", "spare"))
        await world.clock.sleep(25)
        assert len({name for _, name in seen}) == 2
        await getattr(one, end)()
        before = len(seen)
        await _jobs_ended(world)
        assert {name for _, name in seen[before:]} == {"two", "spare"}
        assert len(world.ever) == JOBS * 6  # none was created twice, whatever a cache had missed
        for number in range(JOBS):
            job = await world.get(f"j{number}")
            assert job is not None
            assert job["status"]["succeeded"] == 6
        await asyncio.gather(two.stop(), spare.stop())

    play(story)


def test_objects_of_one_namespace_have_one_replica_unless_they_are_divided_one_by_one() -> None:
    async def story(world: World, seen: list[tuple[str, str]]) -> None:
        processes = [Process(world, name, seen, settings("namespace")) for name in ("one", "two")]
        await world.clock.sleep(20)
        for number in range(JOBS):
            await world.job(f"j{number}", completions=1)
        await _jobs_ended(world)
        assert len({name for _, name in seen}) == 1
        assert set(Counter(job for job, _ in seen)) == {f"j{number}" for number in range(JOBS)}
        await asyncio.gather(*(process.stop() for process in processes))

    play(story)


def test_the_garbage_collector_runs_in_one_replica_and_each_has_one_shard() -> None:
    async def story(world: World, seen: list[tuple[str, str]]) -> None:
        chosen = settings(controllers=("job", "garbage"))
        processes = [Process(world, name, seen, chosen) for name in ("one", "two", "spare")]
        await world.clock.sleep(20)
        for number in range(JOBS):
            await world.job(f"j{number}", completions=1)
        await _jobs_ended(world)
        await world.clock.sleep(5)
        lines = [process.registry.text().decode() for process in processes]
        assert sum('workqueue_depth{name="garbage_collector' in text for text in lines) == 1
        assert sum("longshore_shards_held 1" in text for text in lines) == 2
        assert sum('workqueue_depth{name="job"} 0' in text for text in lines) == 2
        await asyncio.gather(*(process.stop() for process in processes))

    play(story)


@pytest.mark.parametrize("end", ["stop", "die", "nothing"])
@pytest.mark.parametrize("shards", [(2, 0), (0, 2)], ids=["out of shards", "into shards"])
def test_a_rolling_update_between_shards_and_one_leader_runs_nothing_twice(
    shards: tuple[int, int], end: str
) -> None:
    """Old and new processes run at the same time; new ones begin where the work of the old ones ends."""

    async def story(world: World, seen: list[tuple[str, str]]) -> None:
        before, after = (settings(shards=number) for number in shards)
        old = [Process(world, f"old-{n}", seen, before) for n in range(2 if before.shards else 1)]
        await old[0].started.wait()
        for number in range(JOBS):
            await world.job(f"j{number}", completions=12, parallelism=2)
        await world.clock.sleep(5)
        new = [Process(world, f"new-{n}", seen, after) for n in range(2)]
        await world.clock.sleep(15)
        for process in old if end != "nothing" else ():
            await getattr(process, end)()
        await _jobs_ended(world)
        who = [name.split("-")[0] for _, name in seen]
        assert who == sorted(who, reverse=True)  # old ones, then new ones
        assert ("new" in who) is (end != "nothing" or before.shards > 0)
        assert len(world.ever) == JOBS * 12
        await asyncio.gather(*(process.stop() for process in (*old, *new)))

    play(story, lambda pod: 4.0 + zlib.crc32(pod["metadata"]["name"].encode()) % 80 / 10)
