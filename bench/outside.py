"""`longshore controllers` alone, against an API server that costs next to nothing: `python bench/outside.py`.

The server (`fake_api.py`, a process of its own) keeps Jobs, pods and Leases in dictionaries, answers at once,
and plays a kubelet: every pod succeeds a moment after its creation. Pods are as large as real ones: fifteen
variables, four volumes, managedFields. So what is measured is the controllers': requests for a Job by kind,
CPU for a pod, bytes each way, and memory for a pod that is only cached. Print it before and after a change:

    python bench/outside.py                                  # 100 Jobs of 10 pods, then 20,000 cached pods
    python bench/outside.py --other ../longshore-before/src  # the same with another checkout, in turns
    python bench/outside.py --shards 2 --within 20    # two processes that share the work
    python bench/outside.py --jobs 53 --pods 8 --apart 0.1 --cached 0  # the requests for 424 pods

CPU seconds are those of the processes measured, so other work on the machine matters little; rates are not.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any

import yaml

HERE = Path(__file__).parent
SOURCE = HERE.parent / "src"
QUIET_SECONDS = 1.0
TICKS = os.sysconf("SC_CLK_TCK")


class Server:
    """The fake API server."""

    def __init__(self, *words: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, str(HERE / "fake_api.py"), *words], stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        self.address = self.process.stdout.readline().strip()

    def figures(self) -> dict[str, Any]:
        with urllib.request.urlopen(f"{self.address}/figures") as answer:
            found: dict[str, Any] = json.load(answer)
        return found

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()


def kubeconfig(server: str, folder: Path) -> Path:
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "fake", "cluster": {"server": server}}],
        "users": [{"name": "me", "user": {"token": "t"}}],
        "contexts": [{"name": "fake", "context": {"cluster": "fake", "user": "me", "namespace": "default"}}],
        "current-context": "fake",
    }
    path = folder / "kubeconfig"
    path.write_text(yaml.safe_dump(config))
    return path


def controllers(source: Path, config: Path, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "longshore", "controllers", "--kubeconfig", str(config), *words],
        env=os.environ | {"PYTHONPATH": str(source)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )


def cpu(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def resident(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def quiet(server: Server) -> dict[str, Any]:
    """The figures once nothing is written any more but Leases: events come late, and are work, too."""
    figures = server.figures()
    while True:
        time.sleep(QUIET_SECONDS)
        before, figures = figures, server.figures()
        if writes(before) == writes(figures):
            return figures


def writes(figures: dict[str, Any]) -> int:
    return sum(count for name, count in figures["requests"].items() if "leases" not in name)


def measure(source: Path, arguments: argparse.Namespace) -> dict[str, Any]:
    """One run of all Jobs."""
    words = ("--jobs", str(arguments.jobs), "--pods", str(arguments.pods), "--apart", str(arguments.apart))
    server = Server(*words, "--namespaces", "64", "--within", str(arguments.within))
    shards = ["--shards", str(arguments.shards)] if arguments.shards else ["--no-leader-elect"]
    with tempfile.TemporaryDirectory() as folder:
        config = kubeconfig(server.address, Path(folder))
        running = [controllers(source, config, *shards) for _ in range(arguments.shards or 1)]
        try:
            for each in running:
                assert each.stdout is not None
                each.stdout.readline()  # ready
            before = [cpu(each.pid) for each in running]
            with urllib.request.urlopen(f"{server.address}/begin"):
                begun = time.monotonic()
            while (figures := server.figures())["complete"] < arguments.jobs:
                time.sleep(0.05)
            seconds = time.monotonic() - begun
            figures = quiet(server)
            spent = [cpu(each.pid) - start for each, start in zip(running, before, strict=True)]
        finally:
            for each in running:
                each.kill()
                each.communicate()
            server.close()
    pods = arguments.jobs * arguments.pods
    figures |= {"seconds": round(seconds, 2), "pods a second": round(pods / seconds)}
    figures["CPU ms for a pod"] = round(sum(spent) * 1000 / pods, 3)
    figures["CPU ms for a pod, the busiest replica"] = round(max(spent) * 1000 / pods, 3)
    return figures


CACHED = {
    "ended pod of a Job": ("Succeeded", "Job"),
    "running pod of a Job": ("Running", "Job"),
    "pod of another controller": ("Running", "ReplicaSet"),
}


def cached(source: Path, count: int, phase: str, owner: str) -> float:
    """Bytes of memory for each pod that the controllers only remember."""
    sizes = []
    for pods in (0, count):
        server = Server("--cached", str(pods), "--phase", phase, "--owner", owner)
        with tempfile.TemporaryDirectory() as folder:
            running = controllers(source, kubeconfig(server.address, Path(folder)), "--no-leader-elect")
            try:
                assert running.stdout is not None
                running.stdout.readline()
                time.sleep(1)
                sizes.append(resident(running.pid))
            finally:
                running.kill()
                running.communicate()
                server.close()
    return (sizes[1] - sizes[0]) / max(count, 1)


def print_ratios(ours: dict[str, Any], other: dict[str, Any]) -> None:
    """Below 1 is less here than there."""
    pairs = {name: (ours[name], other[name]) for name in ours if name.startswith(("CPU", "bytes"))}
    pairs["requests"] = (sum(ours["requests"].values()), sum(other["requests"].values()))
    print(json.dumps({f"ratio of {name}": round(a / b, 2) for name, (a, b) in pairs.items() if b}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--jobs", type=int, default=100)
    parser.add_argument("--pods", type=int, default=10, help="pods of each Job")
    parser.add_argument("--apart", type=float, default=0.0, help="seconds between the ends of pods of a Job")
    parser.add_argument(
        "--within", type=float, default=0.0, help="seconds in which all Jobs are created; 0: all at once"
    )
    parser.add_argument("--cached", type=int, default=20_000, help="pods that are only cached; 0: none")
    parser.add_argument("--shards", type=int, default=0)
    parser.add_argument("--other", type=Path, help="the src of another checkout, measured in turns")
    parser.add_argument("--turns", type=int, default=1)
    arguments = parser.parse_args()
    measured: list[dict[str, Any]] = []
    for _ in range(arguments.turns):
        for source in filter(None, (SOURCE, arguments.other)):
            figures = measure(source, arguments)
            for name, (phase, owner) in CACHED.items() if arguments.cached else ():
                figures[f"bytes for a cached {name}"] = round(cached(source, arguments.cached, phase, owner))
            print(json.dumps({"source": str(source), **figures}), flush=True)
            measured.append(figures)
        if arguments.other is not None:
            print_ratios(*measured[-2:])


if __name__ == "__main__":
    main()
