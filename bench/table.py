"""Every figure that has a budget, beside its peer or limit: `python bench/table.py [MEASURE ...]`.

Each measurement runs in a process of its own, `--runs` times in turns with the others, so that a busy minute
of the machine does not fall on one of them alone. Prints the rows of bench/README.md's table: the median, the
least and the most. What takes minutes (100,000 objects) runs once and repeats inside. The pace of this Python
on this machine stands above them, as two runs can be compared only where it is the same. `--quick` is a smoke
test with small numbers, which say nothing about budgets.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from typing import Final, NamedTuple

import measures
import uvloop

from longshore.up import startup

ONCE: Final = ("finished", "large")
"""Measurements that fill a store with 100,000 objects."""


class Row(NamedTuple):
    """One line of the table: a figure of a measurement, its budget, and how it is written."""

    name: str
    figure: str
    """The measurement and its figure."""
    budget: str
    form: str = "{:.2f} ms"
    peer: str = ""
    """The peer's or limit's figure of the same measurement,"""
    peer_form: str = ""
    """and how it is written."""


ROWS: Final = (
    Row("longshore's CPU for a pod of `/bin/true`", "processes.longshore_ms", "<= 1.0 ms"),
    Row("keeper's CPU for a pod", "processes.keeper_ms", "<= 0.25 ms"),
    Row("writes for a pod, without events", "written.writes", "<= 3", "{:.2f}"),
    Row("events for a pod", "written.events", "<= 1", "{:.2f}"),
    Row("5,000 x `/bin/true` against `xargs -P8`", "processes.against_xargs", ">= 0.6", "{:.2f}",
        "processes.xargs", "xargs {:,.0f}/s"),
    Row("5,000 x `/bin/true` against GNU parallel", "processes.against_parallel", ">= 3.5", "{:.2f}",
        "processes.parallel", "parallel {:,.0f}/s"),
    Row("one-pod Jobs in process", "jobs.in_process", ">= 1,000/s", "{:,.0f}/s",
        "jobs.in_process_bare", "{:,.0f} bare writes/s"),
    Row("one-pod Jobs over HTTP, lean generator", "jobs.http", ">= 750/s", "{:,.0f}/s",
        "jobs.http_bare", "{:,.0f} bare writes/s"),
    Row("goload: a one-pod Job, protobuf, 32 workers", "goload.job_protobuf", "<= 1.6 ms"),
    Row("goload: a one-pod Job, JSON, 8 workers", "goload.job_json", "<= 1.3 ms"),
    Row("goload: a pod of one Indexed Job, protobuf", "goload.pod_protobuf", "<= 0.7 ms"),
    Row("goload: a pod of one Indexed Job, JSON", "goload.pod_json", "<= 0.6 ms"),
    Row("a TLS handshake with a client certificate", "goload.full_handshake", "<= 0.8 ms", "{:.2f} ms",
        "goload.resumed_handshake", "resumed {:.2f} ms"),
    Row("one-pod Volcano Jobs", "volcano.rate", ">= 500/s", "{:,.0f}/s",
        "volcano.bare", "{:,.0f} bare writes/s"),
    Row("durable creates over TLS, 32 connections", "creates.rate", ">= 4,000/s", "{:,.0f}/s",
        "creates.http", "bare server {:,.0f}/s"),
    Row("100 watchers, the slowest", "watchers.slowest", ">= 2,000/s", "{:,.0f}/s",
        "watchers.http", "bare server {:,.0f}/s"),
    Row("ready from a warm file cache", "starts.ready", "<= 0.5 s", "{:.2f} s",
        "starts.python", "`python -c pass` {:.0f} ms"),
    Row("idle memory", "starts.memory", "<= 60 MB", "{:.0f} MB"),
    Row("`longshore get pods`, whole command", "get.longshore", "<= 150 ms", "{:.0f} ms",
        "get.kubectl", "kubectl {:.0f} ms"),
    Row("memory of a finished pod of an Indexed Job", "large.pod_kb", "<= 6 kB", "{:.1f} kB"),
    Row("memory with 100,000 of them", "large.memory", "<= 700 MB", "{:,.0f} MB"),
    Row("a pod's end, 5,000 against 50 active pods", "ends.ratio", "<= 1.3", "{:.2f}",
        "ends.few", "{:.2f} ms with 50"),
    Row("a page of 500, from 100,000 against 2,500", "large.page_ratio", "<= 1.3", "{:.2f}",
        "large.page_few", "{:.2f} ms from 2,500"),
    Row("a one-pod Job, 10,000 against 100 finished", "finished.ratio_more", "<= 1.2", "{:.2f}",
        "finished.few", "{:.2f} ms with 100"),
    Row("a one-pod Job, 100,000 against 100 finished", "finished.ratio_many", "<= 1.2", "{:.2f}",
        "finished.many", "{:.2f} ms with 100,000"),
    Row("restart with 100,000 objects, CPU", "large.restart", "<= 2 s", "{:.2f} s"),
)  # fmt: skip


def measured(name: str, quick: bool) -> dict[str, float]:
    """The figures of one measurement by a process of its own; none, told on stderr, where it fails."""
    command = [sys.executable, __file__, "--measure", name, *(["--quick"] if quick else [])]
    began = time.perf_counter()
    told = subprocess.run(command, stdout=subprocess.PIPE)
    print(f"{name}: {time.perf_counter() - began:.0f} s", file=sys.stderr, flush=True)
    if told.returncode:
        return {}
    found: dict[str, float] = json.loads(told.stdout.splitlines()[-1])
    return found


def pace() -> float:
    """Milliseconds of CPU that a fixed piece of Python takes just now."""
    began = time.process_time()
    known: dict[str, int] = {}
    for number in range(300_000):
        name = str(number % 1000)
        known[name] = known.get(name, 0) + 1
    return (time.process_time() - began) * 1000


def _printed(found: dict[str, list[dict[str, float]]], quick: bool) -> None:
    print("| measure | now | peer or limit | budget | met |\n| --- | --- | --- | --- | --- |")
    for row in ROWS:
        if row.figure.split(".")[0] not in found:
            continue
        values, peers = _values(found, row.figure), _values(found, row.peer)
        if not values:
            print(f"| {row.name} | not measured | | {row.budget} | |")
            continue
        middle = statistics.median(values)
        now = row.form.format(middle)
        if len(values) > 1:
            now += f" ({_bare(row.form, min(values))}-{_bare(row.form, max(values))})"
        peer = row.peer_form.format(statistics.median(peers)) if peers else ""
        met = "" if quick else _verdict(middle, row.budget)
        print(f"| {row.name} | {now} | {peer} | {row.budget} | {met} |")


def _values(found: dict[str, list[dict[str, float]]], figure: str) -> list[float]:
    measure, _, name = figure.partition(".")
    return [one[name] for one in found.get(measure, []) if name in one]


def _bare(form: str, value: float) -> str:
    """A figure without its unit."""
    return form.partition("}")[0].join(("", "}")).format(value)


def _verdict(value: float, budget: str) -> str:
    sign, limit = budget.split()[:2]
    bound = float(limit.rstrip("/s").replace(",", ""))
    return "yes" if (value <= bound if sign == "<=" else value >= bound) else "**no**"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    known = ", ".join(measures.MEASURES)
    parser.add_argument("measures", nargs="*", metavar="MEASURE", help=f"some of: {known}")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="small numbers: does it run at all?")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure:
        with startup.quick_imports():
            pass  # the collector looks as seldom as in `longshore up`
        print(json.dumps(uvloop.run(measures.MEASURES[given.measure](given.quick))))
        return
    unknown = set(given.measures) - measures.MEASURES.keys()
    if unknown:
        parser.error(f"no such measurement: {', '.join(sorted(unknown))}; there are {known}")
    wanted = [name for name in measures.MEASURES if not given.measures or name in given.measures]
    print(f"load {os.getloadavg()[0]:.1f}, Python {sys.version.split()[0]}", file=sys.stderr)
    found: dict[str, list[dict[str, float]]] = {name: [] for name in wanted}
    paces: list[float] = []
    for turn in range(1 if given.quick else given.runs):
        for name in wanted:
            paces.append(pace())
            if not turn or name not in ONCE:
                found[name].append(measured(name, given.quick))
    print(f"pace: {statistics.median(paces):.0f} ms ({min(paces):.0f}-{max(paces):.0f})", file=sys.stderr)
    _printed(found, given.quick)


if __name__ == "__main__":
    main()
