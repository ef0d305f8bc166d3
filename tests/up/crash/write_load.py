"""Writers on several connections, and the ledger of what the server acknowledged to them.

Each object has one writer, which waits for every answer: so at any moment an object has one
acknowledged state and at most one write whose fate is not known.
"""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass, field
from typing import Final

from support.http_calls import CUT_OFF, Calls
from up.crash.whole_objects import KINDS, Kind, Obj

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
    """All that writers know, over all rounds."""

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
