"""Recorded scenarios come true although the way from `longshore controllers` to the API server has bad days.

Part of `make test-outside`. The controllers are a real process, and so is the server; between them is a proxy
that loses requests and answers, is slow, cuts watches, and refuses all credentials for seconds now and then.
The runner of the kit talks to the server directly. As in `simulation/kits/test_kits_on_bad_days.py`, events
and measured times may differ, and a snapshot may fall between a failed write and its retry, so a scenario
has to come true in one of three plays.
"""

from __future__ import annotations

import asyncio
import os
import random
import re
import sys
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from simulation.kits.judged_differences import judged
from support.bad_proxy import BadProxy
from support.longshore_process import RunningLongshore, longshore_up
from support.places import RECORDED

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(not os.environ.get("LONGSHORE_TEST_OUTSIDE"), reason="make test-outside runs this"),
]
SEED, RATE, PLAYS = 20261117, 0.02, 3
SCENARIOS = (
    "basic-*",
    "indexed-*",
    "perindex-*",
    "success-policy-*",
    "suspend-*",
    "pfp-*",
    "elastic-*",
    "scale-*",
)
FAULTS = ("refused", "lost request", "lost answer", "slow", "cut")
_RESULT = re.compile(r"^(ok|FAIL)  +(\S+).*\n((?:      .*\n)*)", re.MULTILINE)
"""One scenario in what the runner says: its name, and the differences below it."""
_REFUSED_SECONDS = 1.5


@asynccontextmanager
async def controllers(proxy: BadProxy, folder: Path) -> AsyncIterator[None]:
    names = ("--managed-by", "kubernetes.io/job-controller", "--controllers", "job,cronjob,ttl,garbage,podgc")
    words = ("-m", "longshore", "controllers", "--kubeconfig", str(proxy.kubeconfig(folder)), *names)
    process = await asyncio.create_subprocess_exec(
        sys.executable, *words, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL
    )
    try:
        assert process.stdout is not None
        assert b"ready" in await process.stdout.readline()
        yield
        assert process.returncode is None  # it led all the time
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def played(longshore: RunningLongshore, scenarios: Iterable[str]) -> dict[str, list[str]]:
    """By scenario, the differences that no retry explains."""
    only = [word for name in scenarios for word in ("--only", name)]
    runner = await asyncio.create_subprocess_exec(
        sys.executable,
        str(RECORDED / "conformance" / "run.py"),
        *("--kubeconfig", str(longshore.kubeconfig), "--fast", "--timeout-scale", "4", *only),
        stdout=asyncio.subprocess.PIPE,
    )
    said, _ = await runner.communicate()
    return {
        name: [*judged([line[6:] for line in lines.splitlines()])] if result == "FAIL" else []
        for result, name, lines in _RESULT.findall(said.decode())
    }


async def refuse_now_and_then(proxy: BadProxy) -> None:
    """At odd times: pauses between tries double, and must not always end in such a time."""
    dice = random.Random(SEED)
    while True:
        await asyncio.sleep(4 + 8 * dice.random())
        proxy.refuses = True
        await asyncio.sleep(_REFUSED_SECONDS)
        proxy.refuses = False


async def test_recorded_scenarios_come_true_through_a_proxy_with_bad_days(tmp_path: Path) -> None:
    with longshore_up(
        "--in-memory", "--no-node", "--no-scheduler", "--controllers", "namespace,serviceaccount"
    ) as longshore:
        async with BadProxy(longshore, SEED, RATE).serving() as proxy, controllers(proxy, tmp_path):
            refusing = asyncio.create_task(refuse_now_and_then(proxy))
            left = [*SCENARIOS]
            for _ in range(PLAYS):
                results = await played(longshore, left)
                assert results
                wrong = {name: said for name, said in results.items() if said}
                left = [*wrong]
                if not left:
                    break
            refusing.cancel()
            assert wrong == {}
            assert set(FAULTS) <= set(proxy.happened), proxy.happened


async def test_a_job_goes_on_when_its_watches_freeze_without_a_word(tmp_path: Path) -> None:
    """It takes 90 seconds until a watch that says nothing is taken for dead."""
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "i"}]}}
    jobs = "/apis/batch/v1/namespaces/default/jobs"
    with longshore_up(
        "--in-memory", "--no-node", "--no-scheduler", "--controllers", "namespace,serviceaccount"
    ) as longshore:
        async with BadProxy(longshore, SEED, 0.0).serving() as proxy, controllers(proxy, tmp_path):
            proxy.freezes = True
            job = {"metadata": {"name": "j"}, "spec": {"template": template}}
            await asyncio.to_thread(longshore.made, "POST", jobs, job)
            await proxy.frozen.wait()
            proxy.freezes = False
            while True:
                found = await asyncio.to_thread(longshore.made, "GET", f"{jobs}/j")
                if found.get("status", {}).get("active"):
                    break
                await asyncio.sleep(1)
