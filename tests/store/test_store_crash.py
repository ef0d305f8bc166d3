"""`kill -9` at random moments under load: what was acknowledged is there, the rest is whole or absent.

LONGSHORE_CRASH_ROUNDS sets how often in all (10 unless told).
"""

from __future__ import annotations

import asyncio
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import TypeAlias

import pytest

from longshore.store import Key, Limits, Store
from store.crash_writer import made
from store.store_support import opened

ROUNDS = int(os.environ.get("LONGSHORE_CRASH_ROUNDS", "10"))
STORAGES = ("pods", "batch/jobs")
Writes: TypeAlias = dict[int, tuple[Key, int | None]]
"""What each revision did: the number written, None for a deletion."""
WRITER = Path(__file__).with_name("crash_writer.py")


def write_until_killed(directory: Path, durability: str, window: int, seed: int) -> Writes:
    """The writes that were acknowledged before the end."""
    command = [sys.executable, str(WRITER), str(directory), durability, str(window), str(seed)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"ready\n"
        # Read while it runs, so that a full pipe never holds it up: the kill comes from the side.
        waiting = random.Random(seed).uniform(0.0, 0.25)
        with subprocess.Popen(["sh", "-c", f"sleep {waiting}; kill -9 {child.pid}"]):
            lines = child.stdout.read().splitlines(keepends=True)
    acknowledged: Writes = {}
    for line in lines:
        if line.endswith(b"\n"):
            revision, storage, name, said = line.decode().split()
            acknowledged[int(revision)] = Key(storage, "default", name), None if said == "-" else int(said)
    return acknowledged


async def history(store: Store, since: int) -> Writes:
    told: Writes = {}
    watches = [store.watch(storage, None, since) for storage in STORAGES]
    for storage, watch in zip(STORAGES, watches, strict=True):
        await store.stage(Key(storage, "", "end"), made("end", 1)).done()  # so that there is an event
        events = await anext(watch)
        watch.close()
        for event in events[:-1]:
            number = event.entry.obj["spec"]["number"]
            expected = made(event.key.name, number)
            expected["metadata"]["resourceVersion"] = str(event.revision)
            assert event.entry.obj == expected, "half an object"
            told[event.revision] = event.key, None if event.type == "DELETED" else number
    return told


@pytest.mark.parametrize(
    ("durability", "window"),
    [("normal", 50_000), ("normal", 1000), ("full", 50_000)],
    ids=["normal", "normal, compacting", "full"],
)
def test_kill_9_under_load_loses_nothing_acknowledged(tmp_path: Path, durability: str, window: int) -> None:
    model: dict[Key, int] = {}
    last = 1
    writes = 0

    async def check(acknowledged: Writes) -> int:
        async with opened(tmp_path, limits=Limits(window_events=window)) as store:
            revision = store.revision
            assert revision >= max([last, *acknowledged])
            state = {e.key: e.obj["spec"]["number"] for storage in STORAGES for e in store.list(storage)}
            since = max(last, store.oldest - 1)
            told = await history(store, since)
            assert sorted(told) == list(range(since + 1, revision + 1)), "a gap in the history"
            assert all(told[n] == acknowledged[n] for n in acknowledged if n > since)
            happened = acknowledged | told
            assert sorted(happened) == list(range(last + 1, revision + 1)), (
                "a write that was never acknowledged"
            )
            for _, (key, number) in sorted(happened.items()):
                if number is None:
                    del model[key]
                else:
                    model[key] = number
            assert state == model
            model.update({Key(storage, "", "end"): 1 for storage in STORAGES})
            return store.revision

    for seed in range(ROUNDS // 3 + 1):
        acknowledged = write_until_killed(tmp_path, durability, window, seed)
        writes += len(acknowledged)
        last = asyncio.run(check(acknowledged))
    assert writes > 10 * ROUNDS, "hardly any load"
