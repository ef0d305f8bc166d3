"""The controller in examples/toolkit/ works, and docs/how-to/toolkit.md quotes it as it is."""

from __future__ import annotations

import asyncio
import importlib.util
import re
import sys
from types import ModuleType
from typing import Any

import pytest

from longshore.api.errors import StatusError
from longshore.api.types import Obj
from longshore.client.local import LocalClient
from longshore.machinery.controller_context import ControllerContext
from longshore.machinery.time import virtual
from longshore.machinery.time.virtual import VirtualClock
from longshore.testing.stories import beside
from longshore.up.options import Options
from longshore.up.running import running as longshore_running
from machinery.control_plane import EVENTS, MAPS, PODS, api, pod
from support.places import ROOT

EXAMPLE = ROOT / "examples" / "toolkit" / "crew.py"


@pytest.fixture(scope="module")
def example() -> ModuleType:
    spec = importlib.util.spec_from_file_location("crew", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["crew"] = module
    spec.loader.exec_module(module)
    return module


def crew(size: str) -> Obj:
    return {"metadata": {"name": "red", "labels": {"example.org/crew": ""}}, "data": {"size": size}}


async def members(client: LocalClient) -> list[str]:
    found = (await client.list(PODS, "ns", labels="example.org/crew=red")).items
    return sorted(p["metadata"]["name"] for p in found)


def scenario(example: ModuleType, steps: Any) -> None:
    async def main(clock: VirtualClock) -> None:
        async with api(clock) as client:
            controller = example.CrewController(ControllerContext(client, clock=clock, rng=clock.rng))
            async with beside(controller.run()):
                await steps(clock, client)

    virtual.run(main)


def test_a_crew_is_filled_up_kept_up_and_reduced(example: ModuleType) -> None:
    async def steps(clock: VirtualClock, client: LocalClient) -> None:
        await client.create(MAPS, crew("5"), "ns")
        await clock.sleep(0.1)
        first = await members(client)
        assert len(first) == 5
        await client.delete(PODS, first[2], "ns")
        await clock.sleep(0.1)
        again = await members(client)
        assert len(again) == 5
        assert set(first) - {first[2]} <= set(again)
        await clock.sleep(10)
        await client.patch(MAPS, "red", {"data": {"size": "7"}}, "ns")
        await clock.sleep(0.1)
        assert set(again) <= set(await members(client))
        assert len(await members(client)) == 7
        await client.patch(MAPS, "red", {"data": {"size": "5"}}, "ns")
        await clock.sleep(0.1)
        assert await members(client) == again, "the newest go first"

    scenario(example, steps)


def test_pods_of_the_crew_s_label_are_adopted_and_others_released(example: ModuleType) -> None:
    async def steps(clock: VirtualClock, client: LocalClient) -> None:
        await client.create(PODS, pod("stray", labels={"example.org/crew": "red"}), "ns")
        await client.create(MAPS, crew("2"), "ns")
        await clock.sleep(0.1)
        assert "stray" in await members(client)
        assert len(await members(client)) == 2
        await client.patch(PODS, "stray", {"metadata": {"labels": None}}, "ns")
        await clock.sleep(0.1)
        assert "ownerReferences" not in (await client.get(PODS, "stray", "ns"))["metadata"]
        assert len(await members(client)) == 2

    scenario(example, steps)


def test_what_it_did_and_what_is_wrong_is_told_in_events(example: ModuleType) -> None:
    async def steps(clock: VirtualClock, client: LocalClient) -> None:
        await client.create(MAPS, crew("many"), "ns")
        await clock.sleep(0.1)
        (event,) = (await client.list(EVENTS, "ns")).items
        assert event["message"] == "data.size: Invalid value: 'many': must be a whole number, 0 or more"
        await client.patch(MAPS, "red", {"data": {"size": "1"}}, "ns")
        await clock.sleep(0.1)
        (name,) = await members(client)
        messages = [e["message"] for e in (await client.list(EVENTS, "ns")).items]
        assert f"Created pod: {name}" in messages

    scenario(example, steps)


def test_a_full_quota_is_tried_again_until_there_is_room(example: ModuleType) -> None:
    async def steps(clock: VirtualClock, client: LocalClient) -> None:
        quota = {"metadata": {"name": "q"}, "spec": {"hard": {"pods": "2"}}}
        await client.create(("v1", "ResourceQuota"), quota, "ns")
        await client.create(MAPS, crew("4"), "ns")
        await clock.sleep(5)
        assert len(await members(client)) == 2
        await client.patch(("v1", "ResourceQuota"), "q", {"spec": {"hard": {"pods": "9"}}}, "ns")
        await clock.sleep(60)
        assert len(await members(client)) == 4

    scenario(example, steps)


def test_never_too_many_however_the_cache_lags(example: ModuleType) -> None:
    """Every sync finds the cache behind the writes of the one before."""

    async def steps(clock: VirtualClock, client: LocalClient) -> None:
        await client.create(MAPS, crew("3"), "ns")
        most = 0
        for n in range(30):
            await client.patch(MAPS, "red", {"metadata": {"labels": {"n": str(n)}}}, "ns")
            most = max(most, len(await members(client)))
        await clock.sleep(1)
        assert most == len(await members(client)) == 3
        made = [e for e in (await client.list(EVENTS, "ns")).items if e["reason"] == "SuccessfulCreate"]
        assert len(made) == 3

    scenario(example, steps)


def test_a_crew_that_is_gone_is_left_to_the_garbage_collector(example: ModuleType) -> None:
    async def steps(clock: VirtualClock, client: LocalClient) -> None:
        await client.create(MAPS, crew("2"), "ns")
        await clock.sleep(0.1)
        await client.delete(MAPS, "red", "ns")
        await clock.sleep(10)
        assert len(await members(client)) == 2
        with pytest.raises(StatusError):
            await client.get(MAPS, "red", "ns")

    scenario(example, steps)


def test_it_runs_as_a_process_of_its_own_against_any_server(example: ModuleType) -> None:
    async def main() -> None:
        options = Options(in_memory=True, port=0, controllers=("namespace", "serviceaccount"))
        async with longshore_running(options) as longshore, beside(example.main(longshore.kubeconfig)):
            client = longshore.client
            await client.create(("v1", "Namespace"), {"metadata": {"name": "ns"}})
            await client.create(MAPS, crew("2"), "ns")
            async with asyncio.timeout(20), client.watch(PODS, "ns") as events:
                for _ in range(2):
                    event = await anext(events)
                    assert event.object["metadata"]["labels"] == {"example.org/crew": "red"}
            lease = await client.get(("coordination.k8s.io/v1", "Lease"), "crew-controller", "default")
            assert lease["spec"]["holderIdentity"]

    asyncio.run(main())


def test_the_documentation_quotes_the_example_as_it_is() -> None:
    source = EXAMPLE.read_text()
    blocks = re.findall(
        r"```python\n(.*?)```", (ROOT / "docs" / "how-to" / "toolkit.md").read_text(), re.DOTALL
    )
    assert len(blocks) >= 3
    for block in blocks:
        assert block.strip("\n") in source, f"not in {EXAMPLE.name}:\n{block}"


def test_the_documentation_names_every_module() -> None:
    text = (ROOT / "docs" / "how-to" / "toolkit.md").read_text()
    folder = ROOT / "src" / "longshore" / "machinery"
    for module in folder.rglob("[!_]*.py"):
        name = module.relative_to(folder).as_posix()
        assert f"`{name}`" in text, f"docs/how-to/toolkit.md says nothing of {name}"
