"""Certificates of webhooks: renewed by one replica, shown by all, trusted at every moment, whoever dies when.

Two replicas on the virtual clock. The API server trusts what the configurations say, and reads a change of
them up to half a minute late.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from functools import cache
from typing import Any

import pytest
from cryptography import x509
from cryptography.exceptions import InvalidSignature

from longshore.api.facts import kinds
from longshore.api.metrics import Registry
from longshore.client import Client
from longshore.client.ask import Ask
from longshore.machinery.fence import Fence
from longshore.machinery.time import virtual
from longshore.machinery.time.virtual import VirtualClock
from longshore.testing.crashing import Death, MortalClient, OneByOne, Send
from longshore.testing.stories import NS, an_api
from longshore.up import certificates, manifests
from longshore.up.webhooks import rotation
from longshore.up.webhooks.certificate_keeper import CONFIGURATIONS, trusted_by
from longshore.up.webhooks.rotation import RotationView, Step
from longshore.up.webhooks.webhook_service import WebhookService
from support import webhook_kinds

NAME = "longshore-webhooks"
READ_LATE_SECONDS = 30
LOOK_SECONDS = 3
DAY = 86400.0


class Replica:
    """The part of a process that has to do with certificates."""

    def __init__(self, client: Client, keeping: Client, clock: VirtualClock, name: str) -> None:
        fence = Fence(clock)
        self.service = WebhookService(
            client,
            keeping,
            ("", 0),
            name=NAME,
            namespace=NS,
            identity=name,
            fence=fence,
            clock=clock,
            rng=random.Random(name),
            registry=Registry(),
        )
        parts = (self.service.certificate.run(), self.service.keep_certificates())
        self._tasks = [asyncio.create_task(part) for part in parts]

    @property
    def shown(self) -> certificates.Pair | None:
        return self.service.certificate.shown

    def kill(self) -> None:
        for task in self._tasks:
            task.cancel()

    async def stop(self) -> None:
        self.kill()
        for ended in await asyncio.gather(*self._tasks, return_exceptions=True):
            assert isinstance(ended, asyncio.CancelledError), ended


class Dead(OneByOne):
    """A client of a process that makes no write any more once its `mortal` one has made its last."""

    def __init__(self, mortal: MortalClient, client: Client) -> None:
        super().__init__(client)
        self._mortal = mortal

    async def reach(self, ask: Ask, send: Send) -> Any:
        if ask.verb in ("create", "update"):
            await self._mortal.live_on()
        return await send(ask)


class World:
    def __init__(self, client: Client, clock: VirtualClock) -> None:
        self.client, self.clock = client, clock
        self.replicas: list[Replica] = []
        self.bundles: list[set[bytes]] = []
        """For each look, what the configurations said."""

    async def replica(self, name: str) -> Replica:
        made = Replica(self.client, self.client, self.clock, name)
        self.replicas.append(made)
        return made

    async def pass_seconds(self, seconds: int, late: int = 0) -> None:
        """Lets time pass; at each look every replica is trusted by API servers that read `late` or at
        once."""
        for _ in range(seconds // LOOK_SECONDS):
            await self.clock.sleep(LOOK_SECONDS)
            self.bundles.append(await self.trusted())
            for replica in self.replicas:
                if replica.shown is not None:
                    for bundle in (self.bundles[-1], self.bundles[-1 - late // LOOK_SECONDS :][0]):
                        _assert_trusted(replica.shown, bundle, self.clock.now())

    async def trusted(self) -> set[bytes]:
        found = set()
        for what in CONFIGURATIONS:
            configuration = await self.client.get(what, NAME)
            found |= {base64.b64decode(text) for text in trusted_by(configuration)}
        return found

    async def authorities(self) -> int:
        """How many are trusted, by all configurations alike."""
        (bundle,) = await self.trusted()
        return len(x509.load_pem_x509_certificates(bundle))


def _assert_trusted(pair: certificates.Pair, bundles: set[bytes], now: datetime) -> None:
    assert pair.cert.not_valid_before_utc <= now < pair.expires
    for bundle in bundles:
        assert now < _trusted_until(pair.cert_pem, bundle)


@cache
def _trusted_until(shown: bytes, bundle: bytes) -> datetime:
    """The end of the authority that vouches for a certificate. Fails if there is none."""
    cert = x509.load_pem_x509_certificate(shown)
    for authority in x509.load_pem_x509_certificates(bundle):
        with contextlib.suppress(InvalidSignature):
            cert.verify_directly_issued_by(authority)
            return authority.not_valid_after_utc
    raise AssertionError("nobody vouches for the certificate that is shown")


@asynccontextmanager
async def a_world(clock: VirtualClock) -> AsyncIterator[World]:
    async with an_api(clock) as (_, client):
        await webhook_kinds.define(client)
        for obj in manifests.documents(manifests.WantedInstallation(namespace=NS, webhooks=True)):
            if "WebhookConfiguration" in obj["kind"]:
                await client.create((obj["apiVersion"], obj["kind"]), obj)
        yield World(client, clock)


def play(story: Callable[[World], Any]) -> None:
    async def main(clock: VirtualClock) -> None:
        async with a_world(clock) as world:
            try:
                await story(world)
            finally:
                for replica in world.replicas:
                    replica.kill()

    virtual.run(main)


def test_one_replica_makes_the_certificates_and_all_show_them() -> None:
    async def story(world: World) -> None:
        one, two = await world.replica("one"), await world.replica("two")
        await world.clock.sleep(30)
        assert one.shown is not None
        assert two.shown is not None
        assert one.shown.cert == two.shown.cert
        assert one.shown.names == [f"{NAME}.{NS}.svc", f"{NAME}.{NS}.svc.cluster.local", f"{NAME}.{NS}"]
        _assert_trusted(one.shown, await world.trusted(), world.clock.now())
        await one.stop()
        lease = await world.client.get(kinds.LEASES, NAME, NS)
        assert not lease["spec"].get("holderIdentity")
        await two.stop()

    play(story)


def test_for_three_years_every_replica_is_trusted_at_every_moment() -> None:
    async def story(world: World) -> None:
        one = await world.replica("one")
        await world.clock.sleep(4)  # they look at different times
        two = await world.replica("two")
        await world.clock.sleep(30)
        shown: set[int] = set()
        authorities: set[bytes] = set()
        changes = 0
        for _ in range(55):
            world.clock.jump(20 * DAY)
            await world.pass_seconds(12)
            if await world.authorities() > 1:
                changes += 1
                await world.pass_seconds(900, late=READ_LATE_SECONDS)
                assert await world.authorities() == 1
            for replica in (one, two):
                assert replica.shown is not None
                shown.add(replica.shown.cert.serial_number)
            authorities |= await world.trusted()
        assert changes == 1
        assert len(authorities) == 2
        assert len(shown) >= 15

    play(story)


async def _life(world: World) -> None:
    """The first certificates, and a change of authority from its beginning to its end."""
    await world.clock.sleep(40)
    world.clock.jump((rotation.AUTHORITY_DAYS - 130) * DAY)  # the server's certificate ended long ago
    await world.clock.sleep(40)
    world.clock.jump(15 * DAY)
    for pause in (60.0, 660.0, 0.0):
        await world.pass_seconds(42)
        world.clock.jump(pause)


def _writes() -> int:
    written: list[int] = []

    async def story(world: World) -> None:
        mortal = MortalClient(world.client, world.clock)
        world.replicas.append(Replica(world.client, mortal, world.clock, "one"))
        await _life(world)
        written.append(mortal.writes)

    play(story)
    return written[0]


WRITES = 12
"""Secret, both configurations; a new certificate; authority, both, note, certificate, forgotten, both."""


def test_a_life_has_so_many_writes() -> None:
    assert _writes() == WRITES


@pytest.mark.parametrize("last", range(1, WRITES + 1))
def test_another_replica_goes_on_after_a_death_at_any_write(last: int) -> None:
    async def story(world: World) -> None:
        mortal = MortalClient(world.client, world.clock, last, Death.UNSEEN)
        dying = Replica(Dead(mortal, world.client), mortal, world.clock, "dying")
        await world.clock.sleep(1.0)
        await world.replica("other")
        killing = asyncio.create_task(_kill_when_dead(mortal, dying))
        await _life(world)
        assert mortal.dead.is_set()
        await killing
        assert await world.authorities() == 1
        (other,) = world.replicas
        assert other.shown is not None
        assert other.shown.expires > world.clock.now() + timedelta(days=30)

    play(story)


async def _kill_when_dead(mortal: MortalClient, replica: Replica) -> None:
    await mortal.dead.wait()
    replica.kill()


def test_a_secret_that_somebody_else_made_is_left_alone(caplog: pytest.LogCaptureFixture) -> None:
    async def story(world: World) -> None:
        foreign = {"metadata": {"name": NAME}, "data": {"tls.crt": base64.b64encode(b"mine").decode()}}
        made = await world.client.create(kinds.SECRETS, foreign, NS)
        one = await world.replica("one")
        await world.clock.sleep(60)
        assert await world.client.get(kinds.SECRETS, NAME, NS) == made
        (check, *_) = one.service.ready()
        assert not check.well
        await world.client.delete(kinds.SECRETS, NAME, NS)
        await world.clock.sleep(30)
        assert one.shown is not None

    play(story)
    told = [record for record in caplog.records if "was not made by longshore" in record.getMessage()]
    assert len([record for record in told if record.levelname == "WARNING"]) == 1


def test_a_configuration_that_is_made_anew_soon_says_whom_to_trust() -> None:
    async def story(world: World) -> None:
        await world.replica("one")
        await world.clock.sleep(30)
        found = await world.client.get(CONFIGURATIONS[0], NAME)
        await world.client.delete(CONFIGURATIONS[0], NAME)
        await world.clock.sleep(30)
        fresh = [{**webhook, "clientConfig": {}} for webhook in found["webhooks"]]
        await world.client.create(CONFIGURATIONS[0], {"metadata": {"name": NAME}, "webhooks": fresh})
        await world.clock.sleep(15)
        assert await world.authorities() == 1

    play(story)


NOW = datetime.fromisoformat("2026-01-01T00:00:00Z")
WELL = RotationView(
    NOW, NOW + timedelta(days=700), NOW + timedelta(days=80),
    vouched=True, named=True, old_trusted=False, published=True, noted=None,
)  # fmt: skip


@pytest.mark.parametrize(
    ("changed", "step"),
    [
        ({}, Step.REST),
        ({"published": False, "authority_ends": NOW}, Step.PUBLISH),
        ({"authority_ends": NOW + timedelta(days=119)}, Step.NEW_AUTHORITY),
        ({"server_ends": NOW + timedelta(days=29)}, Step.NEW_SERVER),
        ({"named": False}, Step.NEW_SERVER),
        ({"vouched": False, "old_trusted": True}, Step.NOTE_TRUST),
        ({"vouched": False, "old_trusted": True, "noted": NOW - timedelta(seconds=59)}, Step.REST),
        ({"vouched": False, "old_trusted": True, "noted": NOW - timedelta(seconds=60)}, Step.NEW_SERVER),
        ({"vouched": False, "old_trusted": True, "server_ends": NOW}, Step.NEW_SERVER),
        ({"vouched": False, "old_trusted": True, "noted": NOW + timedelta(days=1)}, Step.NOTE_TRUST),
        ({"old_trusted": True, "noted": NOW - timedelta(minutes=9)}, Step.REST),
        ({"old_trusted": True, "noted": NOW - timedelta(minutes=10)}, Step.FORGET_OLD),
    ],
)
def test_each_state_has_its_next_step(changed: dict[str, Any], step: Step) -> None:
    assert rotation.decide(WELL._replace(**changed)) is step


def test_without_certificates_they_are_made() -> None:
    assert rotation.decide(None) is Step.BEGIN
