"""How long `longshore up` takes to be ready, beside another checkout: `python bench/start.py [--other SRC]`.

Starts the whole of it (controllers, scheduler, node) on a data directory that is known, with the file cache
warm, in turns with the other checkout's `src`. Prints medians of the time to the ready line, of the CPU time
until then, and of the memory a second later; with `--other`, this one's divided by the other's.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent.parent / "src"
_SETTLE_SECONDS = 1.0


class Start(NamedTuple):
    """One start."""

    ready: float
    """Seconds from the command to the ready line."""
    cpu: float
    """Seconds of CPU time by then."""
    memory: float
    """RSS at rest, in MB."""


def start(source: Path, data: Path, words: list[str]) -> Start:
    """Starts longshore from `source`, waits for its ready line and a little more, and stops it."""
    command = [sys.executable, "-m", "longshore", "up", "--port", "0", "--data-dir", str(data), *words]
    began = time.perf_counter()
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": str(source)}
    )
    try:
        assert process.stdout is not None
        if "ready" not in process.stdout.readline():
            raise SystemExit(f"longshore from {source} did not start")
        ready = time.perf_counter() - began
        cpu = _cpu_seconds(process.pid)
        time.sleep(_SETTLE_SECONDS)
        return Start(ready, cpu, _memory(process.pid))
    finally:
        process.terminate()
        process.wait()


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _memory(pid: int) -> float:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("VmRSS:"))) / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--other", type=Path, help="`src` of another checkout, to compare with")
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("words", nargs="*", help="further options of `longshore up`, after --")
    wanted = parser.parse_args()
    sources = [HERE, *([wanted.other.resolve()] if wanted.other else [])]
    found: dict[Path, list[Start]] = {source: [] for source in sources}
    with tempfile.TemporaryDirectory() as folder:
        for turn in range(wanted.runs + 1):
            for source in sources:
                data = Path(folder) / str(sources.index(source))
                one = start(source, data, wanted.words)
                if turn:  # the first fills the file cache and the data directory
                    found[source].append(one)
    for figure, unit in (("ready", "s"), ("cpu", "s"), ("memory", "MB")):
        medians = [statistics.median(getattr(one, figure) for one in found[source]) for source in sources]
        line = f"{figure:<8} {medians[0]:7.2f} {unit}"
        if wanted.other:
            line += f"   other {medians[1]:7.2f} {unit}   ratio {medians[0] / medians[1]:.2f}"
        print(line)


if __name__ == "__main__":
    main()
