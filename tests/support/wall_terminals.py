"""Terminals of containers of one level: of the container, of exec, and after another keeper took over.

Prints what each showed. Run as root and as an ordinary user, so it needs nothing but the standard library and
longshore.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from pathlib import Path

from longshore.node.runtime import CannotStart, Session
from support.keeper_engine import WALLS, Engine, until

SCRIPT = b"tty; stty size; echo /dev/pts/*; ps -o tty= -p $$; echo $((6*7)) > /dev/tty; exit 5\n"


async def said(engine: Engine, level: str) -> dict[str, tuple[str, int]]:
    """By the way to a terminal: what it showed, and the exit code."""
    found = {}
    state = await engine.start("sh", stdin=True, tty=True, walls=WALLS[level])
    found["container"] = await _talk(await engine.runtime.attach(state.key))
    state = await engine.start("sleep", "100", walls=WALLS[level])
    found["exec"] = await _talk(await engine.runtime.exec(state.key, ("sh",), stdin=True, tty=True))
    one, two = [await engine.runtime.exec(state.key, ("sh",), stdin=True, tty=True) for _ in range(2)]
    found["first of two"], found["second of two"] = await asyncio.gather(_talk(one), _talk(two))
    old = engine.keeper
    os.kill(old, signal.SIGKILL)
    await until(lambda: engine.keeper != old)
    try:
        found["adopted"] = await _talk(await engine.runtime.exec(state.key, ("sh",), stdin=True, tty=True))
    except CannotStart as refused:
        found["refused"] = (str(refused), 0)
    return found


async def _talk(session: Session) -> tuple[str, int]:
    await session.resize(132, 43)
    await session.write(SCRIPT)
    shown = b""
    async with asyncio.timeout(20):
        async for _, data in session.output():
            shown += data
        code = await session.wait()
    await session.close()
    return shown.decode().replace("# ", "").replace("$ ", ""), code  # without prompts


async def main(level: str, directory: Path) -> None:
    engine = Engine(directory)
    await engine.open()
    near, far = os.openpty()  # a terminal of the machine
    try:
        print(json.dumps(await said(engine, level)))
    finally:
        await engine.runtime.close(kill=True)
        os.close(near)
        os.close(far)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], Path(sys.argv[2])))
