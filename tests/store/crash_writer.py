"""A store under load, to be killed: `crash_writer.py DIRECTORY DURABILITY WINDOW SEED`.

Every acknowledged write is one line on stdout, written before that worker goes on; at most 480 are
on their way at any moment. A line: revision, storage, name, and the object's number (or `-` for a deletion).
"""

from __future__ import annotations

import asyncio
import os
import random
import sys
from pathlib import Path

from longshore.api.types import Obj
from longshore.store import Key, Limits, Staged, Store

WORKERS = 16


def made(name: str, number: int) -> Obj:
    """An object that shows whether it is whole."""
    return {"metadata": {"name": name}, "spec": {"number": number, "parts": [number] * (number % 400)}}


async def work(store: Store, worker: int, dice: random.Random) -> None:
    while True:
        burst: list[tuple[Staged, str]] = []
        for _ in range(dice.choice((1, 1, 1, 30))):
            key = Key(dice.choice(("pods", "batch/jobs")), "default", f"w{worker}-{dice.randrange(8)}")
            number = dice.randrange(1, 1_000_000)
            if store.latest(key) is not None and dice.random() < 0.3:
                burst.append((store.stage_delete(key, made(key.name, number)), "-"))
            else:
                burst.append((store.stage(key, made(key.name, number)), str(number)))
        lines = ""
        for staged, said in burst:
            entry = await staged.done()
            lines += f"{entry.revision} {entry.key.storage} {entry.key.name} {said}\n"
        os.write(1, lines.encode())


async def main(directory: str, durability: str, window: str, seed: str) -> None:
    store = Store.open(
        Path(directory),
        durability="full" if durability == "full" else "normal",
        limits=Limits(window_events=int(window)),
    )
    os.write(1, b"ready\n")
    dice = random.Random(int(seed))
    await asyncio.gather(*(work(store, number, dice) for number in range(WORKERS)))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
