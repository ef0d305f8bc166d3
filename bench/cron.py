"""10,000 CronJobs in a real `longshore up`: start-up, memory, idle CPU, 1,000 runs due in the same second.

    python bench/cron.py              the cronjob controller alone, then with all controllers
    python bench/cron.py --quick      a smoke test with small numbers

Lateness is from the scheduled time to the moment at which a watch over HTTP shows the Job; a tenth of a
second of it is Kubernetes' own (every wake-up comes that much later, against clocks that are behind).
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from longshore.api.types import Obj
from longshore.client.http import HttpClient

CRONJOBS, JOBS = ("batch/v1", "CronJob"), ("batch/v1", "Job")
NAMESPACE = "bench"
POD: Obj = {
    "restartPolicy": "Never",
    "containers": [{"name": "main", "image": "busybox", "command": ["true"]}],
}
TEMPLATE: Obj = {"spec": {"template": {"spec": POD}}}
AT_ONCE = 50
_COUNT = re.compile(rb'^workqueue_work_duration_seconds_count\{name="cronjob"\} ([0-9.e+]+)', re.MULTILINE)


@dataclass(frozen=True)
class Numbers:
    cronjobs: int
    due: int
    idle: float
    """Seconds of watching it do nothing."""
    ahead: float
    """Seconds from asking for the runs to their time."""
    controllers: tuple[str, ...]


ALL = "cronjob,garbage,job,namespace,serviceaccount,ttl"
FULL = Numbers(10_000, 1_000, 20.0, 15.0, ("cronjob", ALL))
QUICK = Numbers(100, 20, 0.5, 3.0, (ALL,))


@dataclass(frozen=True)
class Longshore:
    pid: int
    began: float
    ready: float
    """Seconds from the command to the ready line."""
    kubeconfig: Path

    def memory(self) -> float:
        """Resident megabytes."""
        text = Path(f"/proc/{self.pid}/status").read_text()
        return int(text.partition("VmRSS:")[2].split()[0]) / 1024

    def cpu(self) -> float:
        """Seconds of processor time used so far."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def longshore(data: Path, controllers: str) -> Iterator[Longshore]:
    command = [sys.executable, "-m", "longshore", "up", "--data-dir", str(data), "--port", "0"]
    began = time.perf_counter()
    process = subprocess.Popen([*command, "--controllers", controllers], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        if "is ready at" not in process.stdout.readline():
            raise SystemExit("longshore did not start")
        yield Longshore(process.pid, began, time.perf_counter() - began, data / "kubeconfig")
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)
        process.stdout.close()


async def at_once(work: Callable[[int], Awaitable[object]], count: int) -> None:
    """`work` for every number below `count`, some of them side by side."""
    numbers = iter(range(count))

    async def one() -> None:
        for number in numbers:
            await work(number)

    await asyncio.gather(*(one() for _ in range(AT_ONCE)))


async def fill(client: HttpClient, count: int) -> None:
    await client.create(("v1", "Namespace"), {"metadata": {"name": NAMESPACE}})

    def body(number: int) -> Obj:
        spec = {"schedule": f"{number % 60} 0 1 1 *", "timeZone": "Etc/UTC", "jobTemplate": TEMPLATE}
        return {"metadata": {"name": f"c{number}"}, "spec": spec}

    await at_once(lambda number: client.create(CRONJOBS, body(number), NAMESPACE), count)


async def looked_at(client: HttpClient, count: int) -> None:
    """Waits until the controller has looked at so many CronJobs since it started."""
    while True:
        text = (await client.request("GET", "/metrics")).body
        found = _COUNT.search(text)
        if found is not None and float(found[1]) >= count:
            return
        await asyncio.sleep(0.05)


async def fire(client: HttpClient, numbers: Numbers) -> list[float]:
    """Makes many CronJobs due in the same second; how many seconds late each of their Jobs was seen."""
    day = 24 * 3600
    due = int(time.time() + numbers.ahead)
    last = datetime.fromtimestamp(due - day, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

    async def prepare(number: int) -> None:
        name = f"c{number}"
        status = {"status": {"lastScheduleTime": last}}
        await client.patch(CRONJOBS, name, {"spec": {"suspend": True}}, NAMESPACE)
        await client.patch(CRONJOBS, name, status, NAMESPACE, subresource="status")
        patch = {"spec": {"suspend": False, "schedule": "@every 24h"}}
        await client.patch(CRONJOBS, name, patch, NAMESPACE)

    late: list[float] = []
    async with client.watch(JOBS, NAMESPACE, initial_events=True) as events:
        await at_once(prepare, numbers.due)
        if time.time() > due - 1:
            raise SystemExit("this machine is too slow to prepare the runs in time")
        async for event in events:
            if event.type == "ADDED":
                late.append(time.time() - due)
                if len(late) == numbers.due:
                    break
    return late


async def measured(data: Path, numbers: Numbers, controllers: str) -> None:
    with longshore(data, controllers) as server:
        async with HttpClient.from_kubeconfig(server.kubeconfig) as client:
            await looked_at(client, numbers.cronjobs)
            everything = time.perf_counter() - server.began
            print(f"  start-up: ready after {server.ready:.2f} s, all looked at after {everything:.2f} s")
            print(f"  memory: {server.memory():.0f} MB")
            await asyncio.sleep(1)
            before = server.cpu()
            await asyncio.sleep(numbers.idle)
            print(f"  idle: {(server.cpu() - before) / numbers.idle:.2%} of a core over {numbers.idle:g} s")
            late = sorted(await fire(client, numbers))
            rate = len(late) / max(late[-1] - late[0], 0.001)
            p50, p99 = late[len(late) // 2], late[int(len(late) * 0.99) - 1]
            print(
                f"  {len(late)} due in one second: {rate:.0f} runs/s; late by p50 {p50:.3f} s, "
                f"p99 {p99:.3f} s, at most {late[-1]:.3f} s; then {server.memory():.0f} MB"
            )


async def main(numbers: Numbers) -> None:
    for controllers in numbers.controllers:
        with tempfile.TemporaryDirectory() as directory:
            data = Path(directory)
            with longshore(data, "none") as server:
                empty = server.memory()
                async with HttpClient.from_kubeconfig(server.kubeconfig) as client:
                    begun = time.perf_counter()
                    await fill(client, numbers.cronjobs)
                    rate = numbers.cronjobs / (time.perf_counter() - begun)
            print(f"{numbers.cronjobs} CronJobs, controllers {controllers}:")
            print(f"  created over HTTP: {rate:.0f}/s; an empty longshore has {empty:.0f} MB")
            await measured(data, numbers, controllers)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="small numbers: does it work at all?")
    asyncio.run(main(QUICK if parser.parse_args().quick else FULL))
