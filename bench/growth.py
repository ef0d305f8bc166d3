"""What grows with the number of objects, and by how much: `python bench/growth.py [--picture FILE]`.

Each row has one cost at several sizes, and the ratio of the largest to the smallest. Costs are CPU time of
this process, so other work on the machine disturbs them little; each is the least of a few runs. API,
journal and Job controller run in this process.

- a one-pod Job, from its creation to its end, with so many finished Jobs in the store;
- the end of one pod of an Indexed Job with so many active pods;
- a page of 500 pods, as JSON, from so many;
- memory for each finished pod of an Indexed Job, beyond the first few thousand, which fill the window;
- a restart with so many pods, until the Job controller has seen them all.

`--quick` is a smoke test with small numbers, `--full` goes up to 100,000 and takes about half an hour.
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
from jobs import JOBS, NAMESPACE, POD, PODS, embedded, memory, run_jobs
from picture import Points, chart

from longshore.api.types import Obj
from longshore.apiserver.api import Api, ApiParts
from longshore.client import Client
from longshore.client.local import LocalClient
from longshore.controllers import job
from longshore.machinery.controller_context import ControllerContext
from longshore.machinery.time.clock import RealClock
from longshore.plane.controllers import WORKERS
from longshore.store import Store
from longshore.up import startup

_RUNS = 3
_PAGE = f"/api/v1/namespaces/{NAMESPACE}/pods"


async def finished_jobs(sizes: list[int], jobs: int) -> Points:
    """Milliseconds for a one-pod Job."""
    points: list[tuple[float, float]] = []
    async with embedded() as client:
        done = 0
        for size in sizes:
            if size > done:
                await run_jobs(client, f"fill-{size}", size - done, 1)
                done = size
            costs = []
            for run in range(_RUNS):
                costs.append((await run_jobs(client, f"at-{size}-{run}", jobs, 1)).cpu)
                done += jobs
            points.append((size, 1e3 * min(costs)))
    return points


async def active_pods(sizes: list[int], ends: int) -> Points:
    """Milliseconds for the end of one pod, the write of its status included."""
    points: list[tuple[float, float]] = []
    for size in sizes:
        async with embedded() as client:
            many: Obj = {"completions": size, "parallelism": size, "completionMode": "Indexed"}
            spec = {**many, "template": {"spec": POD}}
            await client.create(JOBS, {"metadata": {"name": "wide"}, "spec": spec}, NAMESPACE)
            while (await _status(client)).get("active") != size:  # noqa: ASYNC110 - many turns of the loop
                await asyncio.sleep(0.05)
            names = [pod["metadata"]["name"] for pod in (await client.list(PODS, NAMESPACE)).items]
            costs = []
            for name in names[:ends]:
                before = (await _status(client)).get("succeeded", 0)
                worked = time.process_time()
                ended = {"status": {"phase": "Succeeded"}}
                await client.patch(PODS, name, ended, NAMESPACE, subresource="status")
                while (await _status(client)).get("succeeded", 0) == before:  # noqa: ASYNC110 - likewise
                    await asyncio.sleep(0)
                costs.append(time.process_time() - worked)
            points.append((size, 1e3 * sorted(costs)[len(costs) // 4]))
    return points


async def _status(client: Client) -> Obj:
    status: Obj = (await client.get(JOBS, "wide", NAMESPACE)).get("status") or {}
    return status


async def pages(sizes: list[int]) -> Points:
    """Milliseconds for the second page, as its bytes."""
    points: list[tuple[float, float]] = []
    async with embedded() as client:
        done = 0
        for size in sizes:
            await run_jobs(client, f"pages-{size}", 1, size - done)
            done = size
            points.append((size, await page(client)))
    return points


async def page(client: Client) -> float:
    """Milliseconds for the second page of 500 pods."""
    first = await client.request("GET", _PAGE, query={"limit": "500"})
    token = first.body.partition(b'"continue":"')[2].partition(b'"')[0].decode()
    costs = []
    for _ in range(5 * _RUNS):
        worked = time.process_time()
        second = await client.request("GET", _PAGE, query={"limit": "500", "continue": token})
        costs.append(time.process_time() - worked)
        assert second.code == 200, second.body[:300]
    return 1e3 * min(costs)


async def finished_pods(sizes: list[int]) -> Points:
    """Kilobytes for each pod more than at the size before."""
    points: list[tuple[float, float]] = []
    async with embedded() as client:
        done, before = 0, 0.0
        for size in sizes:
            await run_jobs(client, f"memory-{size}", 1, size - done)
            if done:
                points.append((size, 1e3 * (memory() - before) / (size - done)))
            done, before = size, memory()
    return points


async def restarts(sizes: list[int]) -> Points:
    """Seconds until everything is in memory and in the caches of the Job controller."""
    points: list[tuple[float, float]] = []
    for size in sizes:
        with tempfile.TemporaryDirectory() as directory:
            async with kept(Path(directory)) as client:
                await client.create(("v1", "Namespace"), {"metadata": {"name": NAMESPACE}})
                await run_jobs(client, "kept", 1, size)
            points.append((size, await restart(Path(directory))))
    return points


async def restart(directory: Path) -> float:
    """Seconds until everything in a directory is in memory and in the caches of the Job controller."""
    worked = time.process_time()
    async with kept(directory):
        return time.process_time() - worked


@asynccontextmanager
async def kept(directory: Path) -> AsyncIterator[Client]:
    """As `embedded`, in a directory that stays; begins when all is in the caches."""
    store = Store.open(directory)
    client = LocalClient(Api(ApiParts(store, RealClock(), random.Random())))
    context = ControllerContext(client, clock=RealClock(), rng=random.Random(0), workers=WORKERS["job"])
    controller = asyncio.create_task(job.run(context))
    try:
        await asyncio.sleep(0)
        await context.informers.synced()
        yield client
    finally:
        controller.cancel()
        await asyncio.gather(controller, return_exceptions=True)
        await store.close()


def _row(what: str, points: Points, unit: str, goal: str) -> None:
    each = ", ".join(f"{size:,.0f}: {value:.2f}" for size, value in points)
    ratio = points[-1][1] / points[0][1]
    print(f"{what:<34}{each:>60} {unit:<4}{ratio:>7.2f}  {goal}", flush=True)


async def main(quick: bool, full: bool) -> dict[str, Points]:
    """Prints each row, and returns its ratios to the smallest size."""
    with startup.quick_imports():
        pass  # the collector looks as seldom as in `longshore up`
    large = 400 if quick else 100_000 if full else 10_000
    jobs, ends = (20, 4) if quick else (500, 40)
    print(f"{'figure':<34}{'by size':>60} {'':<4}{'ratio':>7}  goal")
    lines: dict[str, Points] = {}

    def keep(what: str, points: Points, unit: str, goal: str) -> None:
        _row(what, points, unit, goal)
        least = points[0][1]
        lines[what] = [(size, value / least) for size, value in points]

    sizes = [100, 400] if quick else [100, 10_000, 100_000] if full else [100, 2000, 10_000]
    keep("a Job beside finished Jobs", await finished_jobs(sizes, jobs), "ms", "<= 1.2")
    active = [10, 100] if quick else [50, 500, 5000]
    keep("a pod's end beside active pods", await active_pods(active, ends), "ms", "<= 1.3")
    keep("a page of 500 pods", await pages([600, 1200] if quick else [2500, large]), "ms", "<= 1.3")
    room = [200, 300, 400] if quick else [large // 2, large * 3 // 4, large]
    keep("memory for a finished pod", await finished_pods(room), "kB", "<= 6 kB each")
    keep(
        "a restart", await restarts([100, 400] if quick else [large // 10, large]), "s", "<= 2 s for 100,000"
    )
    return lines


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small numbers: does it run at all?")
    parser.add_argument("--full", action="store_true", help="up to 100,000 objects")
    parser.add_argument("--picture", type=Path, help="writes the ratios as an SVG")
    parser.add_argument(
        "--restart", type=Path, metavar="DIRECTORY", help="only the seconds of one restart there"
    )
    given = parser.parse_args()
    if given.restart is not None:
        with startup.quick_imports():
            pass
        print(uvloop.run(restart(given.restart)))
        raise SystemExit
    ratios = uvloop.run(main(given.quick, given.full))
    if given.picture is not None:
        given.picture.write_text(chart("What grows", "objects", "cost against the smallest size", ratios))
