"""Containers a second through the process runtime, beside `xargs`: `python bench/keeper.py`.

Each kind of container runs `/bin/true`, eight at a time, in several rounds; a round of `xargs -P8` stands
beside each, so that whatever else the machine does meets both. Told are the best rounds, their ratio, and the
CPU time for one container in the keeper and in the engine's own process, which says more than rates on a busy
machine. `--quick` is a smoke test with small numbers.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import uvloop

from longshore.node.keeper import procfs
from longshore.node.runtime import Container, ContainerState, Key, Mount
from longshore.node.runtimes.process import ProcessRuntime

AT_ONCE = 8
Fields = Callable[[int], dict[str, Any]]


def kinds(directory: Path) -> dict[str, Fields]:
    """What a container may have, each from its number."""
    volume = directory / "volume"
    volume.mkdir()
    secrets = Mount(str(volume), "/var/run/secrets/kubernetes.io/serviceaccount", True)
    return {
        "plain": lambda number: {},
        "message": lambda number: {"termination_message": directory / "messages" / str(number)},
        "mount": lambda number: {"mounts": (secrets,)},
        "pod-like": lambda number: {
            "mounts": (secrets,),
            "termination_message": directory / "messages" / str(number),
            "hostname": "a-pod",
        },
        "user": lambda number: {"user": 65534},
    }


@dataclass
class Round:
    """What it took."""

    seconds: float
    keeper: float
    engine: float


class Bench:
    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._runtime = ProcessRuntime(directory / "keeper")
        self._slots = asyncio.Semaphore(AT_ONCE)
        self._left = 0
        self._done = asyncio.Event()
        self._numbers = itertools.count()

    async def open(self) -> None:
        await self._runtime.open(self._changed)

    async def close(self) -> None:
        await self._runtime.close(kill=True)

    @property
    def memory(self) -> float:
        """Of the keeper, in MB."""
        return int(procfs.read(f"/proc/{self._runtime.keeper_pid}/statm").split()[1]) * procfs.PAGE / 1e6

    def _changed(self, state: ContainerState) -> None:
        self._slots.release()
        self._left -= 1
        if not self._left:
            self._done.set()

    def _keeper_cpu(self) -> float:
        fields = procfs.stat(self._runtime.keeper_pid)
        return (int(fields[11]) + int(fields[12])) / procfs.TICKS

    async def round(self, count: int, fields: Fields) -> Round:
        keys: list[Key] = []
        self._left = count
        self._done.clear()
        keeper, engine, began = self._keeper_cpu(), time.process_time(), time.perf_counter()
        tasks = []
        for number in itertools.islice(self._numbers, count):
            await self._slots.acquire()
            keys.append(Key(f"pod-{number}", "main", 0))
            log = self._directory / "log"
            container = Container(
                keys[-1], "bench", "pod", "", command=("/bin/true",), log=log, **fields(number)
            )
            tasks.append(asyncio.ensure_future(self._runtime.start(container)))
        await self._done.wait()
        took = Round(time.perf_counter() - began, self._keeper_cpu() - keeper, time.process_time() - engine)
        await asyncio.gather(*tasks)
        await self._runtime.remove(keys)
        return took


def xargs(count: int) -> float:
    """Seconds that `xargs -P8` takes for as many."""
    words = "\n".join(map(str, range(count)))
    began = time.perf_counter()
    subprocess.run(["xargs", f"-P{AT_ONCE}", "-n1", "/bin/true"], input=words.encode(), check=True)
    return time.perf_counter() - began


async def measure(count: int, rounds: int) -> Iterator[str]:
    lines = [
        f"{'containers':12} {'engine':>9} {'xargs':>9} {'ratio':>6} {'keeper CPU':>11} {'engine CPU':>11}"
    ]
    with tempfile.TemporaryDirectory() as name:
        bench = Bench(Path(name))
        await bench.open()
        for kind, fields in kinds(Path(name)).items():
            beside, runs = [], []
            for _ in range(rounds):
                beside.append(await asyncio.to_thread(xargs, count))
                runs.append(await bench.round(count, fields))
            best = min(runs, key=lambda run: run.seconds)
            keeper = sum(run.keeper for run in runs) / count / rounds * 1e6
            engine = sum(run.engine for run in runs) / count / rounds * 1e6
            rate, other = count / best.seconds, count / min(beside)
            lines.append(
                f"{kind:12} {rate:7.0f}/s {other:7.0f}/s {rate / other:6.2f} "
                f"{keeper:8.0f} µs {engine:8.0f} µs"
            )
        lines.append(f"the keeper's memory: {bench.memory:.1f} MB")
        await bench.close()
    return iter(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small numbers")
    quick = parser.parse_args().quick
    for line in uvloop.run(measure(40 if quick else 1000, 1 if quick else 3)):
        print(line)


if __name__ == "__main__":
    main()
