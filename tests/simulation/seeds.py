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
    """A seed and what is wrong with it."""
    logging.getLogger("longshore").propagate = False
    return seed, judging.judged(drawing.scenario(seed))


def _many(first: int, count: int | None, seconds: float | None, jobs: int) -> int:
    begun, played, found = time.monotonic(), 0, 0
    with multiprocessing.get_context("spawn").Pool(jobs, _collect_seldom) as pool:
        for seed, faults in pool.imap_unordered(wrong, _numbers(first, count, begun, seconds), _CHUNK):
            played += 1
            if faults:
                found += 1
                _tell(seed, faults)
    took = time.monotonic() - begun
    print(f"{played} seeds from {first} in {took:.1f} s ({played / took * 60:.0f} a minute): {found} wrong")
    return 1 if found else 0


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


def _tell(seed: int, faults: list[Fault]) -> None:
    """The fault, the smallest scenario that shows it, and how to play it again."""
    first = faults[0]
    print(f"seed {seed}: {first.invariant}: {first.said}")
    small = judging.smaller(drawing.scenario(seed), lambda each: _shows(each, first))
    print(f"  made smaller: {_words(small)}")
    print(f"  play it again: tools/seeds --seed {seed}", flush=True)


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
