"""`longshore up` killed at random moments under a write load, and started again on the same directory.

After each restart every acknowledged write is there, nothing is half there, revisions have not gone
back, and watchers that resume are told every change once. LONGSHORE_CRASH_ROUNDS sets how often it is
killed (50 unless told), LONGSHORE_CRASH_SEED when and under what load.
"""

from __future__ import annotations

import asyncio
import os
import random
import time
from pathlib import Path

import pytest

from support.http_calls import Calls
from up.crash.followers import Follower
from up.crash.up_process import UpProcess
from up.crash.whole_objects import KINDS, Kind
from up.crash.write_load import GONE, Ledger, load

ROUNDS = int(os.environ.get("LONGSHORE_CRASH_ROUNDS", "50"))
SEED = os.environ.get("LONGSHORE_CRASH_SEED", "1")
WORKERS = 8
_LOAD_SECONDS = (0.0, 0.3)
_START_SECONDS = (0.05, 0.8)


@pytest.mark.anyio
async def test_nothing_acknowledged_is_lost(tmp_path: Path) -> None:
    dice, ledger = random.Random(SEED), Ledger()
    followers: list[Follower] = []
    seen = 0
    for number in range(ROUNDS):
        durability = dice.choice(("normal", "full"))
        process = UpProcess(tmp_path / "data", "--durability", durability)
        try:
            if number % 10 == 9:
                time.sleep(dice.uniform(*_START_SECONDS))  # noqa: ASYNC251 - nothing else is going on
            else:
                seen = await one_round(process, ledger, followers, seen, f"fence-{number}", dice)
        finally:
            process.kill()
    process = UpProcess(tmp_path / "data")
    try:
        await one_round(process, ledger, followers, seen, "fence-last", dice)
    finally:
        process.kill()
    assert ledger.writes > 5 * ROUNDS, "hardly any load"
    assert "Traceback" not in process.said()


async def one_round(
    process: UpProcess, ledger: Ledger, followers: list[Follower], seen: int, fence: str, dice: random.Random
) -> int:
    """Checks what the last round left behind, then writes until the kill. Returns the newest revision."""
    async with process.serving() as http:
        if not followers:
            followers += [Follower(kind, (await listed(http, kind))[0]) for kind in KINDS]
        watches = [asyncio.create_task(follower.follow(http)) for follower in followers]
        for follower in followers:
            newest = await check(http, ledger, follower, fence)
            assert newest > max(seen, ledger.newest), "revisions went back"
            seen = newest
        writing = asyncio.create_task(load(http, ledger, dice, WORKERS))
        await asyncio.sleep(dice.uniform(*_LOAD_SECONDS))
        assert not writing.done(), writing.result()
        process.kill()
        await asyncio.gather(writing, *watches)
    return max(seen, *(follower.last for follower in followers))


async def check(http: Calls, ledger: Ledger, follower: Follower, fence: str) -> int:
    """Compares the server with the ledger and with what its watcher was told."""
    kind = follower.kind
    revision, found = await listed(http, kind)
    for (path, name), fate in ledger.fates.items():
        if path != kind.path:
            continue
        number, at = found.get(name, (GONE, fate.revision))
        allowed = {fate.number} if fate.pending is None else {fate.number, fate.pending}
        assert number in allowed, f"{path}/{name} is {number}, not one of {allowed}"
        assert at >= fate.revision, f"{path}/{name} is older than acknowledged"
        fate.number, fate.revision, fate.pending = number, at, None
    code, made = await http("POST", kind.path, kind.obj(fence, 1))
    assert code == 201, made
    fenced = int(made["metadata"]["resourceVersion"])
    assert fenced > revision
    await follower.reaches(fenced)
    assert follower.state == {name: number for name, (number, _) in found.items()} | {fence: 1}
    for at, (path, name, number) in ledger.acknowledged.items():
        if path == kind.path:
            assert follower.told[at] == (name, number, False), f"the watcher missed revision {at}"
    ledger.acknowledged = {at: what for at, what in ledger.acknowledged.items() if what[0] != kind.path}
    return fenced


async def listed(http: Calls, kind: Kind) -> tuple[int, dict[str, tuple[int, int]]]:
    """The list's revision, and each object's number and revision by name. Every object must be whole."""
    _, answer = await http("GET", kind.path)
    found = {
        item["metadata"]["name"]: (kind.number(item), int(item["metadata"]["resourceVersion"]))
        for item in answer["items"]
    }
    return int(answer["metadata"]["resourceVersion"]), found
