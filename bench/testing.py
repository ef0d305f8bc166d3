"""How long does a cluster for tests take? `python bench/testing.py [fixtures]`

Prints real and CPU milliseconds: CPU time is what a busy machine leaves comparable. The goals: the first
cluster of a process ready in 400 ms, later ones in 50, closed in 20, and nothing left of a thousand.
"""

from __future__ import annotations

import gc
import importlib.util
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

JOB = {"restartPolicy": "Never", "containers": [{"name": "main", "image": "busybox"}]}
HOURLY = {
    "apiVersion": "batch/v1",
    "kind": "CronJob",
    "metadata": {"name": "hourly"},
    "spec": {"schedule": "0 * * * *", "jobTemplate": {"spec": {"template": {"spec": JOB}}}},
}
MONTH_JOBS = 30 * 24
MANY = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"name": "many"},
    "spec": {"completions": 1000, "parallelism": 1000, "template": {"spec": JOB}},
}


def measured(what: str, work: Callable[[], object]) -> float:
    """Prints how long it took; the milliseconds of CPU."""
    real, cpu = time.perf_counter(), time.process_time()
    work()
    spent = time.perf_counter() - real, time.process_time() - cpu
    print(f"{what:<44}{spent[0] * 1000:9.1f} ms{spent[1] * 1000:9.1f} ms CPU", flush=True)
    return spent[1] * 1000


def left() -> tuple[int, int, int, int]:
    """Threads, open files, objects of Python, resident kilobytes."""
    gc.collect()
    resident = int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") // 1024
    return threading.active_count(), len(os.listdir("/proc/self/fd")), len(gc.get_objects()), resident


def unused_plugin() -> None:
    program = (
        "import pytest, time\nbegan = time.perf_counter()\nimport longshore.pytest_plugin\n"
        "print((time.perf_counter() - began) * 1000)"
    )
    words = [sys.executable, "-c", program]
    found = [float(subprocess.check_output(words)) for _ in range(5)]
    print(f"{'importing the plugin, unused':<44}{median(found):9.1f} ms", flush=True)


def kmock() -> None:
    """The start of kmock beside ours, where it is installed."""
    if importlib.util.find_spec("kmock") is None:
        print("kmock is not installed: pip install kmock, and it is measured too", flush=True)
        return
    import asyncio

    import kmock

    async def start() -> None:
        async with kmock.RawHandler() as handler, kmock.Server(handler):
            pass

    for what in ("kmock: first server, started and closed", "kmock: a later one"):
        measured(what, lambda: asyncio.run(start()))


def main(fixtures: int) -> None:
    unused_plugin()
    began, cpu = time.perf_counter(), time.process_time()
    from longshore.testing import Cluster

    spent = (time.perf_counter() - began) * 1000, (time.process_time() - cpu) * 1000
    print(f"{'importing longshore.testing':<44}{spent[0]:9.1f} ms{spent[1]:9.1f} ms CPU", flush=True)
    first = Cluster()
    measured("the first cluster is ready", first.start)
    measured("it is closed", first.close)
    ready, closed = [], []
    half = (0, 0, 0, 0)
    for number in range(fixtures):
        cluster = Cluster()
        start = time.perf_counter(), time.process_time()
        cluster.start()
        middle = time.perf_counter(), time.process_time()
        cluster.close()
        end = time.perf_counter(), time.process_time()
        ready.append((middle[0] - start[0], middle[1] - start[1]))
        closed.append((end[0] - middle[0], end[1] - middle[1]))
        if number == fixtures // 2:
            half = left()
    for what, times in (("a later one is ready (median)", ready), ("it is closed (median)", closed)):
        real, used = (median(each[at] for each in times) * 1000 for at in (0, 1))
        print(f"{what:<44}{real:9.1f} ms{used:9.1f} ms CPU", flush=True)
    marks = f"after {fixtures // 2} and after {fixtures}"
    print(f"threads, files, objects, KB {marks}: {half} and {left()}", flush=True)
    with Cluster() as c:
        c.apply(HOURLY)
        before = c.inside.store.revision
        used = measured("a month of an hourly CronJob", lambda: c.clock.advance("30d")) / MONTH_JOBS
        writes = (c.inside.store.revision - before) / MONTH_JOBS
        print(f"of which one Job: {writes:.1f} writes, {used:.2f} ms CPU", flush=True)
    with Cluster() as c:
        measured(
            "a Job of 1,000 pods on script", lambda: (c.apply(MANY), c.wait("job/many", "Complete", "1h"))
        )
    kmock()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
