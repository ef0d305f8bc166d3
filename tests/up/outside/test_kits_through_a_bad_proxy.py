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
import json
import os
import random
import re
import sys
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Final, NamedTuple

import pytest
import yaml

from longshore.client.http.asyncio_driver import HttpConnection
from simulation.kits.judged_differences import judged
from support.http_calls import calling
from support.http_server import Asked, Reply, json_reply, serving
from support.longshore_process import RunningLongshore, longshore_up
from support.places import RECORDED

TOKEN: Final = "the-proxy's-own"
_OWN_HEADERS: Final = frozenset(
    ("host", "authorization", "content-length", "transfer-encoding", "connection", "content-encoding")
)
_SLOW_SECONDS: Final = 0.5
_REFUSED: Final = {"kind": "Status", "status": "Failure", "code": 401, "reason": "Unauthorized"}

_BUSY: Final = {"kind": "Status", "status": "Failure", "code": 429, "reason": "TooManyRequests"}
_PAGE: Final = b"<html>\n<head><title>longshore</title></head>\n<body>Please log in.</body>\n</html>\n"
_GONE: Final = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "code": 410,
    "reason": "Expired", "message": "too old resource version"}  # fmt: skip


class BadProxy:
    """A strict HTTP proxy before a running longshore, for controllers outside. It has bad days, by dice.

    | fault | what it does |
    | --- | --- |
    | refused | for some seconds every request is answered 401, as while a token is being replaced |
    | lost request | the connection breaks before the server hears of anything |
    | lost answer | the server does what it is asked, and the connection breaks before it can say so |
    | slow | a request takes half a second longer |
    | busy | a request is answered 429, with or without `Retry-After` |
    | page | a request is answered 200 with a page of HTML |
    | cut | a watch breaks in the middle |
    | gone | a watch ends in an ERROR event of code 410 |
    | garbage | a watch sends something that is no event, and ends |
    | frozen | a watch stays open and says nothing any more |

    It passes everything else on as it is: method, path, query, headers but for the credentials, and the body
    byte for byte in both directions. A request that is no HTTP is answered 400, and one with other
    credentials 401.

    `rate` is the share of requests that go wrong, and a quarter of it that of the pieces of a watch: each
    blinds a reader for seconds. Tests turn `refuses` and `freezes` on and off."""

    def __init__(self, longshore: RunningLongshore, seed: int, rate: float) -> None:
        self._longshore, self._dice, self.rate = longshore, random.Random(seed), rate
        self.happened: Counter[str] = Counter()
        self.refuses = False
        self.freezes = False
        self.frozen = asyncio.Event()
        """Set when a watch was frozen."""
        self.url = ""

    def kubeconfig(self, folder: Path) -> Path:
        """A kubeconfig that leads through the proxy."""
        path = folder / "through-the-proxy"
        config = dict(self._longshore.config)
        config["clusters"] = [{"name": "c", "cluster": {"server": self.url}}]
        config["users"] = [{"name": "u", "user": {"token": TOKEN}}]
        config["contexts"] = [{"name": "x", "context": {"cluster": "c", "user": "u", "namespace": "default"}}]
        path.write_text(yaml.safe_dump(config | {"current-context": "x"}))
        return path

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[BadProxy]:
        longshore = self._longshore
        headers = {"Authorization": f"Bearer {longshore.token}"}
        async with (
            calling(longshore.server, longshore.tls, headers) as self._calls,
            serving(self._answer) as self.url,
        ):
            yield self

    async def _answer(self, request: Asked) -> Reply | None:
        if request.header("Authorization") != f"Bearer {TOKEN}" or self.refuses:
            self.happened["refused"] += 1
            return json_reply(_REFUSED, status=401)
        watches = "watch" in request.query
        fault = self._fault("lost request", "slow", "busy", "page", *(() if watches else ("lost answer",)))
        if fault == "lost request":
            return self._broken(request)
        if fault == "busy":
            headers = {"Retry-After": "1"} if self._dice.random() < 0.5 else {}
            return json_reply(_BUSY, status=429, headers=headers)
        if fault == "page":
            return Reply(_PAGE, headers={"Content-Type": "text/html"})
        if fault == "slow":
            await asyncio.sleep(_SLOW_SECONDS)
        sent = [(name, text) for name, text in request.headers if name.lower() not in _OWN_HEADERS]
        asked = self._calls.request(request.method, request.target, sent, request.body)
        async with self._calls.pool.open(asked) as answer:
            reader = answer.reader
            kept = {name: text for name, text in reader.headers.items() if name not in _OWN_HEADERS}
            if not watches or reader.code != 200:
                found = await answer.read_all()
                if fault == "lost answer":
                    return self._broken(request)
                return Reply(found, reader.code, kept)
            return await self._stream(request, answer, kept)

    async def _stream(self, request: Asked, answer: HttpConnection, headers: dict[str, str]) -> Reply | None:
        await request.begin(answer.reader.code, headers)
        is_whole = True
        async for chunk in answer:
            if self.freezes:
                self.frozen.set()
                await asyncio.Event().wait()
            fault = self._fault("cut", "gone", "garbage", rate=self.rate / 4)
            if fault == "cut":
                return self._broken(request)
            if fault and not is_whole:
                return self._broken(request)  # nothing can be said in the middle of a line
            if fault:
                gone = json.dumps({"type": "ERROR", "object": _GONE}).encode() + b"\n"
                await request.write(gone if fault == "gone" else _PAGE)
                return None
            is_whole = chunk.endswith(b"\n")
            await request.write(chunk)
        return None

    def _fault(self, *faults: str, rate: float | None = None) -> str:
        if self._dice.random() >= (self.rate if rate is None else rate):
            return ""
        fault = self._dice.choice(faults)
        self.happened[fault] += 1
        return fault

    def _broken(self, request: Asked) -> None:
        request.abort()


# ---- tests

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
