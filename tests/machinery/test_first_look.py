"""An informer's first look at a store in its own process unpacks no object that has settled, and comes to
what a look at every whole object comes to."""

from __future__ import annotations

from typing import Any

import pytest

from longshore.api import types
from longshore.api.facts import kinds, settled_objects
from longshore.api.types import Obj
from longshore.client.local import LocalClient
from longshore.client.protocol import DeleteOptions
from longshore.controllers.job.waking import selector_index
from longshore.machinery.informers.informer import Handler, Informer
from longshore.machinery.informers.reflector import Selection
from longshore.machinery.time import virtual
from longshore.machinery.time.virtual import VirtualClock
from longshore.testing.stories import beside
from machinery.control_plane import MAPS, PODS, api, pod

OWNER = {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "u", "controller": True}
LABELS = {
    "batch.kubernetes.io/controller-uid": "u",
    "controller-uid": "u",
    "batch.kubernetes.io/job-name": "j",
    "job-name": "j",
}
SORTS: dict[str, tuple[Obj, str]] = {
    "counted": ({"ownerReferences": [OWNER], "labels": LABELS}, "Succeeded"),
    "labelled-otherwise": ({"ownerReferences": [OWNER], "labels": {"a": "b"}}, "Succeeded"),
    "noted": ({"ownerReferences": [OWNER], "labels": LABELS, "annotations": {"a": "b"}}, "Succeeded"),
    "uncounted": (
        {"ownerReferences": [OWNER], "finalizers": ["batch.kubernetes.io/job-tracking"]},
        "Succeeded",
    ),
    "failed": ({"ownerReferences": [OWNER], "labels": LABELS}, "Failed"),
    "running": ({"ownerReferences": [OWNER], "labels": LABELS}, "Running"),
    "nobodys": ({}, "Succeeded"),
}
SETTLED = {"counted", "labelled-otherwise", "noted"}


class Hears(Handler):
    """Writes down what it hears."""

    def __init__(self) -> None:
        self.told: list[tuple[Any, ...]] = []

    def on_add(self, obj: Obj, initial: bool) -> None:
        self.told.append(("add", obj, initial))

    def on_update(self, old: Obj, new: Obj) -> None:
        self.told.append(("update", old, new))

    def on_delete(self, obj: Obj, stale: bool) -> None:
        self.told.append(("delete", obj, stale))


async def fill(client: LocalClient) -> None:
    for name, (meta, phase) in SORTS.items():
        await client.create(PODS, pod(name, **meta), "ns")
        await client.patch(PODS, name, {"status": {"phase": phase}}, "ns", subresource="status")


def without_versions(value: Any) -> Any:
    """What does not differ from one API to the next."""
    if isinstance(value, dict):
        left = ("uid", "resourceVersion", "creationTimestamp", "managedFields", "time")
        return {k: without_versions(v) for k, v in value.items() if k not in left}
    return [*map(without_versions, value)] if isinstance(value, (list, tuple)) else value


async def story(clock: VirtualClock, *, shortcuts: bool) -> dict[str, Any]:
    """Everything that can be seen of an informer over a store full of pods, and of its handlers."""
    async with api(clock, shortcuts=shortcuts) as client:
        await fill(client)
        hears = Hears()
        informer = Informer(client, Selection(PODS, "ns"), clock=clock, rng=clock.rng)
        informer.cache.add_index("job", selector_index.pods_by_job)
        informer.add_handler(hears)
        async with beside(informer.run()):
            await informer.synced()
            await client.patch(PODS, "counted", {"metadata": {"labels": {"new": "one"}}}, "ns")
            await client.delete(PODS, "noted", "ns", DeleteOptions(grace_period_seconds=0))
            await client.create(PODS, pod("late"), "ns")
            await clock.sleep(0.1)
            cache = informer.cache
            found = {
                key: [o["metadata"]["name"] for o in cache.by_index("job", key)]
                for key in cache.index_keys("job")
            }
            return {
                "told": without_versions(facts_told(hears.told)),
                "index": found,
                "cache": without_versions(cache.list()),
            }


def facts_told(told: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """What handlers heard, cut to the facts where an object existed before the first list."""
    return [
        ("add", settled_objects.facts_of(types.encode(each[1])), True)
        if each[0] == "add" and each[2]
        else each
        for each in told
    ]


def test_handlers_and_caches_end_with_the_same_by_both_ways() -> None:
    async def main(clock: VirtualClock) -> None:
        assert await story(clock, shortcuts=True) == await story(clock, shortcuts=False)

    virtual.run(main)


def test_handlers_get_the_facts_of_settled_pods_and_the_cache_has_all_of_them() -> None:
    async def main(clock: VirtualClock) -> None:
        async with api(clock) as client:
            await fill(client)
            hears = Hears()
            informer = Informer(client, Selection(PODS, "ns"), clock=clock, rng=clock.rng)
            informer.add_handler(hears)
            async with beside(informer.run()):
                await informer.synced()
                told = {obj["metadata"]["name"]: obj for verb, obj, initial in hears.told}
                assert told.keys() == SORTS.keys()
                assert {name for name in told if "managedFields" not in told[name]["metadata"]} == SETTLED
                unpacked = {obj["metadata"]["name"] for obj in informer.cache.unpacked("ns")}
                assert unpacked == SORTS.keys() - SETTLED
                whole = await client.get(PODS, "noted", "ns")
                assert informer.cache.get("ns", "noted") == whole
                late = Hears()
                informer.add_handler(late)
                assert late.told == hears.told

    virtual.run(main)


@pytest.mark.parametrize("name", SORTS)
def test_the_facts_of_a_pod_are_parts_of_it_and_enough_to_say_whether_it_has_settled(name: str) -> None:
    async def main(clock: VirtualClock) -> None:
        async with api(clock) as client:
            await fill(client)
            entry = next(e for e in client.api.store.list("pods").entries if e.key.name == name)
            facts = settled_objects.facts_of(entry.raw)
            for part, fields in facts.items():
                assert fields == {field: entry.obj[part][field] for field in fields}
            rule = settled_objects.RULES[kinds.PODS]
            assert rule(facts) is rule(entry.obj) is (name in SETTLED)
            assert selector_index.pods_by_job(facts) == selector_index.pods_by_job(entry.obj)

    virtual.run(main)


def test_other_kinds_are_told_whole_and_an_empty_store_is_soon_known() -> None:
    async def main(clock: VirtualClock) -> None:
        async with api(clock) as client:
            hears, informer = Hears(), Informer(client, Selection(MAPS, "ns"), clock=clock, rng=clock.rng)
            informer.add_handler(hears)
            async with beside(informer.run()):
                await informer.synced()
                assert hears.told == []
                made = await client.create(MAPS, {"metadata": {"name": "a"}}, "ns")
                await clock.sleep(0.1)
            assert hears.told == [("add", made, False)]
            again, informer = Hears(), Informer(client, Selection(MAPS, "ns"), clock=clock, rng=clock.rng)
            informer.add_handler(again)
            async with beside(informer.run()):
                await informer.synced()
                assert again.told == [("add", made, True)]

    virtual.run(main)


def test_a_look_that_nobody_goes_on_from_holds_nothing_of_the_store() -> None:
    async def main(clock: VirtualClock) -> None:
        async with api(clock) as client:
            before = len(client.api.store._hub)
            async with client.watch(PODS, "ns", initial_events=True) as events:
                assert await events.list_to(lambda seen: None)
                assert len(client.api.store._hub) == before + 1
            assert len(client.api.store._hub) == before

    virtual.run(main)
