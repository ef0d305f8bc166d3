"""`bench/cron.py --quick` works and says what it measured."""

from __future__ import annotations

import re
import subprocess
import sys

from support.places import ROOT

BENCH = ROOT / "bench" / "cron.py"
EXPECTED = (
    r"100 CronJobs, controllers cronjob,",
    r"  created over HTTP: \d+/s; an empty longshore has \d+ MB",
    r"  start-up: ready after [\d.]+ s, all looked at after [\d.]+ s",
    r"  memory: \d+ MB",
    r"  idle: [\d.]+% of a core over 0.5 s",
    r"  20 due in one second: \d+ runs/s; late by p50 [\d.]+ s, p99 [\d.]+ s, at most [\d.]+ s; then \d+ MB",
)


def test_the_quick_bench_tells_start_up_memory_and_lateness() -> None:
    done = subprocess.run(
        [sys.executable, str(BENCH), "--quick"], capture_output=True, text=True, timeout=120, check=True
    )
    for line, pattern in zip(done.stdout.splitlines(), EXPECTED, strict=True):
        assert re.match(pattern, line), line
