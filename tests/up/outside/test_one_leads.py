"""Of several processes one works; another goes on where it left off, and nobody writes who does not lead."""

from __future__ import annotations

import asyncio
import random
from datetime import datetime
from typing import Any

from msgspec.structs import replace

from longshore.api import cron
from longshore.api.errors import StatusError
from longshore.api.facts import kinds
from longshore.client import Client, Unreachable
from longshore.client.ask import Ask
from longshore.machinery.election import LeadershipLost
from longshore.machinery.fence import Fence
from longshore.machinery.informers.informer import Informers
from longshore.machinery.time import virtual
from longshore.machinery.time.virtual import VirtualClock
from longshore.plane.controllers import reads_of
from longshore.plane.wiring import Wiring
from longshore.testing import SeededKeys
from longshore.testing.crashing import READS, OneByOne, Send
from longshore.up.outside import leading
from longshore.up.outside.settings import OutsideSettings
from support.job_world import World, a_run, a_world, goes

SETTINGS = OutsideSettings(managed_by="kubernetes.io/job-controller", lease_namespace="ns")


class Wire(OneByOne):
    """A client whose connection can be cut. Notes every write that reaches the server, but for events."""

    def __init__(self, client: Client, name: str, written: list[str], fence: Fence | None) -> None:
        super().__init__(client)
        self.cut, self.answers, self.fence, self.look_seconds = False, True, fence, 0.0
        self._name, self._written = name, written

    async def reach(self, ask: Ask, send: Send) -> Any:
        if ask.verb in READS:
            if ask.resource.plural == "leases":
                await asyncio.sleep(self.look_seconds)
            return await send(ask)
        if self.cut:
            raise Unreachable("the cable is out")
        if ask.resource.plural not in ("events", "leases"):
            if self.fence is not None:
                self.fence.check()
            self._written.append(self._name)
        if not self.answers:
            await asyncio.Event().wait()
        return await send(ask)


class SlowToDiscover(Wire):
    """Takes 40 seconds to say what is served."""

    async def resources(self) -> Any:
        await asyncio.sleep(40)
        return await self._client.resources()


class Process:
    """`longshore controllers`, without the process."""

    def __init__(
        self,
        world: World,
        name: str,
        written: list[str],
        settings: OutsideSettings = SETTINGS,
        wire: type[Wire] = Wire,
    ) -> None:
        fence = Fence(world.clock)
        self.wire = wire(world.client, name, written, fence if settings.leader_elect else None)
        self.election_wire = Wire(world.client, name, written, None)
        """Connections of its own."""
        self.started = asyncio.Event()
        self.waits_for: list[str] = []
        rng = random.Random(name)
        wiring = Wiring(
            world.clock,
            rng,
            Informers(self.wire, clock=world.clock, rng=rng, reads=reads_of(settings.controllers)),
            zone=cron.UTC,
            keys=SeededKeys(rng),
            managed_by=settings.managed_by,
        )
        self._task = asyncio.create_task(
            leading.work(
                self.wire,
                settings,
                wiring,
                election_client=self.election_wire,
                fence=fence,
                identity=name,
                started=self.started.set,
                waiting=self.waits_for.append,
            )
        )

    async def stop(self) -> BaseException | None:
        """Ends it as a signal does; what it ended with."""
        self._task.cancel()
        (ended,) = await asyncio.gather(self._task, return_exceptions=True)
        return ended


def play(story: Any) -> None:
    async def main(clock: VirtualClock) -> None:
        async with a_world(clock, goes(a_run(20.0))) as world:
            await story(world, [])

    virtual.run(main)


def test_one_works_and_the_other_waits_and_says_for_whom() -> None:
    async def story(world: World, written: list[str]) -> None:
        one = Process(world, "one", written)
        await one.started.wait()
        two = Process(world, "two", written)
        await world.job(completions=3, parallelism=1)
        await world.ended()
        assert set(written) == {"one"}
        assert two.waits_for == ["one"]
        assert one.waits_for == []
        assert not two.started.is_set()
        await one.stop()
        await two.stop()

    play(story)


def test_one_that_is_stopped_hands_over_at_once() -> None:
    async def story(world: World, written: list[str]) -> None:
        one = Process(world, "one", written)
        await one.started.wait()
        two = Process(world, "two", written)
        await world.job(completions=3, parallelism=1)
        await world.status(succeeded=1)
        assert isinstance(await one.stop(), asyncio.CancelledError)
        lease = await world.client.get(kinds.LEASES, "longshore-controllers", "ns")
        assert not lease["spec"].get("holderIdentity")
        before = len(written)
        begun = world.clock.monotonic()
        await two.started.wait()
        assert world.clock.monotonic() - begun < 5
        await world.ended()
        assert set(written[before:]) == {"two"}
        await two.stop()

    play(story)


def test_one_that_cannot_renew_stops_before_the_other_starts() -> None:
    async def story(world: World, written: list[str]) -> None:
        one = Process(world, "one", written)
        await one.started.wait()
        two = Process(world, "two", written)
        await world.job(completions=4, parallelism=2)
        await world.status(succeeded=2, active=2)
        one.wire.cut = one.election_wire.cut = True
        await two.started.wait()
        one.wire.cut = one.election_wire.cut = False  # too late: it has given up by itself
        before = len(written)
        await world.ended()
        assert "one" not in written[before:]
        assert "two" in written
        assert isinstance(await one.stop(), LeadershipLost)
        job = await world.get()
        assert job is not None
        assert job["status"]["succeeded"] == 4
        assert len(world.ever) == 4
        await two.stop()

    play(story)


def test_one_whose_lease_was_taken_stops_at_its_next_renewal() -> None:
    async def story(world: World, written: list[str]) -> None:
        one = Process(world, "one", written)
        await one.started.wait()
        await world.client.patch(
            kinds.LEASES, "longshore-controllers", {"spec": {"holderIdentity": "somebody"}}, "ns"
        )
        await world.clock.sleep(3)
        before = len(written)
        await world.job()
        await world.clock.sleep(60)
        assert written[before:] == []
        assert isinstance(await one.stop(), LeadershipLost)

    play(story)


def test_requests_of_controllers_that_get_no_answer_do_not_delay_the_lease() -> None:
    async def story(world: World, written: list[str]) -> None:
        one = Process(world, "one", written)
        await one.started.wait()
        one.wire.answers = False
        await world.job(completions=20, parallelism=20)
        await world.clock.sleep(60)
        assert written
        held = await world.client.get(kinds.LEASES, "longshore-controllers", "ns")
        age = world.clock.now() - datetime.fromisoformat(held["spec"]["renewTime"])
        assert age.total_seconds() < 3
        assert isinstance(await one.stop(), asyncio.CancelledError)

    play(story)


def test_one_that_was_stopped_and_continued_writes_nothing() -> None:
    async def story(world: World, written: list[str]) -> None:
        one = Process(world, "one", written)
        await one.started.wait()
        await world.job(parallelism=3, completions=30)
        await world.running(3)
        before = len(written)
        await world.client.patch(
            kinds.LEASES, "longshore-controllers", {"spec": {"holderIdentity": "somebody"}}, "ns"
        )
        one.election_wire.look_seconds = 5.0  # meanwhile all its other work is due
        loop: Any = asyncio.get_running_loop()
        loop.jump(60)
        await world.clock.sleep(30)
        assert written[before:] == []
        assert isinstance(await one.stop(), LeadershipLost)

    play(story)


def test_without_election_it_starts_at_once_and_makes_no_lease() -> None:
    async def story(world: World, written: list[str]) -> None:
        settings = OutsideSettings(managed_by="kubernetes.io/job-controller", leader_elect=False)
        one = Process(world, "one", written, settings)
        await world.job()
        await world.ended()
        leases = (await world.client.list(kinds.LEASES)).items
        assert [lease["metadata"]["name"] for lease in leases] == [world.node.name]
        await one.stop()

    play(story)


def test_different_leases_lead_side_by_side() -> None:
    async def story(world: World, written: list[str]) -> None:
        other = OutsideSettings(
            managed_by="longshore.dev/job-controller", lease="other", lease_namespace="ns"
        )
        one, two = Process(world, "one", written), Process(world, "two", written, other)
        await world.job("j")
        await world.job("k", managedBy="longshore.dev/job-controller")
        await world.ended("j")
        await world.ended("k")
        assert set(written) == {"one", "two"}
        await one.stop()
        await two.stop()

    play(story)


class Refusing(Wire):
    """A client of a server whose webhooks are called and not there yet."""

    def _write(self, write: Any) -> Any:
        async def reached(what: Any, *arguments: Any, **options: Any) -> Any:
            if self.cut and what == kinds.QUEUES:
                raise StatusError(500, "InternalError", "failed calling webhook: no endpoints available")
            return await write(what, *arguments, **options)

        return reached


def test_the_scheduler_makes_the_queues_that_every_volcano_has_as_soon_as_it_may() -> None:
    async def story(world: World, written: list[str]) -> None:
        settings = OutsideSettings(controllers=(), schedulers=("volcano",), leader_elect=False)
        process = Process(world, "one", written, settings, Refusing)
        process.wire.cut = True
        await process.started.wait()
        await world.clock.sleep(10)
        assert (await world.client.list(kinds.QUEUES)).items == []
        process.wire.cut = False
        await world.clock.sleep(60)
        queues = {queue["metadata"]["name"]: queue for queue in (await world.client.list(kinds.QUEUES)).items}
        assert {name: queue["spec"]["reclaimable"] for name, queue in queues.items()} == {
            "root": False,
            "default": True,
        }
        assert {queue["status"]["state"] for queue in queues.values()} == {"Open"}
        await process.stop()

    play(story)


def test_a_scheduler_of_single_pods_needs_no_queues() -> None:
    async def story(world: World, written: list[str]) -> None:
        settings = OutsideSettings(controllers=(), schedulers=("default-scheduler",), leader_elect=False)
        process = Process(world, "one", written, settings)
        await process.started.wait()
        await world.clock.sleep(10)
        assert (await world.client.list(kinds.QUEUES)).items == []
        await process.stop()

    play(story)


def test_it_is_started_when_the_garbage_collector_knows_everything() -> None:
    async def story(world: World, written: list[str]) -> None:
        one = Process(
            world, "one", written, replace(SETTINGS, controllers=("job", "garbage")), SlowToDiscover
        )
        await world.clock.sleep(30)
        assert not one.started.is_set()
        await world.clock.sleep(60)
        assert one.started.is_set()
        await one.stop()

    play(story)
