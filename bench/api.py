"""What the API server costs, beside what it cannot do without: `python bench/api.py [--quick] [FIGURE ...]`.

Every figure is printed with the same figure of a bare server (same TLS, same bytes in and out) and
of a bare SQLite transaction (same rows, same settings), measured in the same run; the best of several short
runs counts. README.md tells what the figures mean.
"""

from __future__ import annotations

import argparse
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import bare_sqlite
from manifests import KINDS, WATCHED, request_bytes
from processes import HERE, Generator, Running, bare, load, longshore

_CONNECTIONS = 32
_PODS = "/api/v1/namespaces/default/pods"
_MAPS = "/api/v1/namespaces/default/configmaps"


@dataclass(frozen=True)
class Sizes:
    """How much is done. Quick ones say nothing about speed."""

    starts: int
    repeat: int
    seconds: float
    listed: int
    watchers: int
    rate: int
    populations: tuple[int, ...]
    sample: int


FULL = Sizes(5, 3, 2.0, 10_000, 100, 1000, (1_000, 10_000, 100_000), 4000)
QUICK = Sizes(1, 1, 0.2, 200, 5, 50, (100, 200, 400), 100)


def say(
    figure: str, found: str, http: str = "-", sqlite: str = "-", ratio: float | None = None, goal: str = ""
) -> None:
    shown = f"{ratio:.2f}" if ratio is not None else "-"
    print(f"{figure:<34} {found:>22} {http:>18} {sqlite:>16} {shown:>6}  {goal}", flush=True)


@contextmanager
def scratch() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as directory:
        yield Path(directory)


def fetched(server: Running, path: str) -> bytes:
    """The body of an answer; no part of what is measured."""
    tls = ssl.create_default_context(cafile=server.ca)
    request = urllib.request.Request(
        f"https://127.0.0.1:{server.port}{path}", headers={"Authorization": f"Bearer {server.token}"}
    )
    with urllib.request.urlopen(request, context=tls) as answer:
        body: bytes = answer.read()
        return body


def write(
    server: Running, kind: str, first: int, count: int, seconds: float = 0, rate: float = 0
) -> dict[str, Any]:
    return load(
        "writers.py",
        **server.where(),
        kind=kind,
        first=first,
        count=count,
        connections=_CONNECTIONS,
        seconds=seconds,
        rate=rate,
    )


def ready(sizes: Sizes) -> None:
    """From the command to the first answered request."""
    first, again, http = [], [], []
    for _ in range(sizes.starts):
        with scratch() as folder:
            with longshore(folder / "data") as server:
                first.append(server.ready_seconds)
            with longshore(folder / "data") as server:
                again.append(server.ready_seconds)
            (folder / "answer").write_bytes(b"{}")
            with bare(folder / "data/pki/server.pem", server.ca, folder / "answer") as server:
                http.append(server.ready_seconds)
    limit = min(http)
    say("ready, first start", f"{min(first):.2f} s", f"{limit:.2f} s", ratio=min(first) / limit, goal="0.6 s")
    say("ready, next start", f"{min(again):.2f} s", f"{limit:.2f} s", ratio=min(again) / limit, goal="0.6 s")


def memory(sizes: Sizes) -> None:
    """After a start and a few requests, at rest."""
    with scratch() as folder:
        with longshore(folder / "data") as server:
            fetched(server, _PODS)
            time.sleep(1)
            rss, pss = server.memory()
        (folder / "answer").write_bytes(b"{}")
        with bare(folder / "data/pki/server.pem", server.ca, folder / "answer") as server:
            time.sleep(1)
            bare_rss, bare_pss = server.memory()
    say("idle memory, RSS", f"{rss:.0f} MB", f"{bare_rss:.0f} MB", ratio=rss / bare_rss, goal="< 70 MB")
    say("idle memory, PSS", f"{pss:.0f} MB", f"{bare_pss:.0f} MB", ratio=pss / bare_pss)


def creates(sizes: Sizes) -> None:
    """Durable creates a second over TLS with 32 connections, and the server's CPU time for one."""
    for kind in KINDS:
        found = create_rates(kind, sizes)
        say(
            f"durable creates, {kind}",
            f"{found['rate']:,.0f}/s, p99 {found['p99_ms']:.0f} ms",
            f"{found['http']:,.0f}/s",
            f"{found['sqlite']:,.0f}/s",
            ratio=found["rate"] / found["http"],
            goal=">= 3,000/s",
        )
        say(
            f"  server's CPU time for one of {kind}",
            f"{found['cpu']:.0f} us",
            f"{found['http_cpu']:.0f} us",
            f"{1e6 / found['sqlite']:.0f} us",
            ratio=found["cpu"] / found["http_cpu"],
        )


def create_rates(kind: str, sizes: Sizes) -> dict[str, float]:
    """Creates of one kind a second, and CPU microseconds for one, beside bare server and bare SQLite."""
    with scratch() as folder:
        with longshore(folder / "data") as server:
            best, cpu = _best_writes(server, kind, sizes, 8_000)
            path = request_bytes(kind, 0, "").split()[1].decode()
            answer = fetched(server, f"{path}/{kind.rstrip('s')}-{0:07}")
        (folder / "answer").write_bytes(answer)
        with bare(folder / "data/pki/server.pem", server.ca, folder / "answer") as limit:
            http, bare_cpu = _best_writes(limit, kind, sizes, 30_000)
        rows = max(bare_sqlite.rows_per_second(len(answer), sizes.seconds / 2) for _ in range(sizes.repeat))
    rates = {"rate": best["rate"], "p99_ms": best["p99_ms"], "http": http["rate"], "sqlite": rows}
    return {**rates, "cpu": cpu, "http_cpu": bare_cpu}


def _best_writes(server: Running, kind: str, sizes: Sizes, most: int) -> tuple[dict[str, Any], float]:
    """The best of several runs (`most` writes a second are prepared), and CPU microseconds a write."""
    count = int(sizes.seconds * most)
    found = []
    used, written = server.cpu_seconds(), 0
    for run in range(sizes.repeat):
        found.append(write(server, kind, run * count, count, sizes.seconds))
        written += found[-1]["count"]
    cpu = 1e6 * (server.cpu_seconds() - used) / written
    return max(found, key=lambda each: float(each["rate"])), cpu


def lists(sizes: Sizes) -> None:
    """A list of many pods, to the last byte."""
    with scratch() as folder:
        with longshore(folder / "data") as server:
            write(server, "pods", 0, sizes.listed)
            best = load("readers.py", **server.where(), path=_PODS, times=5)
            (folder / "answer").write_bytes(fetched(server, _PODS))
        with bare(folder / "data/pki/server.pem", server.ca, folder / "answer") as limit:
            http = load("readers.py", **limit.where(), path=_PODS, times=5)
        rows = bare_sqlite.read_milliseconds(best["bytes"] // sizes.listed, sizes.listed)
    say(
        f"list of {sizes.listed:,} pods ({best['bytes'] / 1e6:.1f} MB)",
        f"{best['best_ms']:.0f} ms",
        f"{http['best_ms']:.0f} ms",
        f"{rows:.0f} ms",
        ratio=best["best_ms"] / http["best_ms"],
        goal="<= 150 ms",
    )


def watches(sizes: Sizes) -> None:
    """Many watchers, each seeing every change."""
    found = watch_rates(sizes)
    name = f"{sizes.watchers} watchers, {sizes.rate:,} events/s"
    say(
        f"{name}, seen",
        f"{found['slowest']:,.0f} of {found['written']:,.0f}/s",
        f"{found['http']:,.0f}/s",
        goal=f"{sizes.rate:,}/s each",
    )
    say(f"{name}, lag p50", f"{found['lag_p50_ms']:.1f} ms", f"{found['http_lag_p50_ms']:.1f} ms")
    say(f"{name}, lag p99", f"{found['lag_p99_ms']:.1f} ms", f"{found['http_lag_p99_ms']:.1f} ms")
    ratio = found["cores"] / max(found["http_cores"], 0.01)
    say(f"{name}, CPU", f"{found['cores']:.2f} cores", f"{found['http_cores']:.2f} cores", ratio=ratio)


def watch_rates(sizes: Sizes) -> dict[str, float]:
    """Events a second that the slowest watcher saw, lags and cores, beside bare server."""
    with scratch() as folder:
        with longshore(folder / "data") as server:
            write(server, "configmaps", 0, WATCHED)
            write(server, "touch", 0, WATCHED)
            version = (
                fetched(server, f"{_MAPS}?limit=1").partition(b'"resourceVersion":"')[2].partition(b'"')[0]
            )
            path = f"{_MAPS}?watch=1&resourceVersion={version.decode()}"
            seconds = 2 * sizes.seconds
            found, busy = _watched(
                server,
                sizes,
                path,
                lambda: write(server, "touch", 0, int(sizes.rate * (seconds + 3)), rate=sizes.rate),
            )
            line = (
                b'{"type":"MODIFIED","object":'
                + fetched(server, f"{_MAPS}/configmap-{0:07}").strip()
                + b"}\n"
            )
        sent = line.partition(b'"sent":"')[2][:20]
        (folder / "line").write_bytes(line.replace(sent, b"0" * 20))
        (folder / "answer").write_bytes(b"{}")
        with bare(folder / "data/pki/server.pem", server.ca, folder / "answer", folder / "line") as limit:
            http, bare_busy = _watched(limit, sizes, path, None)
    seen = {key: float(found[key]) for key in ("slowest", "written", "lag_p50_ms", "lag_p99_ms")}
    limits = {f"http_{key}": float(http[key]) for key in ("lag_p50_ms", "lag_p99_ms")}
    return {**seen, **limits, "http": http["mean"], "cores": busy, "http_cores": bare_busy}


def _watched(
    server: Running, sizes: Sizes, path: str, writing: Callable[[], dict[str, Any]] | None
) -> tuple[dict[str, Any], float]:
    """What the watchers saw, and how many cores the server used meanwhile."""
    wishes = {"path": path, "connections": sizes.watchers, "seconds": 2 * sizes.seconds}
    readers = Generator("readers.py", {**server.where(), **wishes})
    used, began = server.cpu_seconds(), time.perf_counter()
    written = writing()["rate"] if writing is not None else 0.0
    found = readers.result()
    busy = (server.cpu_seconds() - used) / (time.perf_counter() - began)
    return {**found, "written": written}, busy


def growth(sizes: Sizes) -> None:
    """What one create costs the server while the number of objects grows."""
    spent = []
    with scratch() as folder, longshore(folder / "data") as server:
        there = 0
        for population in sizes.populations:
            if population > there:
                write(server, "pods", there, population - there)
                there = population
            runs = []
            for _ in range(sizes.repeat):
                used = server.cpu_seconds()
                write(server, "pods", there, sizes.sample)
                there += sizes.sample
                runs.append(1e6 * (server.cpu_seconds() - used) / sizes.sample)
            spent.append(min(runs))
            say(f"CPU time of a create among {population:,}", f"{spent[-1]:.0f} us")
        rss, _ = server.memory()
    say("cost, most against fewest objects", f"{spent[-1] / spent[0]:.2f}", goal="<= 1.3")
    say(f"memory with {there:,} pods, RSS", f"{rss:.0f} MB")


FIGURES: dict[str, Callable[[Sizes], None]] = {
    "ready": ready,
    "memory": memory,
    "creates": creates,
    "lists": lists,
    "watches": watches,
    "growth": growth,
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("figures", nargs="*", metavar="FIGURE", help=f"some of: {', '.join(FIGURES)}")
    parser.add_argument("--quick", action="store_true", help="small sizes: shows that it works, not how fast")
    arguments = parser.parse_args()
    unknown = set(arguments.figures) - set(FIGURES)
    if unknown:
        parser.error(f"no such figure: {', '.join(sorted(unknown))}")
    commit = subprocess.run(
        ["git", "-C", str(HERE), "rev-parse", "--short", "HEAD"], capture_output=True, text=True
    )
    print(f"longshore at {commit.stdout.strip() or 'no commit'}, Python {sys.version.split()[0]}")
    say("figure", "longshore", "bare server", "bare SQLite", goal="goal")
    for name, measure in FIGURES.items():
        if not arguments.figures or name in arguments.figures:
            measure(QUICK if arguments.quick else FULL)


if __name__ == "__main__":
    main()
