"""Replicas share shards: no two write for one at a time, a death is made good in 15 s, and little moves."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable, Callable

import pytest

from longshore.api.facts import kinds
from longshore.client.local import LocalClient
from longshore.machinery.fence import LeaseTooOld
from longshore.machinery.queues.key_gate import KeyGate
from longshore.machinery.queues.workers import run_workers
from longshore.machinery.queues.workqueue import WorkQueue
from longshore.machinery.sharding import replica
from longshore.machinery.sharding.assignment import meant_for
from longshore.machinery.sharding.division import Division
from longshore.machinery.time import virtual
from longshore.machinery.time.virtual import VirtualClock
from machinery.control_plane import api
from machinery.replicas import Worker, Written, longest_gap, two_owners

SHARDS = Division(12)
Story = Callable[[VirtualClock, LocalClient, list[Written]], Awaitable[None]]


def play(story: Story) -> None:
    async def main(clock: VirtualClock) -> None:
        written: list[Written] = []
        async with api(clock) as client:
            await story(clock, client, written)
        assert two_owners(written) == []

    virtual.run(main)


def held(*workers: Worker) -> list[int]:
    return [len(worker.replica.shards) for worker in workers]


async def stopped(*workers: Worker) -> None:
    await asyncio.gather(*(worker.stop() for worker in workers))


def test_one_more_shard_takes_only_its_own_part_of_the_objects() -> None:
    keys = [(f"ns-{number}", "job") for number in range(4000)]
    before = [Division(8).shard_of(key) for key in keys]
    after = [Division(9).shard_of(key) for key in keys]
    moved = [new for old, new in zip(before, after, strict=True) if old != new]
    assert set(moved) == {8}
    assert len(moved) == pytest.approx(len(keys) / 9, rel=0.15)
    assert all(count == pytest.approx(len(keys) / 8, rel=0.15) for count in Counter(before).values())


def test_objects_of_a_namespace_stay_together_unless_they_are_divided_one_by_one() -> None:
    keys = [("huge", f"job-{number}") for number in range(200)]
    assert len({Division(8).shard_of(key) for key in keys}) == 1
    assert len({Division(8, "object").shard_of(key) for key in keys}) == 8


@pytest.mark.parametrize("replicas", [1, 2, 3, 5, 12, 15])
def test_everybody_is_meant_to_have_the_same_number_of_shards(replicas: int) -> None:
    members = [f"r{number}" for number in range(replicas)]
    meant = meant_for(12, {}, members)
    numbers = Counter(meant.values())
    assert sorted(meant) == [*range(12)]
    assert {numbers[member] for member in members} <= {12 // replicas, -(-12 // replicas)}


def test_a_replica_that_comes_or_goes_moves_its_own_share_alone() -> None:
    members = {f"r{number}" for number in range(5)}
    before = meant_for(60, {}, members)
    more = meant_for(60, before, members | {"new"})
    moved = [shard for shard in before if more[shard] != before[shard]]
    assert {more[shard] for shard in moved} == {"new"}
    assert len(moved) == 60 // 6
    fewer = meant_for(60, {s: who for s, who in before.items() if who != "r3"}, members - {"r3"})
    assert {s for s in before if fewer[s] != before[s]} == {s for s, who in before.items() if who == "r3"}


def test_replicas_share_shards_and_hand_them_over_without_pause() -> None:
    async def story(clock: VirtualClock, client: LocalClient, written: list[Written]) -> None:
        one = Worker(clock, client, "one", SHARDS, written)
        await clock.sleep(5)
        assert held(one) == [12]
        two = Worker(clock, client, "two", SHARDS, written)
        await clock.sleep(30)
        assert held(one, two) == [6, 6]
        moved = {write.shard for write in written if write.who == "two"}
        assert len(moved) == 6
        assert all(longest_gap(written, shard, 5, 35) < 4 for shard in range(12))
        await two.stop()
        await clock.sleep(5)
        assert held(one) == [12]
        await one.stop()
        leases = (await client.list(kinds.LEASES, "ns")).items
        assert not [lease for lease in leases if lease["spec"].get("holderIdentity")]

    play(story)


@pytest.mark.parametrize("seconds", [0.1, 0.9, 1.7])
def test_shards_of_a_replica_that_died_are_owned_again_within_15_seconds(seconds: float) -> None:
    async def story(clock: VirtualClock, client: LocalClient, written: list[Written]) -> None:
        workers = [Worker(clock, client, name, SHARDS, written) for name in ("one", "two", "three")]
        await clock.sleep(20 + seconds)
        died = clock.monotonic()
        await workers[1].die()
        await clock.sleep(15)
        first = {write.shard for write in written if write.at > died and write.who != "two"}
        assert first == {*range(12)}
        await stopped(*workers)

    play(story)


def test_a_replica_that_was_stopped_and_continued_writes_nothing_and_ends() -> None:
    async def story(clock: VirtualClock, client: LocalClient, written: list[Written]) -> None:
        one = Worker(clock, client, "one", SHARDS, written)
        two = Worker(clock, client, "two", SHARDS, written)
        await clock.sleep(20)
        one.process.running.clear()
        await clock.sleep(20)
        assert held(two) == [12]
        before = len(written)
        one.process.running.set()
        await clock.sleep(20)
        assert one.lost
        assert {write.who for write in written[before:]} == {"two"}
        await two.stop()

    play(story)


def test_a_renewal_that_comes_too_late_lets_nothing_pass_any_more() -> None:
    async def main(clock: VirtualClock) -> None:
        fence = replica.fence(clock)
        fence.renewed(clock.monotonic())
        await clock.sleep(replica.FENCE_SECONDS)
        with pytest.raises(LeaseTooOld):
            fence.check()
        fence.renewed(clock.monotonic())
        fence.check()  # late, and nobody can have taken anything yet
        await clock.sleep(replica.LEASE_SECONDS)
        fence.renewed(clock.monotonic())
        with pytest.raises(LeaseTooOld):
            fence.check()

    virtual.run(main)


def test_a_closed_gate_has_no_sync_behind_it_and_lets_no_key_in() -> None:
    async def main(clock: VirtualClock) -> None:
        gate = KeyGate(lambda key: key != "another's")
        queue: WorkQueue[str] = WorkQueue(clock, gate=gate)
        looked_at: list[str] = []

        async def sync(key: str) -> float:
            looked_at.append(key)
            await clock.sleep(1)
            looked_at.append(f"{key} done")
            return 5.0

        workers = asyncio.create_task(run_workers(queue, sync))
        for key in ("one", "another's", "two"):
            queue.add(key)
        queue.add_after("three", 0.5)
        await clock.sleep(0.7)
        await gate.close()
        assert looked_at == ["one", "one done"]
        queue.add("one")
        queue.add_after("one", 1)
        await clock.sleep(60)
        assert looked_at == ["one", "one done"]
        workers.cancel()
        await asyncio.gather(workers, return_exceptions=True)

    virtual.run(main)


@pytest.mark.parametrize("how", ["refused", "silent", "no answers"])
def test_a_replica_that_is_cut_off_ends_before_others_have_its_shards(how: str) -> None:
    async def story(clock: VirtualClock, client: LocalClient, written: list[Written]) -> None:
        one = Worker(clock, client, "one", SHARDS, written)
        two = Worker(clock, client, "two", SHARDS, written)
        await clock.sleep(20)
        one.line.cut = how
        await clock.sleep(25)
        assert one.ended
        assert held(two) == [12]
        await two.stop()

    play(story)


def test_a_shard_taken_by_a_request_without_an_answer_is_taken_again() -> None:
    async def story(clock: VirtualClock, client: LocalClient, written: list[Written]) -> None:
        one = Worker(clock, client, "one", Division(1), written)
        while not (await client.list(kinds.LEASES, "ns")).items:
            await clock.sleep(0.01)
        one.line.cut = "no answers"
        await clock.sleep(1)
        one.line.cut = ""
        await clock.sleep(20)
        assert held(one) == [1]
        await one.stop()

    play(story)


def test_a_lease_that_somebody_deletes_gives_no_shard_to_another() -> None:
    async def story(clock: VirtualClock, client: LocalClient, written: list[Written]) -> None:
        one = Worker(clock, client, "one", SHARDS, written)
        two = Worker(clock, client, "two", SHARDS, written)
        await clock.sleep(20)
        name = "controllers-replica-one"
        before = await client.get(kinds.LEASES, name, "ns")
        while await client.get(kinds.LEASES, name, "ns") == before:
            await clock.sleep(0.05)
        await client.delete(kinds.LEASES, name, "ns")  # until its next renewal, two looks do not show it
        await clock.sleep(20)
        assert held(one, two) == [6, 6]
        await stopped(one, two)

    play(story)


def test_replicas_that_divide_otherwise_wait_until_the_others_are_gone() -> None:
    async def story(clock: VirtualClock, client: LocalClient, written: list[Written]) -> None:
        old = Worker(clock, client, "old", Division(4), [])
        await clock.sleep(5)
        new = Worker(clock, client, "new", SHARDS, written)
        await clock.sleep(20)
        assert held(old, new) == [4, 0]
        assert new.waits_for == ["old divides objects as 4-by-namespace"]
        await old.stop()
        await clock.sleep(5)
        assert held(new) == [12]
        await new.stop()

    play(story)


def test_nothing_is_taken_while_a_process_leads_without_shards() -> None:
    async def story(clock: VirtualClock, client: LocalClient, written: list[Written]) -> None:
        spec = {"holderIdentity": "leader", "leaseDurationSeconds": 15}
        await client.create(kinds.LEASES, {"metadata": {"name": "controllers"}, "spec": spec}, "ns")
        one = Worker(clock, client, "one", SHARDS, written)
        await clock.sleep(14)
        assert held(one) == [0]
        assert one.waits_for == ["leader leads without shards"]
        await clock.sleep(5)
        assert held(one) == [12]
        await one.stop()

    play(story)


@pytest.mark.parametrize("seed", range(2))
def test_in_any_weather_no_shard_has_two_owners_and_none_is_without_for_long(seed: int) -> None:
    async def story(clock: VirtualClock, client: LocalClient, written: list[Written]) -> None:
        dice = random.Random(seed)
        workers: list[Worker] = []
        last = 0.0
        for number in range(10):
            alive = [worker for worker in workers if not worker.ended]
            victim = dice.choice(alive) if len(alive) > 3 else None
            match victim and dice.choice(("die", "stop", "pause", "refused", "silent", "no answers")):
                case None:
                    workers += [Worker(clock, client, f"w{number}-{n}", SHARDS, written) for n in range(2)]
                case "die":
                    await victim.die()
                case "stop":
                    await victim.stop()
                case "pause":
                    victim.process.running.clear()
                    clock.call_later(dice.uniform(1, 25), victim.process.running.set)
                case how:
                    victim.line.cut = how
                    clock.call_later(dice.uniform(1, 25), lambda line=victim.line: setattr(line, "cut", ""))
            last = clock.monotonic()
            await clock.sleep(dice.uniform(0.5, 12))
        await clock.sleep(60)
        assert all(longest_gap(written, shard, last + 30, clock.monotonic()) < 15 for shard in range(12))
        await stopped(*workers)

    play(story)
