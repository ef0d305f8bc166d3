"""What people would pick instead, beside longshore: `python bench/peers.py --install --write`.

Each tool gets the same work (`peer_load.py`): from nothing to a first task, then many times /bin/true, eight
at a time. Tools from PyPI have an environment each below `bench/.peers`, made by --install; programs come
from the machine. A tool that is not there, or does not run here, has the reason in its row. --write puts the
table and the picture into bench/README.md.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
import venv
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from picture import bars

HERE = Path(__file__).parent
README, PICTURE = HERE / "README.md", HERE / "peers.svg"
MARKS = "<!-- peers -->", "<!-- end of peers -->"
LIMIT_SECONDS = 900
SAMPLE_SECONDS = 0.5
MANY = 2000


@dataclass(frozen=True, slots=True)
class Tool:
    """One row. `retries` and `killed` are what its documentation says; longshore's are tested."""

    name: str
    title: str
    retries: str
    killed: str
    packages: tuple[str, ...] = ()
    """From PyPI, in an environment of its own."""
    programs: tuple[str, ...] = ()
    count: int = MANY
    missing: str = ""
    """Why it cannot be had at all."""


_LOST = "no: what was left to do is lost"
TOOLS = (
    Tool(
        "longshore",
        "longshore up, longshore run",
        "yes, with the reason of each",
        "yes: tasks go on, the rest follows at the next start",
    ),
    Tool("xargs", "xargs -P8", "no", _LOST, programs=("xargs",)),
    Tool(
        "parallel",
        "GNU parallel -j8",
        "in a log, if asked",
        "with a log, by --resume",
        programs=("parallel",),
    ),
    Tool("make", "make -j8", "no", "targets that are files are not made again", programs=("make",)),
    Tool("task-spooler", "task-spooler -S 8", "no", _LOST, programs=("tsp",)),
    Tool("pueue", "pueue", "", "", missing="not in PyPI or apt; npm has an empty package of that name"),
    Tool(
        "celery",
        "Celery, 8 processes, Redis",
        "yes, with a result backend",
        "yes with late acknowledgement: tasks are delivered again",
        packages=("celery", "redis", "packaging"),
        programs=("redis-server",),
    ),
    Tool(
        "rq",
        "RQ, 8 workers, Redis",
        "yes, in Redis",
        "the queue is; a task under way counts as failed",
        packages=("rq",),
        programs=("redis-server",),
    ),
    Tool("dask", "Dask LocalCluster, 8 processes", "in memory", _LOST, packages=("dask", "distributed")),
    Tool("ray", "Ray, 8 CPUs", "in memory", _LOST, packages=("ray",)),
    Tool(
        "prefect",
        "Prefect flow, 8 threads, its own server",
        "yes, in its database",
        "the record is; the flow is run again by hand",
        packages=("prefect", "fastapi==0.139.*"),
        count=200,
    ),
    Tool(
        "airflow",
        "Airflow LocalExecutor",
        "yes, in its database",
        "yes, tasks are tried again",
        packages=("apache-airflow",),
        count=20,
    ),
    Tool(
        "podman",
        "podman kube play, one pod at a time",
        "no",
        "yes: containers go on",
        programs=("podman", "busybox"),
        count=20,
    ),
)


@dataclass(frozen=True, slots=True)
class Row:
    tool: Tool
    problem: str = ""
    count: int = 0
    first: float = 0.0
    rate: float = 0.0
    megabytes: float = 0.0


def python_of(tool: Tool, environments: Path) -> Path:
    return environments / tool.name / "bin" / "python" if tool.packages else Path(sys.executable)


def install(tool: Tool, environments: Path) -> None:
    python = python_of(tool, environments)
    if tool.packages and not python.exists():
        venv.create(environments / tool.name, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *tool.packages], check=False)


def measured(tool: Tool, environments: Path, count: int) -> Row:
    if tool.missing:
        return Row(tool, tool.missing)
    lacking = [name for name in tool.programs if not shutil.which(name)]
    if lacking:
        return Row(tool, f"not on this machine: {', '.join(lacking)}")
    python = python_of(tool, environments)
    if not python.exists():
        return Row(tool, f"not installed: {', '.join(tool.packages)} (--install)")
    began = time.time()
    words = [str(python), str(HERE / "peer_load.py"), tool.name, str(count)]
    running = subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd="/", start_new_session=True
    )
    most = Memory(running.pid)
    try:
        out, err = running.communicate(timeout=LIMIT_SECONDS)
    except subprocess.TimeoutExpired:
        _end_session(running.pid)
        running.communicate()
        return Row(tool, f"not over after {LIMIT_SECONDS} s")
    finally:
        megabytes = most.end()
        _end_session(running.pid)
    found = [line for line in out.splitlines() if line.startswith('{"first"')]
    if not found:
        said = [line for line in err.splitlines() if line.strip()]
        return Row(tool, f"does not run here: {said[-1][:160]}" if said else "does not run here")
    told = json.loads(found[-1])
    rate = count / (told["ended"] - told["first"])
    return Row(tool, "", count, told["first"] - began, rate, megabytes)


class Memory:
    """The most that a process and all below it, or in its session, held at a time; shared pages in part."""

    def __init__(self, pid: int) -> None:
        self._pid, self._most, self._over = pid, 0.0, threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def end(self) -> float:
        self._over.set()
        self._thread.join()
        return self._most

    def _run(self) -> None:
        while not self._over.wait(SAMPLE_SECONDS):
            self._most = max(self._most, sum(map(_megabytes, _family(self._pid))))


def _end_session(session: int) -> None:
    """Ends what a tool has left behind: no other process is in the session that was made for it."""
    for pid, (_, its) in _processes().items():
        if its == session:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def _family(root: int) -> set[int]:
    parents = _processes()
    family = {pid for pid, (_, session) in parents.items() if session == root or pid == root}
    while more := {pid for pid, (parent, _) in parents.items() if parent in family} - family:
        family |= more
    return family


def _processes() -> dict[int, tuple[int, int]]:
    """Parent and session of each process."""
    found: dict[int, tuple[int, int]] = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                words = Path(f"/proc/{entry}/stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue  # it has just ended
            found[int(entry)] = int(words[1]), int(words[3])
    return found


def _megabytes(pid: int) -> float:
    try:
        found = re.search(r"^Pss:\s+(\d+)", Path(f"/proc/{pid}/smaps_rollup").read_text(), re.MULTILINE)
    except OSError:
        return 0.0
    return int(found[1]) / 1024 if found else 0.0


def table(rows: list[Row]) -> str:
    head = ("tool", "first task", "tasks/s", "memory", "are retries kept?", "survives kill -9?")
    lines = [head, ("---",) * len(head)]
    for row in rows:
        tool, of = row.tool, f" (of {row.count})" if row.count != MANY else ""
        if row.problem:
            lines.append((tool.title, row.problem, "", "", tool.retries, tool.killed))
            continue
        rate = f"{row.rate:,.0f}" if row.rate >= 10 else f"{row.rate:.1f}"
        figures = (f"{row.first:.2f} s", rate + of, f"{row.megabytes:,.0f} MB")
        lines.append((tool.title, *figures, tool.retries, tool.killed))
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def write(rows: list[Row]) -> None:
    there = {row.tool.title: row.rate for row in rows if not row.problem}
    PICTURE.write_text(bars(f"{MANY:,} x /bin/true, eight at a time", "tasks a second", there))
    before, _, rest = README.read_text().partition(MARKS[0])
    after = rest.partition(MARKS[1])[2]
    text = f"{MARKS[0]}\n![Tasks a second by tool]({PICTURE.name})\n\n{table(rows)}\n{MARKS[1]}"
    README.write_text(before + text + after)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("tools", nargs="*", metavar="TOOL", help="all by default")
    parser.add_argument("--install", action="store_true", help="makes environments that are not there")
    parser.add_argument("--environments", type=Path, default=HERE / ".peers")
    parser.add_argument("--write", action="store_true", help="renews table and picture in bench/README.md")
    parser.add_argument("--quick", action="store_true", help="small numbers: does it run at all?")
    given = parser.parse_args()
    unknown = set(given.tools) - {tool.name for tool in TOOLS}
    if unknown:
        parser.error(f"no such tool: {', '.join(sorted(unknown))}")
    rows = []
    for tool in TOOLS:
        if given.tools and tool.name not in given.tools:
            continue
        if given.install:
            install(tool, given.environments)
        print(f"{tool.name} ...", file=sys.stderr, flush=True)
        rows.append(measured(tool, given.environments, 5 if given.quick else tool.count))
    print(table(rows))
    if given.write:
        write(rows)


if __name__ == "__main__":
    main()
