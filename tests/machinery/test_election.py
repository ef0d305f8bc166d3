"""Among several processes one leads; when it dies another takes over, never both."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from longshore.api.errors import StatusError
from longshore.api.facts import kinds
from longshore.api.metrics import Registry
from longshore.api.types import Obj
from longshore.client import Client, Unreachable
from longshore.client.local import LocalClient
from longshore.machinery.election import Election, LeadershipLost
from longshore.machinery.events.recorder import Recorder
from longshore.machinery.fence import Fence, LeaseTooOld
from longshore.machinery.time import virtual
from longshore.machinery.time.virtual import VirtualClock
from longshore.testing.stories import beside
from machinery.control_plane import EVENTS, api

pytestmark = pytest.mark.long


class Network:
    """A client that can be cut off: requests then fail at once, or never come back."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.cut: str = ""

    async def _pass(self) -> None:
        if self.cut == "refused":
            raise Unreachable("connection refused")
        if self.cut == "silent":
            await asyncio.Event().wait()

    async def get(self, *args: Any) -> Obj:
        await self._pass()
        return await self.client.get(*args)

    async def create(self, *args: Any) -> Obj:
        await self._pass()
        return await self.client.create(*args)

    async def update(self, *args: Any) -> Obj:
        await self._pass()
        return await self.client.update(*args)


class Candidate:
    """Notes when it leads."""

    def __init__(
        self, clock: VirtualClock, client: Client, identity: str, log: list[Any], fence: Fence | None = None
    ) -> None:
        self.clock, self.log, self.identity = clock, log, identity
        self.network = Network(client)
        self.election = Election(
            self.network,  # type: ignore[arg-type]
            namespace="ns",
            name="controllers",
            identity=identity,
            clock=clock,
            rng=clock.rng,
            fence=fence,
        )
        self.task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self.task = asyncio.create_task(self.election.lead(self.work))
        self.task.add_done_callback(lambda task: task.cancelled() or task.exception())  # not warned of

    async def work(self) -> None:
        self.log.append((round(self.clock.monotonic()), self.identity, "leads"))
        try:
            await asyncio.Event().wait()
        finally:
            self.log.append((round(self.clock.monotonic()), self.identity, "stops"))

    def die(self) -> None:
        """As by kill -9: no word to anybody. What it still does reaches nobody."""
        self.network.cut = "silent"

    async def stop(self) -> None:
        assert self.task is not None
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)


async def lease(client: LocalClient) -> Obj:
    spec: Obj = (await client.get(kinds.LEASES, "controllers", "ns"))["spec"]
    return spec


def test_the_first_leads_and_keeps_the_lease() -> None:
    async def main(clock: VirtualClock) -> None:
        async with api(clock) as client:
            log: list[Any] = []
            one, two = (Candidate(clock, client, name, log) for name in ("one", "two"))
            one.start()
            await clock.sleep(1)
            assert await lease(client) == {
                "holderIdentity": "one",
                "leaseDurationSeconds": 15,
                "acquireTime": "2026-01-01T00:00:00.000000Z",
                "renewTime": "2026-01-01T00:00:00.000000Z",
                "leaseTransitions": 0,
            }
            two.start()
            await clock.sleep(3600)
            assert log == [(0, "one", "leads")]
            assert one.election.is_leader
            assert two.election.leader == "one"
            held = await lease(client)
            assert held["acquireTime"] == "2026-01-01T00:00:00.000000Z"
            assert held["renewTime"] >= "2026-01-01T00:59:58.000000Z"
            await two.stop()
            await one.stop()

    virtual.run(main)


def test_one_that_led_does_not_lead_again_after_another() -> None:
    """It may have missed that one's whole term."""

    async def main(clock: VirtualClock) -> None:
        async with api(clock) as client:
            log: list[Any] = []
            one = Candidate(clock, client, "one", log)
            one.start()
            await clock.sleep(1)
            held = await client.get(kinds.LEASES, "controllers", "ns")
            released = {**held["spec"], "holderIdentity": "", "leaseTransitions": 1}
            await client.update(kinds.LEASES, {**held, "spec": released})
            await clock.sleep(30)
            assert log == [(0, "one", "leads"), (2, "one", "stops")]
            assert one.task is not None
            assert isinstance(one.task.exception(), LeadershipLost)

    virtual.run(main)


def test_writes_pass_for_ten_seconds_after_a_renewal_was_sent() -> None:
    async def main(clock: VirtualClock) -> None:
        fence = Fence(clock)
        with pytest.raises(LeaseTooOld):
            fence.check()
        async with api(clock) as client:
            one = Candidate(clock, client, "one", [], fence)
            one.start()
            await clock.sleep(60)
            fence.check()
            one.network.cut = "silent"
            await clock.sleep(7)
            fence.check()
            await clock.sleep(4)
            with pytest.raises(LeaseTooOld, match="not renewed in time"):
                fence.check()
            await one.stop()

    virtual.run(main)


def test_when_the_leader_dies_another_takes_over_after_the_lease_ran_out() -> None:
    async def main(clock: VirtualClock) -> None:
        async with api(clock) as client:
            log: list[Any] = []
            one, two = (Candidate(clock, client, name, log) for name in ("one", "two"))
            one.start()
            await clock.sleep(60)
            two.start()
            await clock.sleep(60)
            one.die()
            await clock.sleep(60)
            (_, _, _), (stopped, who, what), (began, other, _) = log
            assert (who, what, other) == ("one", "stops", "two")
            assert 120 <= stopped <= 132, "the old leader gives up by itself"
            assert 133 <= began <= 140, "15 s after the last renewal, and a retry period at most"
            assert stopped < began, "never two at once"
            assert (await lease(client))["leaseTransitions"] == 1
            assert one.task is not None
            with pytest.raises(LeadershipLost):
                await one.task
            await two.stop()

    virtual.run(main)


@pytest.mark.parametrize("cut", ["refused", "silent"])
def test_a_leader_that_cannot_reach_the_server_stops_before_anybody_else_begins(
    cut: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def main(clock: VirtualClock) -> None:
        async with api(clock) as client:
            log: list[Any] = []
            one = Candidate(clock, client, "one", log)
            one.start()
            await clock.sleep(60)
            one.network.cut = cut
            begun = clock.monotonic()
            assert one.task is not None
            with pytest.raises(LeadershipLost):
                await one.task
            (_, (stopped, _, _)) = log
            assert 10 <= stopped - begun <= 12.5
            (told,) = [record.getMessage() for record in caplog.records if "lost" in record.getMessage()]
            assert told.endswith(": no renewal for 10 s")

    virtual.run(main)


def test_a_short_interruption_is_survived() -> None:
    async def main(clock: VirtualClock) -> None:
        async with api(clock) as client:
            log: list[Any] = []
            one, two = (Candidate(clock, client, name, log) for name in ("one", "two"))
            one.start()
            await clock.sleep(1)
            two.start()
            for _ in range(20):
                await clock.sleep(10)
                one.network.cut = "refused"
                await clock.sleep(7)
                one.network.cut = ""
            assert log == [(0, "one", "leads")]
            await two.stop()
            await one.stop()

    virtual.run(main)


def test_a_leader_that_ends_well_hands_the_lease_back() -> None:
    async def main(clock: VirtualClock) -> None:
        async with api(clock) as client:
            log: list[Any] = []
            one, two = (Candidate(clock, client, name, log) for name in ("one", "two"))
            one.start()
            await clock.sleep(30)
            two.start()
            await clock.sleep(30)
            await one.stop()
            released = await lease(client)
            assert "holderIdentity" not in released
            assert released["leaseDurationSeconds"] == 1
            await clock.sleep(5)
            assert [(who, what) for _, who, what in log] == [
                ("one", "leads"),
                ("one", "stops"),
                ("two", "leads"),
            ]
            assert log[2][0] <= 65
            assert (await lease(client))["leaseTransitions"] == 1
            await two.stop()

    virtual.run(main)


def test_work_that_ends_gives_its_result_and_the_lease_back() -> None:
    async def main(clock: VirtualClock) -> None:
        async with api(clock) as client:
            candidate = Candidate(clock, client, "one", [])

            async def short() -> str:
                await clock.sleep(20)
                return "done"

            async def broken() -> None:
                raise ValueError("a bug")

            assert await candidate.election.lead(short) == "done"
            assert "holderIdentity" not in await lease(client)
            with pytest.raises(ValueError, match="a bug"):
                await candidate.election.lead(broken)
            assert "holderIdentity" not in await lease(client)

    virtual.run(main)


def test_a_leader_that_sees_another_holder_stops_at_once() -> None:
    async def main(clock: VirtualClock) -> None:
        async with api(clock) as client:
            log: list[Any] = []
            one = Candidate(clock, client, "one", log)
            one.start()
            await clock.sleep(5)
            await client.patch(kinds.LEASES, "controllers", {"spec": {"holderIdentity": "thief"}}, "ns")
            assert one.task is not None
            with pytest.raises(LeadershipLost):
                await one.task
            assert clock.monotonic() <= 8
            assert (await lease(client))["holderIdentity"] == "thief"

    virtual.run(main)


def test_a_change_that_keeps_the_holder_does_not_disturb_it() -> None:
    async def main(clock: VirtualClock) -> None:
        async with api(clock) as client:
            log: list[Any] = []
            one = Candidate(clock, client, "one", log)
            one.start()
            await clock.sleep(5)
            await client.patch(kinds.LEASES, "controllers", {"metadata": {"labels": {"a": "b"}}}, "ns")
            await clock.sleep(30)
            assert log == [(0, "one", "leads")]
            await client.delete(kinds.LEASES, "controllers", "ns")
            await clock.sleep(30)
            assert log == [(0, "one", "leads")]
            assert (await lease(client))["holderIdentity"] == "one"
            await one.stop()

    virtual.run(main)


def test_candidates_that_start_together_agree_on_one() -> None:
    async def main(clock: VirtualClock) -> list[Any]:
        async with api(clock) as client:
            log: list[Any] = []
            candidates = [Candidate(clock, client, f"c{n}", log) for n in range(5)]
            for candidate in candidates:
                candidate.start()
            await clock.sleep(20)
            assert len(log) == 1
            for candidate in candidates:
                await candidate.stop()
            return log

    assert virtual.run(main, seed=5) == virtual.run(main, seed=5)


def test_years_of_dying_leaders_never_give_two() -> None:
    async def main(clock: VirtualClock) -> None:
        async with api(clock) as client:
            log: list[Any] = []
            leading = 0
            alive: list[Candidate] = []
            for n in range(60):
                while len(alive) < 3:
                    alive.append(Candidate(clock, client, f"c{n}-{len(alive)}", log))
                    alive[-1].start()
                await clock.sleep(clock.rng.uniform(1, 60))
                victim = clock.rng.choice(alive)
                alive.remove(victim)
                if clock.rng.random() < 0.5:
                    victim.die()
                else:
                    await victim.stop()
            await clock.sleep(60)
            for _, _, what in log:
                leading += 1 if what == "leads" else -1
                assert leading <= 1
            assert len(log) > 20
            for candidate in alive:
                await candidate.stop()

    virtual.run(main)


def test_becoming_leader_is_told_in_an_event_and_a_metric() -> None:
    async def main(clock: VirtualClock) -> None:
        async with api(clock) as client:
            recorder = Recorder(client, "controllers", clock=clock, rng=clock.rng)
            registry = Registry()
            election = Election(
                client,
                namespace="ns",
                name="controllers",
                identity="one",
                clock=clock,
                rng=clock.rng,
                recorder=recorder,
                registry=registry,
            )
            status = registry.gauge("leader_election_master_status", "", ("name",))
            assert status.value("controllers") == 0

            async def work() -> None:
                assert status.value("controllers") == 1
                await clock.sleep(5)

            async with beside(recorder.run()):
                await election.lead(work)
                assert status.value("controllers") == 0
                await clock.sleep(1)
            found = (await client.list(EVENTS, "ns")).items
            assert [(e["reason"], e["message"], e["involvedObject"]["kind"]) for e in found] == [
                ("LeaderElection", "one became leader", "Lease"),
                ("LeaderElection", "one stopped leading", "Lease"),
            ]

    virtual.run(main)


def test_times_that_could_give_two_leaders_are_refused() -> None:
    async def main(clock: VirtualClock) -> None:
        async with api(clock) as client:
            with pytest.raises(ValueError, match=r"lease \(10.0 s\) > renew \(10.0 s\)"):
                Election(
                    client, namespace="ns", name="n", identity="i", clock=clock, rng=clock.rng, lease=10.0
                )

    virtual.run(main)


def test_errors_of_the_server_are_waited_out() -> None:
    async def main(clock: VirtualClock) -> None:
        async with api(clock) as client:

            class Broken(Network):
                async def get(self, *args: Any) -> Obj:
                    if clock.monotonic() < 30:
                        raise StatusError(500, "InternalError", "broken")
                    return await super().get(*args)

            log: list[Any] = []
            one = Candidate(clock, client, "one", log)
            one.election._client = Broken(client)  # type: ignore[assignment]
            one.start()
            await clock.sleep(40)
            assert len(log) == 1
            assert 30 <= log[0][0] <= 35
            await one.stop()

    virtual.run(main)
