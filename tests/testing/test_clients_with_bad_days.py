"""`FaultyClient` fails by dice, `MortalClient` dies at one write; `Telling` puts stories through both."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest

from longshore.api.errors import StatusError
from longshore.apiserver.api import Api
from longshore.client import Client, Unreachable
from longshore.client.local import LocalClient
from longshore.machinery.time import virtual
from longshore.machinery.time.virtual import VirtualClock
from longshore.testing import Death, FaultyClient, MortalClient, Telling, an_api, every_crash, until_dead

MAPS, NS = ("v1", "ConfigMap"), "ns"


def config_map(name: str) -> dict[str, object]:
    return {"metadata": {"name": name}}


async def names(client: LocalClient) -> list[str]:
    found = [obj["metadata"]["name"] for obj in (await client.list(MAPS, NS)).items]
    return [name for name in found if name != "kube-root-ca.crt"]


def faults(seed: int, rate: float) -> tuple[dict[str, int], list[str], int]:
    """What went wrong while fifty maps were made, which of them there are, and how many answers came."""

    async def main(clock: VirtualClock) -> tuple[dict[str, int], list[str], int]:
        async with an_api(clock) as (_, client):
            faulty, answered = FaultyClient(client, clock, seed, rate=rate), 0
            for n in range(50):
                try:
                    await faulty.create(MAPS, config_map(f"m{n:02}"), NS)
                    answered += 1
                except (StatusError, Unreachable):
                    pass
            return dict(faulty.happened), await names(client), answered

    return virtual.run(main)


def test_the_same_seed_gives_the_same_faults_and_no_rate_gives_none() -> None:
    assert faults(3, 0.4) == faults(3, 0.4)
    assert faults(3, 0.4) != faults(4, 0.4)
    happened, made, answered = faults(3, 0.0)
    assert (happened, len(made), answered) == ({}, 50, 50)


def test_a_lost_answer_is_of_a_write_that_took_place() -> None:
    happened, made, answered = faults(3, 0.4)
    assert happened["lost answer"] > 0
    assert happened["slow"] > 0
    assert len(made) == answered + happened["lost answer"]


@pytest.mark.parametrize("death", Death)
def test_nothing_reaches_the_server_after_the_last_write(death: Death) -> None:
    async def main(clock: VirtualClock) -> tuple[list[str], list[str]]:
        async with an_api(clock) as (_, client):
            mortal, seen = MortalClient(client, clock, last=2, death=death), list[str]()

            async def work() -> None:
                for name in ("a", "b", "c"):
                    await mortal.create(MAPS, config_map(name), NS)
                    seen.append(name)

            await until_dead(work(), mortal)
            return await names(client), seen

    made, seen = virtual.run(main)
    assert made == ["a", "b"]
    assert seen == (["a", "b"] if death is Death.SEEN else ["a"])


def test_every_write_is_crashed_in_each_way() -> None:
    crashes = [*every_crash(3)]
    assert {(number, death) for number, death, _ in crashes} == {(n, d) for n in (1, 2, 3) for d in Death}
    assert {away for _, _, away in crashes} == {0.0, 3.0, 40.0}


@dataclass
class World:
    api: Api
    client: LocalClient
    clock: VirtualClock


@asynccontextmanager
async def a_world(clock: VirtualClock) -> AsyncIterator[World]:
    async with an_api(clock) as (api, client):
        yield World(api, client, clock)


async def controller(client: Client, clock: VirtualClock) -> None:
    """Wants the maps a, b and c."""
    there = {obj["metadata"]["name"] for obj in (await client.list(MAPS, NS)).items}
    for name in ("a", "b", "c"):
        if name not in there:
            await client.create(MAPS, config_map(name), NS)
    await asyncio.get_running_loop().create_future()


async def nothing(world: World) -> None:
    """A story in which nobody does anything."""


async def ending(world: World) -> list[str]:
    return await names(world.client)


def test_a_story_ends_alike_undisturbed_and_with_any_crash() -> None:
    story = Telling(a_world, nothing, controller, ending, quiet=60.0)
    wanted, writes = story.undisturbed()
    assert (wanted, writes) == (["a", "b", "c"], 3)
    for last, death, away in every_crash(writes):
        assert story.crashed(last, death, away) == wanted
    assert story.crashed_for_ever(2, Death.SEEN) == wanted
