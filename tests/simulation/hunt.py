"""Plays seeds until one is wrong: `python -m simulation.hunt FIRST COUNT JOBS` says how many it took."""

from __future__ import annotations

import multiprocessing
import sys

from simulation.seeds import wrong


def main() -> int:
    first, count, jobs = map(int, sys.argv[1:])
    with multiprocessing.get_context("spawn").Pool(jobs) as pool:
        for seed, faults in pool.imap(wrong, range(first, first + count)):
            if faults:
                print(seed - first + 1, f"{faults[0].invariant}: {faults[0].said}")
                return 0
    return 1


if __name__ == "__main__":
    sys.exit(main())
