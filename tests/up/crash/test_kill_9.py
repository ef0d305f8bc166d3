"""`longshore up` killed at random moments under a write load, and started again on the same directory.

After each restart every acknowledged write is there, nothing is half there, revisions have not gone
back, and watchers that resume are told every change once. LONGSHORE_CRASH_ROUNDS sets how often it is
killed (50 unless told), LONGSHORE_CRASH_SEED when and under what load.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import pytest

from support.http_calls import CUT_OFF, Calls, lines
from up.crash.up_process import UpProcess
from up.crash.whole_objects import KINDS, Kind, Obj


class Follower:
    """One watch of one kind, over all restarts: it resumes behind the last change it saw. Notices a change
    told twice or out of order at once."""

    def __init__(self, kind: Kind, since: int) -> None:
        self.kind = kind
        self.last = since
        self.told: dict[int, tuple[str, int, bool]] = {}
        """Name, number and whether it was a deletion, by revision."""
        self.state: dict[str, int] = {}
        self._moved = asyncio.Event()

    async def follow(self, http: Calls) -> None:
        """Watches until the server is gone."""
        path = f"{self.kind.path}?watch=true&resourceVersion={self.last}&timeoutSeconds=3600"
        try:
            async with http.stream(path) as response:
                assert response.reader.code == 200, await response.read_all()
                async for line in lines(response):  # the kill may have cut the last one short
                    self._take(json.loads(line))
        except CUT_OFF:
            return

    async def reaches(self, revision: int) -> None:
        """Returns once this revision was told."""
        async with asyncio.timeout(20):
            while self.last < revision:
                self._moved.clear()
                await self._moved.wait()

    def _take(self, event: dict[str, object]) -> None:
        obj = event["object"]
        assert isinstance(obj, dict)
        assert event["type"] in ("ADDED", "MODIFIED", "DELETED"), event
        name, revision = obj["metadata"]["name"], int(obj["metadata"]["resourceVersion"])
        assert revision > self.last, f"revision {revision} told after {self.last}"
        was_there = name in self.state
        assert was_there == (event["type"] != "ADDED"), f"a change is missing before {event}"
        number = self.kind.number(obj)
        if event["type"] == "DELETED":
            del self.state[name]
        else:
            self.state[name] = number
        self.told[revision] = name, number, event["type"] == "DELETED"
        self.last = revision
        self._moved.set()


GONE: Final = 0
"""Stands for "not there" where a number is expected; numbers of objects begin at 1."""
_NAMES_EACH: Final = 5


@dataclass
class Fate:
    """What is known of one object."""

    number: int = GONE
    """As acknowledged."""
    revision: int = 0
    """Of the last acknowledged write that named one; a deletion's answer does not."""
    pending: int | None = None
    """What the write on its way would make of it; None when there is none."""


@dataclass
class Ledger:
    """All that writers know, over all rounds. Each object has one writer, which waits for every answer: so at
    any moment an object has one acknowledged state and at most one write whose fate is not known."""

    fates: dict[tuple[str, str], Fate] = field(default_factory=dict)
    """By path of the collection and name."""
    acknowledged: dict[int, tuple[str, str, int]] = field(default_factory=dict)
    """What each acknowledged revision wrote: path, name, number."""
    writes: int = 0

    def fate(self, path: str, name: str) -> Fate:
        return self.fates.setdefault((path, name), Fate())

    @property
    def newest(self) -> int:
        return max(self.acknowledged, default=0)


async def write_until_cut_off(http: Calls, ledger: Ledger, worker: int, dice: random.Random) -> None:
    """Writes without a pause until the server is gone."""
    try:
        while True:
            kind = dice.choice(KINDS)
            await _write(http, ledger, kind, f"w{worker}-{dice.randrange(_NAMES_EACH)}", dice)
    except CUT_OFF:
        return


async def _write(http: Calls, ledger: Ledger, kind: Kind, name: str, dice: random.Random) -> None:
    fate, number = ledger.fate(kind.path, name), dice.randrange(1, 100_000)
    if number == fate.number:  # a write that changes nothing gets the revision of the one before
        number += 1
    if fate.number != GONE and dice.random() < 0.2:
        fate.pending = GONE
        await _answer(http, "DELETE", f"{kind.path}/{name}?propagationPolicy=Background", None)
        fate.number, fate.pending = GONE, None
    else:
        fate.pending = number
        if fate.number == GONE:
            answer = await _answer(http, "POST", kind.path, kind.obj(name, number))
        else:
            answer = await _change(http, kind, name, number, dice)
        revision = int(answer["metadata"]["resourceVersion"])
        assert kind.number(answer) == number
        assert revision > fate.revision, "a revision went back"
        fate.number, fate.revision, fate.pending = number, revision, None
        ledger.acknowledged[revision] = kind.path, name, number
    ledger.writes += 1


async def _change(http: Calls, kind: Kind, name: str, number: int, dice: random.Random) -> Obj:
    path = f"{kind.path}/{name}"
    obj = kind.obj(name, number)
    way = dice.choice(("PUT", "apply", "merge", "strategic", "json"))
    if way == "PUT" and kind.kind == "ConfigMap":
        return await _answer(http, "PUT", path, obj)
    if way == "apply":
        headers = {"Content-Type": "application/apply-patch+yaml"}
        return await _answer(http, "PATCH", path + "?fieldManager=load&force=true", obj, headers)
    patch = {k: v for k, v in kind.made(number).items() if k != "spec"}
    if kind.kind == "Job":
        patch["spec"] = {"parallelism": number}
    if way == "json":
        patch_operations = [
            {"op": "replace", "path": f"/{part}/{key}", "value": value}
            for part, values in patch.items()
            for key, value in values.items()
        ]
        headers = {"Content-Type": "application/json-patch+json"}
        return await _answer(http, "PATCH", path, patch_operations, headers)
    media = "application/merge-patch+json" if way == "merge" else "application/strategic-merge-patch+json"
    return await _answer(http, "PATCH", path, patch, {"Content-Type": media})


async def _answer(
    http: Calls, method: str, path: str, body: object, headers: dict[str, str] | None = None
) -> Obj:
    """The whole answer to a write, which must be a success."""
    code, answer = await http(method, path, body, headers)
    assert code in (200, 201), f"{method} {path}: {answer}"
    found: Obj = answer
    return found


async def load(http: Calls, ledger: Ledger, dice: random.Random, workers: int) -> None:
    """All writers; returns when the server has cut off every one of them."""
    await asyncio.gather(*(write_until_cut_off(http, ledger, each, dice) for each in range(workers)))


# ---- tests

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
