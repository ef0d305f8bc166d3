"""Recorded scenarios come true although the way from `longshore controllers` to the API server has bad days.

Part of `make test-outside`. The controllers are a real process, and so is the server; between them is a proxy
that loses requests and answers, is slow, cuts watches, answers 410, 429 and pages of HTML, and refuses all
credentials for seconds now and then.
The runner of the kit talks to the server directly. As in `simulation/kits/test_kits_on_bad_days.py`, events
and measured times may differ, and a snapshot may fall between a failed write and its retry, so a scenario
has to come true in one of five plays.
"""

from __future__ import annotations

import asyncio
import os
import random
import re
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from simulation.kits.judged_differences import judged
from support.bad_proxy import BadProxy
from support.longshore_process import RunningLongshore, longshore_up
from support.places import RECORDED

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(not os.environ.get("LONGSHORE_TEST_OUTSIDE"), reason="make test-outside runs this"),
]
SEED, RATE, PLAYS = 20261117, 0.02, 5
FAULTS = ("refused", "lost request", "lost answer", "slow", "busy", "page", "cut", "gone", "garbage")
_RESULT = re.compile(r"^(ok|FAIL)  +(\S+).*\n((?:      .*\n)*)", re.MULTILINE)
"""One scenario in what the runner says: its name, and the differences below it."""
_REFUSED_SECONDS = 1.5


class Kit(NamedTuple):
    """Recorded scenarios, the controllers that the server itself runs, and the processes outside."""

    folder: Path
    own: str
    outside: tuple[tuple[str, ...], ...]
    options: tuple[str, ...] = ()
    """Of the runner. A snapshot has to wait for longer than pauses between tries."""

    @property
    def scenarios(self) -> list[str]:
        return [file.stem for file in (self.folder / "scenarios").glob("*.yaml")]


_JOB_CONTROLLERS = (
    *("controllers", "--managed-by", "kubernetes.io/job-controller"),
    *("--controllers", "job,cronjob,ttl,garbage,podgc"),
)
_VOLCANO = "volcano-job,volcano-cronjob,volcano-gc,volcano-jobflow,volcano-podgroup,volcano-queue"
JOBS = Kit(RECORDED / "conformance", "namespace,serviceaccount", (_JOB_CONTROLLERS,))
VOLCANO = Kit(
    RECORDED / "conformance-volcano",
    "garbage,namespace,serviceaccount",
    (("controllers", "--controllers", _VOLCANO), ("scheduler", "--schedulers", "volcano")),
    ("--settle", "6", "--jobs", "26"),
)


@asynccontextmanager
async def outside(proxy: BadProxy, folder: Path, words: Sequence[str]) -> AsyncIterator[Path]:
    """A process that is started again when it is asked to end. Gives the file with its id.

    Credentials that the server refuses at the very start end the process, so its supervisor tries again.
    """
    config, id_file, errors = str(proxy.kubeconfig(folder)), folder / f"{words[0]}.pid", folder / words[0]
    ready = asyncio.Event()

    async def keep_running() -> None:
        while True:
            with errors.open("wb") as stderr:
                process = await asyncio.create_subprocess_exec(
                    *(sys.executable, "-m", "longshore", words[0], "--kubeconfig", config, *words[1:]),
                    stdout=asyncio.subprocess.PIPE,
                    stderr=stderr,
                )
            id_file.write_text(f"{process.pid}")
            try:
                assert process.stdout is not None
                if b"ready" in await process.stdout.readline():
                    ready.set()
                    assert await process.wait() == 0, errors.read_text()  # it led all the time
                else:
                    await process.wait()
                    assert "(401 Unauthorized)" in errors.read_text(), errors.read_text()
            finally:
                if process.returncode is None:
                    process.kill()
                await process.communicate()

    async with asyncio.TaskGroup() as tasks:
        keeping = tasks.create_task(keep_running())
        await ready.wait()
        yield id_file
        keeping.cancel()


async def played(
    kit: Kit, longshore: RunningLongshore, id_file: Path, only: list[str]
) -> dict[str, list[str]]:
    """By scenario, the differences that no retry explains."""
    runner = await asyncio.create_subprocess_exec(
        sys.executable,
        str(kit.folder / "run.py"),
        *("--kubeconfig", str(longshore.kubeconfig), "--timeout-scale", "4", *kit.options),
        *(word for name in only for word in ("--only", name)),
        stdout=asyncio.subprocess.PIPE,
        env=os.environ | {"CONFORMANCE_RESTART": f"kill $(cat {id_file})"},
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


@pytest.mark.parametrize(("kit", "number"), [(JOBS, 105), (VOLCANO, 78)], ids=["jobs", "volcano"])
async def test_recorded_scenarios_come_true_through_a_proxy_with_bad_days(
    tmp_path: Path, kit: Kit, number: int
) -> None:
    left = kit.scenarios
    assert len(left) == number
    async with AsyncExitStack() as stack:
        longshore = stack.enter_context(
            longshore_up("--in-memory", "--no-node", "--no-scheduler", "--controllers", kit.own)
        )
        proxy = await stack.enter_async_context(BadProxy(longshore, SEED, RATE).serving())
        id_files = [await stack.enter_async_context(outside(proxy, tmp_path, words)) for words in kit.outside]
        refusing = asyncio.create_task(refuse_now_and_then(proxy))
        for _ in range(PLAYS):
            results = await played(kit, longshore, id_files[0], left)
            assert set(results) == set(left)
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
        async with (
            BadProxy(longshore, SEED, 0.0).serving() as proxy,
            outside(proxy, tmp_path, _JOB_CONTROLLERS),
        ):
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
