"""Every write of a pod's life, named and counted: `python bench/writes.py`.

A whole `longshore up` runs /bin/true as the pods of one Indexed Job, then as Jobs of one pod each. Watches of
Jobs, pods and events see each write; it is named by the fields it changed, most frequent first. What else was
written meanwhile (leases, queues) is counted together.
"""

from __future__ import annotations

import argparse
import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import NamedTuple

import uvloop
from run import AT_ONCE, JOBS, LIMIT, NAMESPACE, PODS, a_job, line, longshore

from longshore.api.types import Obj
from longshore.client import Client

EVENTS = ("v1", "Event")
_UNTOLD = ("resourceVersion", "managedFields")
_DEPTH = 2
"""How deep a name goes: `status.conditions`."""


class Seen:
    """The writes that watches have seen since `begin`."""

    def __init__(self) -> None:
        self.names: Counter[str] = Counter()
        self._last: dict[str, Obj] = {}

    def begin(self) -> None:
        self.names.clear()

    def add(self, kind: str, type_: str, obj: Obj) -> None:
        uid = obj["metadata"]["uid"]
        before = self._last.get(uid)
        self._last[uid] = obj
        if kind == "Event":
            self.names[f"Event {obj['reason']}{' again' if before else ''}"] += 1
        elif type_ == "DELETED":
            self.names[f"{kind} deleted"] += 1
        elif before is None:
            bound = kind == "Pod" and obj["spec"].get("nodeName")
            self.names[f"{kind} created{', with its node' if bound else ''}"] += 1
        else:
            self.names[f"{kind}: {', '.join(changed(before, obj))}"] += 1


def changed(before: Obj, after: Obj, depth: int = 1) -> list[str]:
    """The names of the fields that differ."""
    names = []
    for name in sorted(before.keys() | after.keys()):
        old, new = before.get(name), after.get(name)
        if old == new or name in _UNTOLD:
            continue
        if depth < _DEPTH and isinstance(old, dict) and isinstance(new, dict):
            names += [f"{name}.{inner}" for inner in changed(old, new, depth + 1)]
        else:
            names.append(name)
    return names


async def follow(client: Client, kind: tuple[str, str], seen: Seen, synced: asyncio.Event) -> None:
    async with client.watch(kind, NAMESPACE, initial_events=True) as events:
        async for event in events:
            if event.type == "BOOKMARK":
                synced.set()
            else:
                seen.add(kind[1], event.type, event.object)


async def revision(client: Client) -> int:
    return int((await client.list(("v1", "Namespace"))).resource_version)


class Counts(NamedTuple):
    """For one pod: writes but events, events, and writes of kinds that nobody follows."""

    writes: float
    events: float
    others: float


async def counted(client: Client, seen: Seen, jobs: int, pods: int) -> Counts:
    """Runs so many Jobs of so many pods each, and counts what was written."""
    seen.begin()
    began = await revision(client)
    for number in range(jobs):
        await client.create(JOBS, a_job(f"w{jobs}-{number}", pods, AT_ONCE, "/bin/true"), NAMESPACE)
    async with asyncio.timeout(LIMIT):
        while sum("completionTime" in name for name in seen.names.elements()) < jobs:  # noqa: ASYNC110
            await asyncio.sleep(0.2)
    await asyncio.sleep(1)  # for the last events
    count = jobs * pods
    events = sum(many for name, many in seen.names.items() if name.startswith("Event"))
    others = await revision(client) - began - seen.names.total()
    return Counts((seen.names.total() - events) / count, events / count, others / count)


async def told(client: Client, seen: Seen, jobs: int, pods: int) -> None:
    """Runs so many Jobs of so many pods each, and prints what was written for one pod."""
    counts, count = await counted(client, seen, jobs, pods), jobs * pods
    what, goals = f"{jobs:,} Jobs of one pod", ("", "")
    if jobs == 1:
        what, goals = f"{pods:,} pods of one Indexed Job", ("<= 3", "<= 1")
    line(f"{what}: writes for a pod", f"{counts.writes:.2f}", goals[0])
    line("  events for a pod", f"{counts.events:.2f}", goals[1])
    for name, many in seen.names.most_common():
        if many >= count / 100:
            print(f"  {many / count:5.2f}  {name}")
    print(f"  {counts.others:5.2f}  of other kinds", flush=True)


@asynccontextmanager
async def following() -> AsyncIterator[tuple[Client, Seen]]:
    """A longshore whose Jobs, pods and events are watched."""
    seen = Seen()
    async with longshore() as running:
        synced = [asyncio.Event() for _ in range(3)]
        tasks = [
            asyncio.create_task(follow(running.client, kind, seen, ready))
            for kind, ready in zip((JOBS, PODS, EVENTS), synced, strict=True)
        ]
        try:
            for each in synced:
                await each.wait()
            yield running.client, seen
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


async def main(quick: bool) -> None:
    async with following() as (client, seen):
        await told(client, seen, 1, 20 if quick else 1000)
        await told(client, seen, 10 if quick else 300, 1)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small numbers: does it run at all?")
    uvloop.run(main(parser.parse_args().quick))
