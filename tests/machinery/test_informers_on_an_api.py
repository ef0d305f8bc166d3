"""Informers on a real API in this process, on the virtual clock."""

from __future__ import annotations

import asyncio
import random
from functools import partial

from longshore.api.errors import StatusError
from longshore.api.facts.owners import owner_index
from longshore.api.types import Obj
from longshore.client.local import LocalClient
from longshore.machinery.informers.informer import Handler, Informer, Informers, OnChange
from longshore.machinery.informers.reflector import Selection
from longshore.machinery.time import virtual
from longshore.machinery.time.virtual import VirtualClock
from longshore.testing.stories import beside
from machinery.control_plane import MAPS, PODS, api, pod


def config_map(name: str, **data: str) -> Obj:
    return {"metadata": {"name": name}, "data": data}


def test_it_follows_creations_changes_and_deletions() -> None:
    async def main(clock: VirtualClock) -> None:
        async with api(clock) as client:
            await client.create(MAPS, config_map("before"), "ns")
            informer = Informer(client, Selection(MAPS, "ns"), clock=clock, rng=clock.rng)
            log: list[tuple[str, str, bool]] = []

            class Log(Handler):
                def on_add(self, obj: Obj, initial: bool) -> None:
                    log.append(("add", obj["metadata"]["name"], initial))

                def on_update(self, old: Obj, new: Obj) -> None:
                    log.append(("update", new["data"]["x"], old is new))

                def on_delete(self, obj: Obj, stale: bool) -> None:
                    log.append(("delete", obj["metadata"]["name"], stale))

            informer.add_handler(Log())
            async with beside(informer.run()):
                await informer.synced()
                made = await client.create(MAPS, config_map("a", x="1"), "ns")
                await informer.cache.reached(int(made["metadata"]["resourceVersion"]))
                assert informer.cache.get("ns", "a") == made
                await client.patch(MAPS, "a", {"data": {"x": "2"}}, "ns")
                await clock.sleep(0.1)
                await client.delete(MAPS, "a", "ns")
                await clock.sleep(0.1)
            assert log == [
                ("add", "before", True),
                ("add", "a", False),
                ("update", "2", False),
                ("delete", "a", False),
            ]

    virtual.run(main)


def test_cached_objects_are_the_store_s_own() -> None:
    async def main(clock: VirtualClock) -> None:
        async with api(clock) as client:
            await client.create(MAPS, config_map("a"), "ns")
            informer = Informer(client, Selection(MAPS), clock=clock, rng=clock.rng)
            async with beside(informer.run()):
                await informer.synced()
                assert informer.cache.get("ns", "a") is (await client.list(MAPS, "ns")).items[0]

    virtual.run(main)


def test_days_of_quiet_lose_nothing() -> None:
    """Watches end and are made again many times; bookmarks keep them from being forgotten."""

    async def main(clock: VirtualClock) -> None:
        async with api(clock) as client:
            informer = Informer(client, Selection(MAPS), clock=clock, rng=clock.rng)
            changes: list[Obj] = []
            informer.add_handler(OnChange(changes.append))
            async with beside(informer.run()):
                await informer.synced()
                for day in range(5):
                    await clock.sleep(86400)
                    await client.create(MAPS, config_map(f"day-{day}"), "ns")
                await clock.sleep(1)
                assert len(changes) == len(informer.cache) == 5
                other = await client.create(PODS, pod("p"), "ns")
                await clock.sleep(120)
                assert informer.cache.revision == int(other["metadata"]["resourceVersion"])

    virtual.run(main)


def test_a_storm_of_changes_ends_with_the_right_state() -> None:
    async def main(clock: VirtualClock, *, shortcuts: bool = True) -> list[str]:
        trace: list[str] = []
        async with api(clock, shortcuts=shortcuts) as client:
            informer = Informer(client, Selection(MAPS), clock=clock, rng=clock.rng)
            informer.add_handler(OnChange(lambda obj: trace.append(obj["metadata"]["resourceVersion"])))
            async with beside(informer.run()):
                await informer.synced()
                await asyncio.gather(*(storm(client, clock, who) for who in range(8)))
                await clock.sleep(1)
                found = await client.list(MAPS)
                assert {o["metadata"]["name"]: o for o in informer.cache} == {
                    o["metadata"]["name"]: o for o in found.items
                }
        return trace

    async def storm(client: LocalClient, clock: VirtualClock, who: int) -> None:
        rng = random.Random(clock.rng.random())
        for n in range(30):
            name = f"{who}-{rng.randrange(5)}"
            try:
                match rng.randrange(3):
                    case 0:
                        await client.create(MAPS, config_map(name), "ns")
                    case 1:
                        await client.patch(MAPS, name, {"data": {"n": str(n)}}, "ns")
                    case _:
                        await client.delete(MAPS, name, "ns")
            except StatusError as err:
                if err.code not in (404, 409):
                    raise
            if rng.random() < 0.3:
                await clock.sleep(rng.random())

    first = virtual.run(main, seed=3)
    assert first == virtual.run(main, seed=3), "the same seed must give the same run"
    assert first != virtual.run(main, seed=4)
    assert first == virtual.run(partial(main, shortcuts=False), seed=3), "handed over or waited for: the same"


def test_two_controllers_share_one_informer() -> None:
    async def main(clock: VirtualClock) -> None:
        async with api(clock) as client:
            informers = Informers(client, clock=clock, rng=clock.rng)
            pods = informers.get(PODS)
            assert informers.get(("v1", "pods"), indexers={"owner": owner_index}) is pods
            assert informers.get(await client.resource(PODS)) is pods
            assert informers.get(PODS, namespace="ns") is not pods
            own_kind = ("example.org/v1", "things")
            assert informers.get(own_kind) is informers.get(own_kind)
            await client.create(PODS, pod("p"), "ns")
            async with beside(informers.run()):
                await pods.synced()
                assert len(pods.cache.by_index("owner", "ns")) == 1
                late = informers.get(MAPS)
                await late.synced()
                assert not informers.get(own_kind).has_synced

    virtual.run(main)


def test_all_informers_are_waited_for() -> None:
    async def main(clock: VirtualClock) -> None:
        async with api(clock) as client:
            informers = Informers(client, clock=clock, rng=clock.rng)
            some = [informers.get(what) for what in (MAPS, PODS)]
            async with beside(informers.run()):
                await informers.synced()
                assert all(informer.has_synced for informer in some)

    virtual.run(main)
