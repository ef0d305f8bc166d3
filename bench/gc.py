"""Pods deleted a second by garbage collection, beside a bare deletecollection: `python bench/gc.py`.

10,000 pods of one Job and 1,000 Jobs of 10 pods, in the background and in the foreground; meanwhile somebody
else writes every few milliseconds, and how long that takes is told too. Last a Job as users make it, whose
pods the Job controller must release: creation and deletion. `--quick` is a smoke test with small numbers.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import uvloop

from longshore.api.types import Obj
from longshore.apiserver.api import Api, ApiParts
from longshore.client import Client, DeleteOptions, ObjectList, What
from longshore.client.local import LocalClient
from longshore.controllers import garbage, job
from longshore.machinery.controller_context import ControllerContext
from longshore.machinery.time.clock import RealClock
from longshore.plane.controllers import WORKERS
from longshore.store import Store

JOBS, PODS, MAPS = ("batch/v1", "Job"), ("v1", "Pod"), ("v1", "ConfigMap")
NAMESPACE = "bench"
CONTAINERS: Obj = {"containers": [{"name": "main", "image": "busybox", "command": ["true"]}]}
TEMPLATE: Obj = {"spec": {**CONTAINERS, "restartPolicy": "Never"}}
AT_ONCE = 200


@asynccontextmanager
async def world(*, collecting: bool = True, working: bool = False) -> AsyncIterator[Client]:
    """An API on disk, with a collector, and with a Job controller if wanted."""
    with tempfile.TemporaryDirectory() as directory:
        store = Store.open(Path(directory))
        client, clock, rng = (
            LocalClient(Api(ApiParts(store, RealClock(), random.Random()))),
            RealClock(),
            random.Random(0),
        )
        await client.create(("v1", "Namespace"), {"metadata": {"name": NAMESPACE}})
        tasks = []
        if collecting:
            context = ControllerContext(client, clock=clock, rng=rng, workers=WORKERS["garbage"])
            tasks.append(asyncio.create_task(garbage.run(context)))
        if working:
            context = ControllerContext(client, clock=clock, rng=rng, workers=WORKERS["job"])
            tasks.append(asyncio.create_task(job.run(context)))
        try:
            yield client
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await store.close()


async def fill(client: Client, jobs: int, pods: int) -> None:
    """So many Jobs, suspended so that nobody acts on them, with so many pods each."""
    made = []
    for n in range(jobs):
        spec = {"template": TEMPLATE, "suspend": True}
        made.append(await client.create(JOBS, {"metadata": {"name": f"j{n}"}, "spec": spec}, NAMESPACE))
    wanted = [(owner, n) for owner in made for n in range(pods)]
    for at in range(0, len(wanted), AT_ONCE):
        await asyncio.gather(*(_pod(client, owner, n) for owner, n in wanted[at : at + AT_ONCE]))
    await asyncio.sleep(0.2)  # lets the collector see them all


async def _pod(client: Client, owner: Obj, number: int) -> None:
    meta = owner["metadata"]
    ref = {"apiVersion": "batch/v1", "kind": "Job", "name": meta["name"], "uid": meta["uid"]}
    refs = [{**ref, "controller": True, "blockOwnerDeletion": True}]
    metadata = {"name": f"{meta['name']}-{number}", "ownerReferences": refs, "labels": {"bench": "gc"}}
    await client.create(PODS, {"metadata": metadata, "spec": CONTAINERS}, NAMESPACE)


class Departure:
    """The objects of one kind, until the last of them is deleted."""

    def __init__(self, client: Client, what: What, found: ObjectList) -> None:
        self._client, self._what, self._since = client, what, found.resource_version
        self._left = {obj["metadata"]["name"] for obj in found.items}

    @classmethod
    async def of(cls, client: Client, what: What) -> Departure:
        return cls(client, what, await client.list(what, NAMESPACE))

    async def complete(self) -> None:
        async with self._client.watch(self._what, NAMESPACE, resource_version=self._since) as events:
            while self._left:
                event = await anext(events)
                if event.type == "DELETED":
                    self._left.discard(event.object["metadata"]["name"])


class Bystander:
    """Writes a small object every few milliseconds, and notes how long each write takes."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._spent: list[float] = []

    async def run(self) -> None:
        await self._client.create(MAPS, {"metadata": {"name": "bystander"}}, NAMESPACE)
        for n in range(10**9):
            begun = time.perf_counter()
            await self._client.patch(MAPS, "bystander", {"data": {"n": str(n)}}, NAMESPACE)
            self._spent.append(time.perf_counter() - begun)
            await asyncio.sleep(0.005)

    def __str__(self) -> str:
        spent = sorted(self._spent)
        return (
            f"{spent[len(spent) // 2] * 1000:.1f} ms a write of others, "
            f"p99 {spent[len(spent) * 99 // 100] * 1000:.1f} ms"
        )


async def bare(jobs: int, pods: int) -> float:
    """Pods a second by one deletecollection, with nobody watching."""
    async with world(collecting=False) as client:
        await fill(client, jobs, pods)
        begun = time.perf_counter()
        await client.delete_collection(PODS, NAMESPACE, DeleteOptions(), labels="bench=gc")
        return jobs * pods / (time.perf_counter() - begun)


async def collected(jobs: int, pods: int, how: str) -> tuple[float, float, Bystander]:
    """Pods a second after their Jobs are deleted, the seconds it took, and what others noticed."""
    async with world() as client:
        await fill(client, jobs, pods)
        leaving = [await Departure.of(client, what) for what in (JOBS, PODS)]
        bystander = Bystander(client)
        other = asyncio.create_task(bystander.run())
        begun = time.perf_counter()
        options = DeleteOptions(propagation="Foreground" if how == "foreground" else "Background")
        if jobs == 1:
            await client.delete(JOBS, "j0", NAMESPACE, options)
        else:
            await client.delete_collection(JOBS, NAMESPACE, options)
        await asyncio.gather(*(each.complete() for each in leaving))
        seconds = time.perf_counter() - begun
        other.cancel()
        return jobs * pods / seconds, seconds, bystander


async def lived(pods: int) -> tuple[float, float]:
    """Seconds to create all pods of a Job and, after it is deleted, to see the last of them go."""
    async with world(working=True) as client:
        spec = {"template": TEMPLATE, "parallelism": pods, "completions": pods}
        begun = time.perf_counter()
        await client.create(JOBS, {"metadata": {"name": "large"}, "spec": spec}, NAMESPACE)
        found = 0
        async with client.watch(PODS, NAMESPACE, initial_events=True) as events:
            while found < pods:
                found += (await anext(events)).type == "ADDED"
        made = time.perf_counter() - begun
        leaving = await Departure.of(client, PODS)
        begun = time.perf_counter()
        await client.delete(JOBS, "large", NAMESPACE, DeleteOptions(propagation="Background"))
        await leaving.complete()
        return made, time.perf_counter() - begun


async def main(quick: bool) -> None:
    shapes = ((1, 200), (20, 10)) if quick else ((1, 10_000), (1_000, 10))
    for jobs, pods in shapes:
        limit = await bare(jobs, pods)
        print(f"{jobs} Jobs of {pods} pods: {limit:.0f} pods/s by a bare deletecollection")
        for how in ("background", "foreground"):
            rate, seconds, others = await collected(jobs, pods, how)
            print(f"  {how}: {rate:.0f} pods/s ({rate / limit:.2f} of bare), {seconds:.2f} s; {others}")
    pods = 50 if quick else 10_000
    made, deleted = await lived(pods)
    print(f"a Job of {pods} pods with its controller: made in {made:.2f} s, gone in {deleted:.2f} s")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small numbers: does it work at all?")
    uvloop.run(main(parser.parse_args().quick))
