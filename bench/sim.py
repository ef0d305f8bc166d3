"""How fast simulated time passes: `python bench/sim.py [--quick]`.

A month of CronJobs with their Jobs, and gangs on many nodes. CPU seconds of the process stand
beside each, as the machine may have other work. `--quick` is a smoke test with small numbers.
`--calls` counts the function calls, Python's and C's, that one Job takes: whatever else the machine does,
these are the same.
"""

from __future__ import annotations

import argparse
import cProfile
import gc
import time
from datetime import UTC, datetime

from longshore.api.types import Obj
from longshore.sim.settings import DAY_SECONDS, SimSettings, nodes
from longshore.sim.sim_result import SimResult
from longshore.sim.simulate import simulate

START = datetime(2027, 1, 1, tzinfo=UTC)
POD = {
    "restartPolicy": "Never",
    "containers": [{"name": "m", "image": "i", "resources": {"requests": {"cpu": "1"}}}],
}


def cron_job(name: str, schedule: str) -> Obj:
    template = {"spec": {"template": {"spec": POD}}}
    spec = {"schedule": schedule, "jobTemplate": template}
    return {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": name}, "spec": spec}


def gang(name: str) -> Obj:
    spec = {"schedulerName": "volcano", "tasks": [{"name": "w", "replicas": 4, "template": {"spec": POD}}]}
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {**spec, "minAvailable": 4},
    }


def timed(words: str, settings: SimSettings) -> SimResult:
    begun, cpu = time.monotonic(), time.process_time()
    found = simulate(settings)
    took, used = time.monotonic() - begun, time.process_time() - cpu
    rate = len(found.jobs) / used
    made = f"{len(found.jobs)} Jobs, {len(found.bars)} pods"
    pace = f"{rate:.0f} Jobs a CPU second, {found.seconds / used:,.0f} times as fast as the clock"
    print(f"{words}: {made} in {took:.1f} s ({used:.1f} s CPU): {pace}", flush=True)
    return found


def calls(settings: SimSettings) -> tuple[int, int]:
    """The function calls of a simulation, and its Jobs."""
    profile = cProfile.Profile()
    found = profile.runcall(simulate, settings)
    profile.create_stats()
    return sum(each[1] for each in profile.stats.values()), len(found.jobs)  # type: ignore[attr-defined] # as documented, and not in typeshed


def count_calls() -> None:
    """Counts them for two sizes: the difference is without start and end."""
    gc.disable()  # what it calls, and when, is not a Job's

    def hours(number: int) -> SimSettings:
        work = [cron_job(f"h{n}", f"{n * 3} * * * *") for n in range(5)]
        return SimSettings(work, START, "UTC", number * 3600, nodes=nodes(4, {}))

    def gangs(number: int) -> SimSettings:
        work = [gang(f"g{n}") for n in range(number)]
        return SimSettings(work, START, "UTC", 365 * DAY_SECONDS, until_done=True, nodes=nodes(20, {}))

    for words, of, few, many in (("a CronJob", hours, 2, 10), ("a gang of four", gangs, 20, 100)):
        calls(of(few))  # what is done once is done
        (less, fewer), (more, most) = calls(of(few)), calls(of(many))
        print(f"function calls for one Job of {words}: {(more - less) / (most - fewer):,.0f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--calls", action="store_true")
    options = parser.parse_args()
    if options.calls:
        count_calls()
        return
    quick = options.quick
    days, crons, gangs = (1, 4, 50) if quick else (30, 200, 10_000)
    hourly = crons // 20
    work = [cron_job(f"h{n}", f"{n % 60} * * * *") for n in range(hourly)]
    work += [cron_job(f"n{n}", f"{n % 60} {n % 24} * * *") for n in range(crons - hourly)]
    month = SimSettings(work, START, "UTC", days * DAY_SECONDS, nodes=nodes(4, {}))
    timed(f"{days} days of {hourly} hourly and {crons - hourly} nightly CronJobs", month)
    crowd = [gang(f"g{n}") for n in range(gangs)]
    timed(
        f"{gangs} gangs of four on 100 nodes",
        SimSettings(crowd, START, "UTC", 365 * DAY_SECONDS, until_done=True, nodes=nodes(100, {})),
    )


if __name__ == "__main__":
    main()
