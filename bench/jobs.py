"""Jobs and pods a second, control plane only: `python bench/jobs.py`.

A stand-in for the node marks every pod Succeeded as soon as it sees it, so what is measured is the API, the
Job controller and the journal. Beside each figure stands what bare writes through the same API reach in the
same run: a one-pod Job takes several writes, so the ratio tells how much is spent on anything else. Over HTTP
it is the client of `lanes.py` that creates, watches and plays the node. `--quick` is a smoke test with small
numbers.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import re
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import uvloop
from lanes import Lanes

from longshore.api.types import Obj
from longshore.apiserver.api import Api, ApiParts
from longshore.client import Client
from longshore.client.http import HttpClient
from longshore.client.local import LocalClient
from longshore.controllers import job
from longshore.machinery.controller_context import ControllerContext
from longshore.machinery.time.clock import RealClock
from longshore.plane.controllers import WORKERS
from longshore.store import Store
from longshore.up import startup

JOBS, PODS, MAPS = ("batch/v1", "Job"), ("v1", "Pod"), ("v1", "ConfigMap")
NAMESPACE = "bench"
POD: Obj = {
    "restartPolicy": "Never",
    "containers": [{"name": "main", "image": "busybox", "command": ["true"]}],
}
AT_ONCE = 64


@dataclass(frozen=True, slots=True)
class Rate:
    """How many a second, how many writes each took, and how much CPU time of this process."""

    each_second: float
    writes: float
    cpu: float


@asynccontextmanager
async def embedded() -> AsyncIterator[Client]:
    """API, journal and Job controller in this process."""
    with tempfile.TemporaryDirectory() as directory:
        store = Store.open(Path(directory))
        client = LocalClient(Api(ApiParts(store, RealClock(), random.Random())))
        await client.create(("v1", "Namespace"), {"metadata": {"name": NAMESPACE}})
        context = ControllerContext(client, clock=RealClock(), rng=random.Random(0), workers=WORKERS["job"])
        controller = asyncio.create_task(job.run(context))
        try:
            yield client
        finally:
            controller.cancel()
            await asyncio.gather(controller, return_exceptions=True)
            await store.close()


@asynccontextmanager
async def over_http() -> AsyncIterator[tuple[Lanes, Client]]:
    """`longshore up` in a process of its own, reached over TLS."""
    with tempfile.TemporaryDirectory() as directory:
        words = ["-m", "longshore", "up", "--port", "0", "--data-dir", directory]
        words += ["--controllers", "job", "--no-node", "--no-scheduler"]
        up = await asyncio.create_subprocess_exec(sys.executable, *words, stdout=asyncio.subprocess.PIPE)
        assert up.stdout is not None
        ready = re.search(r"https://\S+:(\d+); .*KUBECONFIG=(\S+)", (await up.stdout.readline()).decode())
        assert ready is not None, "longshore did not start"
        token = (Path(directory) / "token").read_text().strip()
        lanes = Lanes(int(ready[1]), Path(directory) / "pki" / "ca.crt", token)
        try:
            async with HttpClient.from_kubeconfig(Path(ready[2])) as client:
                await client.create(("v1", "Namespace"), {"metadata": {"name": NAMESPACE}})
                await lanes.open(AT_ONCE)
                yield lanes, client
                lanes.close()
        finally:
            up.terminate()
            await up.wait()


async def play_node(client: Client | Lanes, watching: asyncio.Event) -> None:
    """Marks every new pod Succeeded as soon as it is seen. Those of earlier runs have ended."""
    running: set[asyncio.Future[object]] = set()
    done = {"status": {"phase": "Succeeded"}}
    async with client.watch(PODS, NAMESPACE, initial_events=True) as events:
        async for event in events:
            if event.type == "BOOKMARK":
                watching.set()
            elif event.type == "ADDED" and watching.is_set():
                name = event.object["metadata"]["name"]
                ends: Awaitable[object] = client.patch(PODS, name, done, NAMESPACE, subresource="status")
                task = asyncio.ensure_future(ends)
                running.add(task)
                task.add_done_callback(running.discard)


async def all_complete(client: Client | Lanes, names: set[str], watching: asyncio.Event) -> None:
    """Returns when every one of these Jobs is complete."""
    async with client.watch(JOBS, NAMESPACE, initial_events=True) as events:
        async for event in events:
            if event.type == "BOOKMARK":
                watching.set()
            elif "completionTime" in (event.object.get("status") or ()):
                names.discard(event.object["metadata"]["name"])
                if not names:
                    return


async def run_jobs(client: Client, prefix: str, jobs: int, completions: int, by: Lanes | None = None) -> Rate:
    """So many Jobs (or one Indexed one of so many pods), from the first create to the last end.

    All is done by `client`, or `by` one that costs less.
    """
    user = by or client
    names = {f"{prefix}-{n}" for n in range(jobs)}
    node_watches, end_watches = asyncio.Event(), asyncio.Event()
    node = asyncio.create_task(play_node(user, node_watches))
    ended = asyncio.create_task(all_complete(user, set(names), end_watches))
    await node_watches.wait()
    await end_watches.wait()
    before, began, worked = await revision(client), time.perf_counter(), time.process_time()
    waiting = iter(sorted(names))

    async def creator() -> None:
        for name in waiting:
            spec: Obj = {"template": {"spec": POD}}
            if completions > 1:
                many = {"completions": completions, "parallelism": min(500, completions)}
                spec = {"completionMode": "Indexed", **many, **spec}
            await user.create(JOBS, {"metadata": {"name": name}, "spec": spec}, NAMESPACE)

    await asyncio.gather(*(creator() for _ in range(min(AT_ONCE, jobs))))
    await ended
    took, work = time.perf_counter() - began, time.process_time() - worked
    node.cancel()
    await asyncio.gather(node, return_exceptions=True)
    count = jobs * completions
    return Rate(count / took, (await revision(client) - before) / count, work / count)


async def revision(client: Client) -> int:
    return int((await client.list(("v1", "Namespace"))).resource_version)


async def bare_writes(client: Client | Lanes, count: int) -> float:
    """Small writes a second through the same API: the limit of whatever is made of writes."""
    await client.create(MAPS, {"metadata": {"name": "bare"}}, NAMESPACE)
    numbers = iter(range(count))
    began = time.perf_counter()

    async def writer() -> None:
        for n in numbers:
            await client.patch(MAPS, "bare", {"data": {"n": str(n)}}, NAMESPACE)

    await asyncio.gather(*(writer() for _ in range(AT_ONCE)))
    return count / (time.perf_counter() - began)


def memory() -> float:
    """Megabytes this process holds."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 1e6


def line(what: str, rate: Rate, bare: float, goal: str) -> None:
    share = rate.each_second * rate.writes / bare
    figure = f"{rate.each_second:,.0f}/s, {rate.writes:.1f} writes each"
    print(f"{what:<46}{figure:>30}{f'{bare:,.0f} writes/s':>20}{share:>7.2f}  {goal}", flush=True)


async def main(quick: bool) -> None:
    jobs, pods, sizes = (50, 100, (50, 200)) if quick else (3000, 10_000, (1000, 10_000, 100_000))
    with startup.quick_imports():
        pass  # the collector looks as seldom as in `longshore up`
    print(f"{'figure':<46}{'longshore':>30}{'bare writes':>20}{'ratio':>7}  goal")
    async with embedded() as client:
        bare = await bare_writes(client, 10 * jobs)
        line("one-pod Jobs, in process", await run_jobs(client, "one", jobs, 1), bare, ">= 1,000/s")
    async with over_http() as (lanes, client):
        bare = await bare_writes(lanes, 5 * jobs)
        rate = await run_jobs(client, "one", jobs, 1, lanes)
        line("one-pod Jobs, over HTTP", rate, bare, ">= 700/s")
        rate = await run_jobs(client, "index", 1, pods, lanes)
        line(f"pods of one Indexed Job of {pods:,}, over HTTP", rate, bare, ">= 1,500/s")
    costs = []
    for size in sizes:
        async with embedded() as client:
            bare = await bare_writes(client, 2000)
            rate = await run_jobs(client, "index", 1, size)
        costs.append(rate.cpu)
        line(f"pods of one Indexed Job of {size:,}, in process", rate, bare, "")
    each = ", ".join(f"{1e6 * cost:,.0f} us" for cost in costs)
    print(f"{'CPU time for a pod, by number of indexes':<46}{each:>30}")
    print(f"{'cost of a pod, most against fewest indexes':<46}{costs[-1] / costs[0]:>30.2f}{'':>27}  <= 1.3")
    print(f"{'memory at the end':<46}{f'{memory():.0f} MB':>30}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small numbers: does it run at all?")
    uvloop.run(main(parser.parse_args().quick))
