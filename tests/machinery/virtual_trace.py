"""Runs a control plane on the virtual clock and prints every write it made: `virtual_trace.py SEED`.

A program of its own, since what could differ between two runs (the order of sets of strings, addresses of
objects) is the same within one process.
"""

from __future__ import annotations

import asyncio
import importlib.util
import sys
from typing import Any

from longshore.api.errors import StatusError
from longshore.client.local import LocalClient
from longshore.machinery.controller_context import ControllerContext
from longshore.machinery.time import virtual
from longshore.machinery.time.virtual import VirtualClock
from machinery.control_plane import MAPS, PODS, api
from support.places import ROOT

EXAMPLE = ROOT / "examples" / "toolkit" / "crew.py"


async def main(clock: VirtualClock) -> None:
    spec = importlib.util.spec_from_file_location("crew", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    crew: Any = importlib.util.module_from_spec(spec)
    sys.modules["crew"] = crew
    spec.loader.exec_module(crew)
    async with api(clock) as client:
        recording = [
            asyncio.create_task(record(clock, client, kind)) for kind in (PODS, MAPS, ("v1", "Event"))
        ]
        controllers = [
            asyncio.create_task(
                crew.CrewController(ControllerContext(client, clock=clock, rng=clock.rng)).run()
            )
            for _ in range(2)
        ]
        await asyncio.gather(*(disturb(clock, client, f"crew-{n}") for n in range(6)))
        await clock.sleep(60)
        for task in (*controllers, *recording):
            task.cancel()
        await asyncio.gather(*controllers, *recording, return_exceptions=True)


async def record(clock: VirtualClock, client: LocalClient, what: tuple[str, str]) -> None:
    async with client.watch(what, resource_version="1") as events:
        async for event in events:
            if event.type != "BOOKMARK":
                print(clock.monotonic(), event.type, event.object)


async def disturb(clock: VirtualClock, client: LocalClient, name: str) -> None:
    """Two controllers fight for the same crews while sizes change and pods are deleted."""
    meta = {"name": name, "labels": {"example.org/crew": ""}}
    await client.create(MAPS, {"metadata": meta, "data": {"size": "3"}}, "ns")
    for _ in range(10):
        await clock.sleep(clock.rng.expovariate(1))
        size = {"data": {"size": str(clock.rng.randrange(6))}}
        await client.patch(MAPS, name, size, "ns")
        pods = (await client.list(PODS, "ns")).items
        if pods:
            try:
                await client.delete(PODS, clock.rng.choice(pods)["metadata"]["name"], "ns")
            except StatusError as err:
                if err.code != 404:
                    raise


if __name__ == "__main__":
    virtual.run(main, seed=int(sys.argv[1]))
