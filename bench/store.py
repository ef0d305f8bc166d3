"""What the store costs, beside a bare SQLite transaction in the same run: `python bench/store.py`.

One lone write; many at once; the same with 1,000 and with 100,000 objects; 100 watchers.
"""

from __future__ import annotations

import asyncio
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import uvloop

from longshore.api.types import Obj, encode
from longshore.store import Durability, Key, Staged, Store, Watch


def pod(number: int) -> Obj:
    """About 2 KB of JSON."""
    env = [{"name": f"VARIABLE_{i}", "value": "some value"} for i in range(20)]
    container = {"name": "main", "image": "busybox", "command": ["sh", "-c", "x" * 900], "env": env}
    return {
        "metadata": {"name": f"pod-{number}", "namespace": "default", "labels": {"n": str(number)}},
        "spec": {"containers": [container], "restartPolicy": "Never"},
        "status": {"phase": "Pending"},
    }


def key(number: int) -> Key:
    return Key("pods", "default", f"pod-{number}")


@contextmanager
def scratch() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as directory:
        yield Path(directory)


def bare(durability: Durability, writes: int) -> float:
    """Microseconds of one SQLite transaction with one row."""
    raw, spent = encode(pod(0)), []
    with scratch() as directory:
        db = sqlite3.connect(directory / "bare.db", isolation_level=None)
        db.execute("PRAGMA journal_mode = WAL")
        db.execute(f"PRAGMA synchronous = {'FULL' if durability == 'full' else 'NORMAL'}")
        db.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, value BLOB)")
        for number in range(writes):
            start = time.perf_counter()
            db.execute("BEGIN")
            db.execute("INSERT INTO t VALUES (?, ?)", (number, raw))
            db.execute("COMMIT")
            spent.append(time.perf_counter() - start)
        db.close()
    return statistics.median(spent) * 1e6


async def lone(store: Store, writes: int) -> float:
    """Microseconds from staging one write to its acknowledgement, one after the other."""
    spent = []
    for number in range(writes):
        obj = pod(number)
        start = time.perf_counter()
        await store.stage(key(number), obj).done()
        spent.append(time.perf_counter() - start)
    return statistics.median(spent) * 1e6


async def many(store: Store, writes: int) -> float:
    """Writes a second, four times 500 of them on their way at any moment."""
    spent = 0.0
    on_their_way: list[Staged] = []
    for first in range(0, writes, 500):
        objs = [pod(number) for number in range(first, first + 500)]
        start = time.perf_counter()
        for number, obj in enumerate(objs, first):
            staged = store.stage(key(number), obj)
        on_their_way.append(staged)
        if len(on_their_way) == 4:
            await on_their_way.pop(0).done()
        await asyncio.sleep(0)
        spent += time.perf_counter() - start
    start = time.perf_counter()
    await staged.done()
    return writes / (spent + time.perf_counter() - start)


async def fan_out(store: Store, watchers: int, events: int) -> float:
    """Processor seconds for every watcher to get every event, ten to a commit."""

    async def read(watch: Watch) -> None:
        seen = 0
        while seen < events:
            seen += len(await anext(watch))
        watch.close()

    readers = [asyncio.create_task(read(store.watch("pods"))) for _ in range(watchers)]
    start = time.process_time()
    for first in range(0, events, 10):
        for number in range(first, first + 10):
            staged = store.stage(key(number), pod(number))
        await staged.done()
    await asyncio.gather(*readers)
    return time.process_time() - start


async def main() -> None:
    levels: tuple[tuple[Durability, int], ...] = (("normal", 3000), ("full", 500))
    for durability, writes in levels:
        with scratch() as directory:
            store = Store.open(directory, durability=durability)
            took, limit = await lone(store, writes), bare(durability, writes)
            rate = await many(store, 40_000)
            print(
                f"{durability:8}{took:6.0f} us a lone write (bare SQLite {limit:.0f} us), {rate:.0f} writes/s"
            )
            await store.close()
    with scratch() as directory:
        store = Store.open(directory)
        cost = []
        for objects in (1_000, 100_000):
            for number in range(store.counts().get("pods", 0), objects):
                staged = store.stage(key(number), pod(number))
                if number % 1000 == 999:
                    await staged.done()
            cost.append(min([await lone(store, 1000) for _ in range(5)]))
        print(f"{cost[1] / cost[0]:14.2f} times the cost of a write, from 1,000 to 100,000 objects")
        await store.close()
    store = Store.open(None)
    await fan_out(store, 0, 5000)  # makes the objects; then both measure updates
    alone, watched = await fan_out(store, 0, 5000), await fan_out(store, 100, 5000)
    print(f"{(watched - alone) / 5:14.3f} processor seconds a second for 100 watchers of 1,000 events/s")
    await store.close()


if __name__ == "__main__":
    uvloop.run(main())
