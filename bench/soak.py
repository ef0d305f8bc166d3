"""Memory over time under a steady load: `python bench/soak.py`.

A whole `longshore up` on a fresh data directory takes so many one-pod Jobs a second, runs each as a process
and deletes it some seconds after its end. Told are the memory of longshore and of its keeper, the objects
there are and the size of the data directory, every half minute. The run is good when memory at the end is
within 10 % of what it was after the first five minutes: by then every bounded store is full.

One Job in twenty fails, one in twenty is deleted while it runs, and one in twenty is watched and has its log
read: what is left behind by these counts, too. `--minutes` and `--rate` choose another load.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import re
import time
from pathlib import Path
from typing import Final

import uvloop
from run import JOBS, NAMESPACE, PODS, Running, a_job, longshore

from longshore.api import types
from longshore.api.errors import StatusError
from longshore.api.types import Obj
from longshore.client import DeleteOptions
from longshore.client.errors import TimedOut

SETTLED_MINUTES: Final = 5.0
MAX_GROWTH: Final = 0.10
SAMPLE_SECONDS: Final = 30.0
BACKLOG_SECONDS: Final = 15.0
"""Seconds of the load that may be there: Jobs go five seconds after their end."""
_KINDS: Final = ("batch/jobs", "pods", "events")


def one_job(number: int) -> Obj:
    """The Job of this number: most end well at once."""
    command = ("/bin/true",)
    if number % 20 == 1:
        command = ("/bin/false",)
    elif number % 20 == 2:
        command = ("/bin/sleep", "30")
    elif number % 20 == 3:
        command = ("/bin/echo", "hello")
    job = a_job(f"soak-{number}", 1, 1, *command)
    job["spec"] |= {"ttlSecondsAfterFinished": 5, "backoffLimit": 0}
    return job


async def follow(running: Running, number: int) -> None:
    """Creates one Job, and does to it what its number says."""
    client, name = running.client, f"soak-{number}"
    with contextlib.suppress(TimedOut):  # a busy machine does not take every connection in time
        await client.create(JOBS, one_job(number), NAMESPACE)
    await asyncio.sleep(1.0)
    with contextlib.suppress(StatusError, TimedOut):  # a slow machine deletes it before we look
        if number % 20 == 2:
            await client.delete(JOBS, name, NAMESPACE, DeleteOptions(propagation="Background"))
        elif number % 20 == 3:
            for pod in (await client.list(PODS, NAMESPACE, labels=f"job-name={name}")).items:
                path = f"/api/v1/namespaces/{NAMESPACE}/pods/{pod['metadata']['name']}/log"
                await client.request("GET", path)


async def unfinished(running: Running) -> float:
    """The number of Jobs there are, but for one; without end where a busy machine does not answer in time."""
    path = f"/apis/batch/v1/namespaces/{NAMESPACE}/jobs?limit=1"
    try:
        answer = types.decode((await running.client.request("GET", path)).body)
    except TimedOut:
        return float("inf")
    return int(answer["metadata"].get("remainingItemCount", 0))


async def load(running: Running, rate: float, until: float) -> int:
    """Starts Jobs at this rate, and returns their number. A machine that cannot keep up gets fewer: a backlog
    takes memory, too."""
    number, tasks, due = 0, set[asyncio.Task[None]](), time.monotonic()
    while time.monotonic() < until:
        if number % round(rate) == 0:
            while await unfinished(running) > BACKLOG_SECONDS * rate:  # noqa: ASYNC110 - not asked often
                await asyncio.sleep(0.2)
        task = asyncio.create_task(follow(running, number))
        tasks.add(task)
        task.add_done_callback(tasks.discard)
        number += 1
        due += 1 / rate
        await asyncio.sleep(max(0.0, due - time.monotonic()))
    await asyncio.gather(*tasks)
    return number


async def sample(running: Running, directory: Path, began: float) -> float:
    """Prints one line; returns the memory in megabytes."""
    text = (await running.client.request("GET", "/metrics")).body.decode()
    counts = {}
    for kind in _KINDS:
        found = re.search(rf'^apiserver_storage_objects{{resource="{kind}"}} (\S+)', text, re.MULTILINE)
        counts[kind.rpartition("/")[2]] = int(float(found[1])) if found else 0
    mine, keepers = running.memories()
    objects = ", ".join(f"{count} {kind}" for kind, count in counts.items())
    minutes = (time.monotonic() - began) / 60
    disk = size_of(directory) / 2**20
    memory = f"{mine:7.1f} MB {keepers:6.1f} MB keeper"
    print(f"{minutes:5.1f} min  {memory}  {disk:6.1f} MB disk  {objects}", flush=True)
    return mine + keepers


def size_of(directory: Path) -> int:
    total = 0
    for folder, _, names in os.walk(directory):
        for name in names:
            with contextlib.suppress(OSError):  # it has just gone
                total += os.lstat(os.path.join(folder, name)).st_blocks * 512
    return total


async def main(minutes: float, rate: float) -> int:
    settled = min(SETTLED_MINUTES, minutes / 2)
    async with longshore() as running:
        began = time.monotonic()
        until = began + 60 * minutes
        loading = asyncio.create_task(load(running, rate, until))
        before = 0.0
        while time.monotonic() < until:
            await asyncio.sleep(min(SAMPLE_SECONDS, max(0.1, until - time.monotonic())))
            now = await sample(running, running.directory, began)
            if not before and time.monotonic() - began >= 60 * settled:
                before = now
        jobs = await loading
        after = await sample(running, running.directory, began)
    growth = after / before - 1
    print(f"{jobs:,} Jobs in {minutes:g} min, {jobs / minutes / 60:.1f}/s")
    figures = f"{before:.1f} MB after {settled:g} min, {after:.1f} MB at the end"
    print(f"memory: {figures}: {growth:+.1%} (goal: at most +10 %)")
    return int(growth > MAX_GROWTH)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--rate", type=float, default=20.0, help="Jobs a second")
    arguments = parser.parse_args()
    raise SystemExit(uvloop.run(main(arguments.minutes, arguments.rate)))
