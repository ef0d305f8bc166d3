"""What Jobs cost, control plane only: `python bench/jobs.py [--quick] [FIGURE ...]`.

A fake kubelet marks every pod succeeded at once. In process everything shares one event loop, load and kubelet
included; over HTTP longshore is a process with the Job controller in it, and load and kubelet are another one.
Beside each figure stands what the API alone would allow: as many bare status writes, through the same client in
the same run, as the Jobs needed writes. README.md tells what the figures mean.
"""

from __future__ import annotations

import argparse
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from processes import load, longshore

_CONNECTIONS = 16
_CONTROLLERS = ("--controllers", "job,serviceaccount")


@dataclass(frozen=True)
class Sizes:
    """How much is done. Quick ones say nothing about speed."""

    jobs: int
    completions: int
    parallelism: int
    growth: tuple[int, ...]
    limit: int


FULL = Sizes(5_000, 10_000, 500, (1_000, 10_000, 100_000), 3_000)
QUICK = Sizes(20, 40, 10, (20, 40, 80), 20)


def say(figure: str, found: str, limit: str = "-", ratio: float | None = None, goal: str = "") -> None:
    shown = f"{ratio:.2f}" if ratio is not None else "-"
    print(f"{figure:<34} {found:>26} {limit:>14} {shown:>6}  {goal}", flush=True)


def rate(found: dict[str, Any], count: int) -> str:
    return f"{count / found['seconds']:,.0f}/s"


def inside(sizes: Sizes) -> None:
    """One-pod Jobs in process."""
    found = load("job_inside.py", jobs=sizes.jobs, limit=sizes.limit)
    writes = found["writes"] / sizes.jobs
    possible = 1 / (found["bare"] * writes)
    say(
        "one-pod Jobs, in process",
        rate(found, sizes.jobs),
        f"{possible:,.0f}/s",
        sizes.jobs / found["cpu"] / possible,
        ">= 1,000/s",
    )
    say(
        "  CPU time for one",
        f"{1e6 * found['cpu'] / sizes.jobs:,.0f} us",
        f"{1e6 * found['bare'] * writes:,.0f} us",
    )
    say("  writes for one", f"{writes:.2f}")
    say("  memory", f"{found['memory']:.0f} MB")


def http(sizes: Sizes) -> None:
    """One-pod Jobs over HTTP."""
    _over_http("one-pod Jobs, over HTTP", sizes.jobs, ">= 700/s", jobs=sizes.jobs)


def indexed(sizes: Sizes) -> None:
    """The pods of one Indexed Job, in process and over HTTP."""
    one = {"completions": sizes.completions, "parallelism": sizes.parallelism}
    found = load("job_inside.py", limit=sizes.limit, **one)
    writes = found["writes"] / sizes.completions
    possible = 1 / (found["bare"] * writes)
    say(
        f"pods of one Job with {sizes.completions:,}",
        rate(found, sizes.completions),
        f"{possible:,.0f}/s",
        sizes.completions / found["cpu"] / possible,
    )
    say("  writes for one pod", f"{writes:.2f}")
    _over_http("  the same over HTTP", sizes.completions, ">= 1,500/s", **one)


def _over_http(figure: str, count: int, goal: str, **wishes: Any) -> None:
    with tempfile.TemporaryDirectory() as folder, longshore(Path(folder) / "data", *_CONTROLLERS) as server:
        before = server.cpu_seconds()
        found = load("job_load.py", **server.where(), connections=_CONNECTIONS, **wishes)
        cpu, (rss, _) = server.cpu_seconds() - before, server.memory()
    say(figure, rate(found, count), goal=goal)
    say("  CPU time for one, server", f"{1e6 * cpu / count:,.0f} us")
    say("  CPU time for one, load", f"{1e6 * found['cpu'] / count:,.0f} us")
    say("  memory", f"{rss:.0f} MB")


def growth(sizes: Sizes) -> None:
    """What a pod costs in Indexed Jobs of different sizes."""
    costs = []
    for completions in sizes.growth:
        found = load(
            "job_inside.py", completions=completions, parallelism=sizes.parallelism, limit=sizes.limit
        )
        costs.append(found["cpu"] / completions / found["bare"])
        say(
            f"a pod of {completions:,}",
            f"{1e6 * found['cpu'] / completions:,.0f} us CPU",
            f"{1e6 * found['bare']:,.0f} us",
            costs[-1],
        )
        say("  memory", f"{found['memory']:.0f} MB")
    say("  last beside first", f"{costs[-1] / costs[0]:.2f}", goal="<= 1.3")


FIGURES = {"inside": inside, "http": http, "indexed": indexed, "growth": growth}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("figures", nargs="*", metavar="FIGURE", help=f"of: {', '.join(FIGURES)}")
    parser.add_argument("--quick", action="store_true", help="tiny sizes: shows that it works, not how fast")
    wanted = parser.parse_args()
    if unknown := set(wanted.figures) - FIGURES.keys():
        parser.error(f"there is no figure {', '.join(sorted(unknown))}")
    say("", "longshore", "API alone", None, "goal")
    for name in wanted.figures or FIGURES:
        FIGURES[name](QUICK if wanted.quick else FULL)


if __name__ == "__main__":
    main()
