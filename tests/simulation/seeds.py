"""The command `tools/seeds`: plays many seeds on all cores, makes what is wrong smaller, and tells it."""

from __future__ import annotations

import argparse
import gc
import itertools
import logging
import multiprocessing
import os
import random
import sys
import time
from collections.abc import Iterator
from concurrent import futures
from concurrent.futures import Future, ProcessPoolExecutor

import msgspec

from longshore.up import startup
from simulation import drawing, judging, plants, world
from simulation.judging import Fault
from simulation.record import WORK
from simulation.scenario import Scenario

_CHUNK = 4


def main() -> int:
    parser = argparse.ArgumentParser(prog="tools/seeds", description=__doc__)
    parser.add_argument("--from", dest="first", type=int, default=0, metavar="N", help="the first seed")
    parser.add_argument("--count", type=int, metavar="N", help="so many seeds (default: 200)")
    parser.add_argument(
        "--seconds", type=float, metavar="S", help="as many seeds as fit into so many seconds"
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, metavar="N", help="processes")
    parser.add_argument("--seed", type=int, metavar="N", help="play this one, and say all that happened")
    parser.add_argument("--plants", nargs="*", metavar="NAME", help="plant these faults, or all of them")
    parser.add_argument(
        "--most", type=int, default=plants.MAX_SEEDS, metavar="N", help="seeds to find a planted fault in"
    )
    parser.add_argument(
        "--some-plants", type=int, metavar="N", help="plant so many of those soon found, drawn by --from"
    )
    options = parser.parse_args()
    logging.getLogger("longshore").propagate = False  # a bad day has many warnings; errors are judged
    if options.seed is not None:
        return _one(options.seed)
    if options.some_plants is not None:
        chosen = random.Random(options.first).sample(plants.QUICK, options.some_plants)
        return plants.run(chosen, options.jobs, 0, options.most)
    if options.plants is not None:
        return plants.run(options.plants, options.jobs, options.first, options.most)
    count = options.count if options.count or options.seconds else 200
    return _many(options.first, count, options.seconds, options.jobs)


def wrong(seed: int) -> tuple[int, list[Fault]]:
    logging.getLogger("longshore").propagate = False
    return seed, judging.judged(drawing.scenario(seed))


def _many(first: int, count: int | None, seconds: float | None, jobs: int) -> int:
    """Plays seeds on all processes, and makes those that are wrong smaller when the time is over."""
    begun, played = time.monotonic(), 0
    found: list[tuple[int, Fault]] = []
    processes = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, processes, _prepare) as pool:
        for seed, faults in _played(pool, jobs, _numbers(first, count, begun, seconds)):
            played += 1
            if faults:
                found.append((seed, faults[0]))
                print(f"seed {seed}: {faults[0].invariant}: {faults[0].said}", flush=True)
        took = time.monotonic() - begun
        for seed, words in pool.map(_smaller, found):
            print(f"seed {seed}, made smaller: {words}")
            print(f"  play it again: tools/seeds --seed {seed}", flush=True)
    speed = f"{played / took * 60:.0f} a minute"
    print(f"{played} seeds from {first} in {took:.1f} s ({speed}): {len(found)} wrong")
    return 1 if found else 0


def _played(
    pool: ProcessPoolExecutor, jobs: int, numbers: Iterator[int]
) -> Iterator[tuple[int, list[Fault]]]:
    """Each number with what is wrong with it. No more are handed out than the processes have to do, so that
    numbers may end when time does."""
    running: set[Future[list[tuple[int, list[Fault]]]]] = set()
    while True:
        while len(running) < 2 * jobs and (some := [*itertools.islice(numbers, _CHUNK)]):
            running.add(pool.submit(_wrong, some))
        if not running:
            return
        ended, running = futures.wait(running, return_when=futures.FIRST_COMPLETED)
        for each in ended:
            yield from each.result()


def _wrong(seeds: list[int]) -> list[tuple[int, list[Fault]]]:
    return [*map(wrong, seeds)]


def _prepare() -> None:
    logging.getLogger("longshore").propagate = False
    _collect_seldom()


def _collect_seldom() -> None:
    """Lets the collector of garbage look less often, and not at what was there before: 0.13 s of CPU for a
    seed instead of 0.15."""
    gc.freeze()
    gc.set_threshold(*startup.THRESHOLDS)


def _numbers(first: int, count: int | None, begun: float, seconds: float | None) -> Iterator[int]:
    for number in itertools.count(first) if count is None else range(first, first + count):
        if seconds is not None and time.monotonic() - begun > seconds:
            return
        yield number


def _smaller(found: tuple[int, Fault]) -> tuple[int, str]:
    """The smallest scenario that shows the fault of a seed, in words."""
    seed, fault = found
    return seed, _words(judging.smaller(drawing.scenario(seed), lambda each: _shows(each, fault)))


def _shows(scenario: Scenario, fault: Fault) -> bool:
    return any(each.invariant == fault.invariant for each in judging.judged(scenario))


def _words(scenario: Scenario) -> str:
    return msgspec.json.encode(scenario).decode()


def _one(seed: int) -> int:
    scenario = drawing.scenario(seed)
    print(_words(scenario))
    record = world.play(scenario)
    for change in record.changes:
        if change.key.storage in WORK:
            print(f"{change.at:9.3f} {change.type:8} {change.key} {msgspec.json.encode(change.obj).decode()}")
    faults = judging.faults(record)
    for fault in faults:
        print(f"{fault.invariant}: {fault.said}")
    print("wrong" if faults else "all is as it must be")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
