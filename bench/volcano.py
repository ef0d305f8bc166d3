"""Volcano Jobs and gangs a second, control plane only: `python bench/volcano.py`.

API, journal, admission, the Volcano controllers and the gang scheduler run in this process. A stand-in for
the nodes marks every pod Succeeded as soon as it is bound. Beside each figure stands what bare writes through
the same API reach in the same run; the CPU time for one Job says more than the rate on a machine with other
work. `--quick` is a smoke test with small numbers.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import uvloop

from longshore.api.types import Obj
from longshore.client import Client
from longshore.up import startup
from longshore.up.options import Options
from longshore.up.running import running

MAPS = ("v1", "ConfigMap")
JOBS, PODS = ("batch.volcano.sh/v1alpha1", "Job"), ("v1", "Pod")
QUEUES, NODES = ("scheduling.volcano.sh/v1beta1", "Queue"), ("v1", "Node")
NAMESPACE = "default"
CONTROLLERS = ("volcano-job", "volcano-podgroup", "volcano-queue")
AT_ONCE = 64
ROOM: Obj = {"cpu": "1000", "memory": "1000Gi", "pods": "10000"}
POD: Obj = {
    "restartPolicy": "Never",
    "containers": [
        {
            "name": "main",
            "image": "busybox",
            "command": ["true"],
            "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}},
        }
    ],
}


@dataclass(frozen=True, slots=True)
class Rate:
    """How many Jobs a second, how many writes each took, and how many milliseconds of CPU time."""

    each_second: float
    writes: float
    cpu: float


@asynccontextmanager
async def control_plane(nodes: int) -> AsyncIterator[Client]:
    """A longshore with so many nodes that nobody serves but the stand-in."""
    with tempfile.TemporaryDirectory() as directory:
        options = Options(data_dir=Path(directory), port=0, controllers=CONTROLLERS, node=False)
        async with running(options) as longshore:
            for number in range(nodes):
                await _node(longshore.client, f"node-{number}")
            await _default_queue_open(longshore.client)
            yield longshore.client


async def _default_queue_open(client: Client) -> None:
    async with client.watch(QUEUES, fields="metadata.name=default", initial_events=True) as events:
        async for event in events:
            if (event.object.get("status") or {}).get("state") == "Open":
                return


async def _node(client: Client, name: str) -> None:
    await client.create(NODES, {"metadata": {"name": name}})
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "ready"}
    status = {"capacity": ROOM, "allocatable": ROOM, "conditions": [ready]}
    await client.patch(NODES, name, {"status": status}, subresource="status")
    await client.patch(NODES, name, {"spec": {"taints": None}})


async def play_nodes(client: Client, watching: asyncio.Event) -> None:
    """Marks every pod Succeeded as soon as it is seen on a node."""
    running_now: set[asyncio.Task[Obj]] = set()
    done = {"status": {"phase": "Succeeded"}}
    async with client.watch(PODS, NAMESPACE, initial_events=True) as events:
        async for event in events:
            if event.type == "BOOKMARK":
                watching.set()
                continue
            pod = event.object
            phase = (pod.get("status") or {}).get("phase")
            if event.type != "DELETED" and pod["spec"].get("nodeName") and phase == "Pending":
                ends = client.patch(PODS, pod["metadata"]["name"], done, NAMESPACE, subresource="status")
                task = asyncio.ensure_future(ends)
                running_now.add(task)
                task.add_done_callback(running_now.discard)


async def all_completed(client: Client, names: set[str], watching: asyncio.Event) -> None:
    """Returns when every one of these Jobs is Completed."""
    async with client.watch(JOBS, NAMESPACE, initial_events=True) as events:
        async for event in events:
            if event.type == "BOOKMARK":
                watching.set()
            elif ((event.object.get("status") or {}).get("state") or {}).get("phase") == "Completed":
                names.discard(event.object["metadata"]["name"])
                if not names:
                    return


async def run_jobs(client: Client, prefix: str, jobs: int, size: int) -> Rate:
    """So many Jobs of so many pods that must start together, from the first create to the last end."""
    names = {f"{prefix}-{n}" for n in range(jobs)}
    nodes_watch, ends_watch = asyncio.Event(), asyncio.Event()
    nodes = asyncio.create_task(play_nodes(client, nodes_watch))
    ended = asyncio.create_task(all_completed(client, set(names), ends_watch))
    await nodes_watch.wait()
    await ends_watch.wait()
    before, began, spent = await revision(client), time.perf_counter(), time.process_time()
    waiting = iter(sorted(names))

    async def creator() -> None:
        for name in waiting:
            task = {"name": "w", "replicas": size, "template": {"spec": POD}}
            body = {"metadata": {"name": name}, "spec": {"minAvailable": size, "tasks": [task]}}
            await client.create(JOBS, body, NAMESPACE)

    await asyncio.gather(*(creator() for _ in range(min(AT_ONCE, jobs))))
    await ended
    took, cpu = time.perf_counter() - began, time.process_time() - spent
    nodes.cancel()
    await asyncio.gather(nodes, return_exceptions=True)
    return Rate(jobs / took, (await revision(client) - before) / jobs, cpu / jobs * 1e3)


async def revision(client: Client) -> int:
    return int((await client.list(("v1", "Namespace"))).resource_version)


async def bare_writes(client: Client, count: int) -> float:
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
    figure = f"{rate.each_second:,.0f}/s, {rate.writes:.0f} writes, {rate.cpu:.1f} ms each"
    print(f"{what:<34}{figure:>42}{f'{bare:,.0f} writes/s':>20}{share:>7.2f}  {goal}", flush=True)


async def main(quick: bool) -> None:
    with startup.quick_imports():
        pass  # as a server does that is started as a command
    jobs, gangs, size = (20, 3, 5) if quick else (2000, 100, 50)
    print(f"{'figure':<34}{'longshore':>42}{'bare writes':>20}{'ratio':>7}  goal")
    async with control_plane(nodes=10) as client:
        bare = await bare_writes(client, 10 * jobs)
        line("one-pod Volcano Jobs", await run_jobs(client, "one", jobs, 1), bare, ">= 300/s")
    async with control_plane(nodes=10) as client:
        bare = await bare_writes(client, 2000)
        rate = await run_jobs(client, "gang", gangs, size)
        line(f"{gangs} gangs of {size}", rate, bare, "")
        print(f"{'pods of these gangs':<34}{f'{rate.each_second * size:,.0f}/s':>42}")
    print(f"{'memory at the end':<34}{f'{memory():.0f} MB':>42}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small numbers: does it run at all?")
    uvloop.run(main(parser.parse_args().quick))
