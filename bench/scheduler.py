"""Pods bound a second, in process: `python bench/scheduler.py`.

Pods of one shape wait on a server with a journal; a node with room for all of them comes, and the time until
the last is bound counts. Beside it stand bare binding writes in the same run, issued by nobody who thinks:
the difference is what deciding, following and telling cost. CPU time says more on a machine with other work.
`--quick` is a smoke test with small numbers.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import uvloop

from longshore.api.types import Obj
from longshore.apiserver.api import Api, ApiParts
from longshore.client import Client
from longshore.client.local import LocalClient
from longshore.machinery.controller_context import ControllerContext
from longshore.machinery.time.clock import RealClock
from longshore.scheduler import Schedulers
from longshore.scheduler.fitting.pod_claims import Volumes
from longshore.scheduler.fitting.pod_shape import Shapes
from longshore.scheduler.ledger import Ledger
from longshore.scheduler.single.decide import decide
from longshore.scheduler.view import SchedulerView
from longshore.store import Store

PODS, NODES = ("v1", "Pod"), ("v1", "Node")
NAMESPACE = "bench"
AT_ONCE = 256
"""Bindings on their way at a time, as many as the scheduler decides in one turn."""


def pod(name: str, scheduler_name: str) -> Obj:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1m", "memory": "1Mi"}}}
    return {"metadata": {"name": name}, "spec": {"containers": [container], "schedulerName": scheduler_name}}


@asynccontextmanager
async def server() -> AsyncIterator[Client]:
    with tempfile.TemporaryDirectory() as directory:
        store = Store.open(Path(directory))
        client = LocalClient(Api(ApiParts(store, RealClock(), random.Random())))
        await client.create(("v1", "Namespace"), {"metadata": {"name": NAMESPACE}})
        try:
            yield client
        finally:
            await store.close()


async def add_node(client: Client) -> None:
    amounts = {"cpu": "64", "memory": "256Gi", "pods": "100000"}
    await client.create(NODES, {"metadata": {"name": "n"}})
    await client.patch(NODES, "n", {"spec": {"taints": None}})
    status = {"status": {"capacity": amounts, "allocatable": amounts}}
    await client.patch(NODES, "n", status, subresource="status")


class Meter:
    """Wall and CPU time of so many, from now on."""

    def __init__(self, count: int) -> None:
        self._count, self._wall, self._cpu = count, time.perf_counter(), time.process_time()

    def stop(self) -> tuple[float, float]:
        """How many a second, and microseconds of CPU for one."""
        cpu = (time.process_time() - self._cpu) / self._count * 1e6
        return self._count / (time.perf_counter() - self._wall), cpu


async def bare(client: Client, count: int) -> tuple[float, float]:
    """Bindings that nobody decides about."""
    names = iter([f"bare-{n}" for n in range(count)])

    async def bind() -> None:
        for name in names:
            target = {"kind": "Node", "name": "n"}
            binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}, "target": target}
            await client.create(PODS, binding, NAMESPACE, name=name, subresource="binding")

    await asyncio.gather(*(client.create(PODS, pod(f"bare-{n}", "nobody"), NAMESPACE) for n in range(count)))
    meter = Meter(count)
    await asyncio.gather(*(bind() for _ in range(AT_ONCE)))
    return meter.stop()


async def scheduled(client: Client, count: int) -> tuple[float, float]:
    """Pods from the node's arrival to the last binding."""
    await asyncio.gather(
        *(client.create(PODS, pod(f"pod-{n}", "default-scheduler"), NAMESPACE) for n in range(count))
    )
    schedulers = Schedulers(ControllerContext(client, clock=RealClock(), rng=random.Random(0)))
    working = asyncio.create_task(schedulers.run())
    await asyncio.sleep(1.0)
    try:
        async with client.watch(PODS, NAMESPACE, resource_version="0") as events:
            bound: set[str] = set()
            await add_node(client)
            meter = Meter(count)
            async for event in events:
                name = event.object["metadata"]["name"]
                if event.object["spec"].get("nodeName") and name.startswith("pod-"):
                    bound.add(name)
                    if len(bound) == count:
                        break
            return meter.stop()
    finally:
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)


def deciding(count: int) -> float:
    """Microseconds that one decision takes, pods of one shape on one node, with counting it in the ledger."""
    ledger, shapes = Ledger(), Shapes()
    amounts = {"cpu": "6400", "memory": "256Ti", "pods": "10000000"}
    ledger.put_node({"metadata": {"name": "n"}, "status": {"allocatable": amounts}})
    nothing = Volumes(lambda *_: None, lambda *_: None, lambda *_: None)
    view = SchedulerView(ledger, nothing, lambda _: {})
    objects = []
    for n in range(count):
        obj = pod(f"p{n}", "default-scheduler")
        obj["metadata"] |= {
            "uid": str(n),
            "namespace": NAMESPACE,
            "creationTimestamp": "2026-01-01T00:00:00Z",
        }
        objects.append(obj)
    start = time.process_time()
    for obj in objects:
        each = shapes.pod(obj)
        ledger.assume(each, decide(each, view).node)
    return (time.process_time() - start) / count * 1e6


async def measure(count: int) -> tuple[tuple[float, float], tuple[float, float]]:
    async with server() as client:
        found = await scheduled(client, count)
    async with server() as client:
        await add_node(client)
        return found, await bare(client, count)


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small numbers")
    count = 200 if parser.parse_args(words).quick else 5000
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        (rate, cpu), (plain, plain_cpu) = runner.run(measure(count))
    print(f"{'one decision':<18}{'':>17}{deciding(count):>8.1f} µs of CPU")
    print(f"{'bare bindings':<18}{plain:>8.0f} a second{plain_cpu:>8.1f} µs of CPU")
    ratios = f"({rate / plain:.0%} of bare, {cpu - plain_cpu:+.0f} µs)"
    print(f"{'pods scheduled':<18}{rate:>8.0f} a second{cpu:>8.1f} µs of CPU {ratios}")


if __name__ == "__main__":
    main()
