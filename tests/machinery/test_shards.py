"""Each replica has one shard: no two write for one at a time, and a spare makes a death good in 15 s."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable, Callable

import pytest

from longshore.api.facts import kinds
from longshore.client.local import LocalClient
from longshore.machinery.fence import LeaseTooOld
from longshore.machinery.queues.workers import run_workers
from longshore.machinery.queues.workqueue import WorkQueue
from longshore.machinery.sharding import replica
from longshore.machinery.sharding.division import Division
from longshore.machinery.sharding.replica import until_unheld
from longshore.machinery.time import virtual
from longshore.machinery.time.virtual import VirtualClock
from machinery.control_plane import api
from machinery.replicas import Worker, Written, longest_gap, two_owners

pytestmark = pytest.mark.long

SHARDS = Division(4)
Story = Callable[[VirtualClock, LocalClient, list[Written]], Awaitable[None]]


def play(story: Story) -> None:
    async def main(clock: VirtualClock) -> None:
        written: list[Written] = []
        async with api(clock) as client:
            await story(clock, client, written)
        assert two_owners(written) == []

    virtual.run(main)


def replicas(clock: VirtualClock, client: LocalClient, written: list[Written], count: int) -> list[Worker]:
    return [Worker(clock, client, f"w{number}", SHARDS, written) for number in range(count)]


def held(*workers: Worker) -> list[int]:
    """The shards that these replicas work for."""
    return sorted(worker.replica.shard for worker in workers if worker.replica.shard is not None)


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


def test_each_replica_has_one_shard_and_any_spare_takes_a_free_one_at_once() -> None:
    async def story(clock: VirtualClock, client: LocalClient, written: list[Written]) -> None:
        workers = replicas(clock, client, written, 6)
        await clock.sleep(10)
        assert held(*workers) == [0, 1, 2, 3]
        spares = [worker for worker in workers if worker.replica.shard is None]
        assert [spare.waits_for for spare in spares] == [["all 4 shards are held"]] * 2
        begun = clock.monotonic()
        for worker in [worker for worker in workers if worker not in spares][:2]:
            await worker.stop()
            await clock.sleep(5)
            assert held(*workers) == [0, 1, 2, 3]
        assert all(longest_gap(written, shard, begun, clock.monotonic()) < 8 for shard in range(4))
        await stopped(*workers)
        leases = (await client.list(kinds.LEASES, "ns")).items
        assert len(leases) == 4
        assert not [lease for lease in leases if lease["spec"].get("holderIdentity")]

    play(story)


@pytest.mark.parametrize("seconds", [0.1, 0.9, 1.7])
def test_the_shard_of_a_replica_that_died_is_owned_again_within_15_seconds(seconds: float) -> None:
    async def story(clock: VirtualClock, client: LocalClient, written: list[Written]) -> None:
        workers = replicas(clock, client, written, 6)
        await clock.sleep(20 + seconds)
        dead = [worker for worker in workers if worker.replica.shard is not None][:2]
        died = clock.monotonic()
        await asyncio.gather(*(worker.die() for worker in dead))
        await clock.sleep(15)
        names = {worker.name for worker in dead}
        first = {write.shard for write in written if write.at > died and write.who not in names}
        assert first == {*range(4)}
        await stopped(*workers)

    play(story)


def test_a_replica_that_was_stopped_and_continued_writes_nothing_and_ends() -> None:
    async def story(clock: VirtualClock, client: LocalClient, written: list[Written]) -> None:
        workers = replicas(clock, client, written, 5)
        await clock.sleep(20)
        one = next(worker for worker in workers if worker.replica.shard is not None)
        one.process.running.clear()
        await clock.sleep(20)
        assert held(*(worker for worker in workers if worker is not one)) == [0, 1, 2, 3]
        before = len(written)
        one.process.running.set()
        await clock.sleep(20)
        assert one.lost
        assert one.name not in {write.who for write in written[before:]}
        await stopped(*workers)

    play(story)


def test_shards_without_a_replica_are_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    async def story(clock: VirtualClock, client: LocalClient, written: list[Written]) -> None:
        workers = replicas(clock, client, written, 3)
        await clock.sleep(60)
        assert len(held(*workers)) == 3
        assert [record.message for record in caplog.records if record.levelname == "WARNING"] == [
            "1 of 4 shards have no replica: start more"
        ] * 3
        await stopped(*workers)

    play(story)


def test_a_write_passes_for_seven_seconds_after_a_renewal_and_never_after_the_lease_is_handed_back() -> None:
    async def main(clock: VirtualClock) -> None:
        fence = replica.fence(clock)
        fence.renewed(clock.monotonic())
        await clock.sleep(replica.FENCE_SECONDS)
        with pytest.raises(LeaseTooOld):
            fence.check()
        fence.renewed(clock.monotonic())
        fence.check()
        fence.close()
        with pytest.raises(LeaseTooOld):
            fence.check()

    virtual.run(main)


def test_a_key_of_another_shard_is_never_looked_at() -> None:
    async def main(clock: VirtualClock) -> None:
        queue: WorkQueue[str] = WorkQueue(clock, belongs=lambda key: key != "another's")
        looked_at: list[str] = []

        async def sync(key: str) -> None:
            looked_at.append(key)

        workers = asyncio.create_task(run_workers(queue, sync))
        for key in ("one", "another's", "two"):
            queue.add(key)
            queue.add_after(key, 5)
        await clock.sleep(60)
        assert looked_at == ["one", "two"] * 2
        workers.cancel()
        await asyncio.gather(workers, return_exceptions=True)

    virtual.run(main)


@pytest.mark.parametrize("how", ["refused", "silent", "no answers"])
def test_a_replica_that_is_cut_off_ends_before_another_has_its_shard(how: str) -> None:
    async def story(clock: VirtualClock, client: LocalClient, written: list[Written]) -> None:
        workers = replicas(clock, client, written, 5)
        await clock.sleep(20)
        one = next(worker for worker in workers if worker.replica.shard is not None)
        one.line.cut = how
        await clock.sleep(25)
        assert one.ended
        assert held(*workers) == [0, 1, 2, 3]
        await stopped(*workers)

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
        assert held(one) == [0]
        await one.stop()

    play(story)


def test_a_lease_that_somebody_deletes_gives_its_shard_to_no_other() -> None:
    async def story(clock: VirtualClock, client: LocalClient, written: list[Written]) -> None:
        workers = replicas(clock, client, written, 6)
        await clock.sleep(20)
        before = {worker.name: worker.replica.shard for worker in workers}
        name = "controllers-4-by-namespace-2"
        lease = await client.get(kinds.LEASES, name, "ns")
        while await client.get(kinds.LEASES, name, "ns") == lease:
            await clock.sleep(0.05)
        await client.delete(kinds.LEASES, name, "ns")  # until its next renewal, a look does not show it
        await clock.sleep(20)
        assert {worker.name: worker.replica.shard for worker in workers} == before
        await stopped(*workers)

    play(story)


def test_replicas_that_divide_otherwise_wait_until_the_others_are_gone() -> None:
    async def story(clock: VirtualClock, client: LocalClient, written: list[Written]) -> None:
        old = Worker(clock, client, "old", Division(1), [])
        await clock.sleep(5)
        new = replicas(clock, client, written, 4)
        await clock.sleep(20)
        assert held(old) == [0]
        assert held(*new) == []
        assert [each.waits_for for each in new] == [["old divides objects as 1-by-namespace"]] * 4
        await old.stop()
        await clock.sleep(5)
        assert held(*new) == [0, 1, 2, 3]
        await stopped(*new)

    play(story)


@pytest.mark.parametrize("seed", range(4))
def test_replicas_of_two_divisions_that_begin_together_agree_on_one(seed: int) -> None:
    async def story(clock: VirtualClock, client: LocalClient, written: list[Written]) -> None:
        some: list[Written] = []
        workers = replicas(clock, client, written, 4)
        workers += [Worker(clock, client, f"{seed}-{n}", Division(2), some) for n in range(2)]
        await clock.sleep(120)
        begun = [bool(written), bool(some)]
        assert sorted(begun) == [False, True]
        await stopped(*workers)

    play(story)


def test_nothing_is_taken_while_a_process_leads_without_shards() -> None:
    async def story(clock: VirtualClock, client: LocalClient, written: list[Written]) -> None:
        spec = {"holderIdentity": "leader", "leaseDurationSeconds": 15}
        await client.create(kinds.LEASES, {"metadata": {"name": "controllers"}, "spec": spec}, "ns")
        one = Worker(clock, client, "one", SHARDS, written)
        await clock.sleep(14)
        assert held(one) == []
        assert one.waits_for == ["leader leads without shards"]
        await clock.sleep(5)
        assert len(held(one)) == 1
        await one.stop()

    play(story)


@pytest.mark.parametrize("tenths", range(0, 40, 3))
def test_a_leader_without_shards_begins_when_the_last_replica_has_ended(tenths: int) -> None:
    """Whenever its Lease appears: also between a replica's look and what it takes by that."""

    async def story(clock: VirtualClock, client: LocalClient, written: list[Written]) -> None:
        workers = replicas(clock, client, written, 5)
        await clock.sleep(tenths / 10)
        spec = {"holderIdentity": "leader", "leaseDurationSeconds": 3600}
        lease = await client.create(kinds.LEASES, {"metadata": {"name": "controllers"}, "spec": spec}, "ns")
        await until_unheld(client, "ns", "controllers", clock)
        begun = clock.monotonic()
        for second in range(60):
            lease = await client.update(kinds.LEASES, {**lease, "spec": {**spec, "leaseTransitions": second}})
            await clock.sleep(1)
        assert [write for write in written if write.at > begun] == []
        assert held(*workers) == []
        await stopped(*workers)

    play(story)


@pytest.mark.parametrize("seed", range(4))
def test_in_any_weather_no_shard_has_two_owners_and_none_is_without_for_long(seed: int) -> None:
    async def story(clock: VirtualClock, client: LocalClient, written: list[Written]) -> None:
        dice = random.Random(seed)
        workers: list[Worker] = []
        last = 0.0
        for number in range(20):
            alive = [worker for worker in workers if not worker.ended]
            victim = dice.choice(alive) if len(alive) > 6 else None
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
        assert all(longest_gap(written, shard, last + 30, clock.monotonic()) < 15 for shard in range(4))
        await stopped(*workers)

    play(story)
