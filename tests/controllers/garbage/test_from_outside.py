"""The collectors over HTTP, and a whole longshore that is killed in the middle of a large deletion."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from controllers.garbage.garbage_scene import JOBS, MAPS, POD_SPEC, PODS, owner
from longshore.api.errors import StatusError
from longshore.api.strategy import Propagation
from longshore.api.types import Obj
from longshore.client import Client, DeleteOptions, Unreachable, What
from longshore.client.http import HttpClient
from longshore.controllers import garbage, podgc, ttl
from longshore.machinery.controller_context import ControllerContext
from longshore.machinery.time.clock import RealClock
from longshore.up.options import Options
from longshore.up.running import running

pytestmark = pytest.mark.anyio
JOB: Obj = {"spec": {"suspend": True, "template": {"spec": {**POD_SPEC, "restartPolicy": "Never"}}}}
TTL: Obj = {"ttlSecondsAfterFinished": 0}
AT = "2026-01-01T00:00:00Z"
ENDED: Obj = {
    "startTime": AT,
    "conditions": [
        {"type": kind, "status": "True", "lastProbeTime": AT, "lastTransitionTime": AT}
        for kind in ("FailureTarget", "Failed")
    ],
}


async def names(client: Client, what: What) -> list[str]:
    return [obj["metadata"]["name"] for obj in (await client.list(what, "default")).items]


async def until_at_most(client: Client, what: What, count: int) -> list[str]:
    async with asyncio.timeout(60):
        while len(found := await names(client, what)) > count:  # noqa: ASYNC110 - it is another process
            await asyncio.sleep(0.005)
    return found


async def test_all_three_work_over_http(anyio_backend: str) -> None:
    policies: tuple[Propagation, ...] = ("Background", "Foreground", "Orphan")
    async with (
        running(Options(in_memory=True, port=0, controllers=(), node=False, scheduler=False)) as longshore,
        HttpClient.from_kubeconfig(longshore.kubeconfig) as client,
        asyncio.TaskGroup() as tasks,
    ):
        clock, rng, here = RealClock(), random.Random(0), longshore.client
        controllers = [
            tasks.create_task(each.run(ControllerContext(client, clock=clock, rng=rng)))
            for each in (garbage, podgc, ttl)
        ]
        for how in policies:
            made = await here.create(MAPS, {"metadata": {"name": "a"}}, "default")
            child = {"metadata": {"name": how.lower(), "ownerReferences": [owner(made)]}}
            await here.create(MAPS, child, "default")
            await here.delete(MAPS, "a", "default", DeleteOptions(propagation=how))
            await until_at_most(here, MAPS, how == "Orphan")
        [left] = (await here.list(MAPS, "default")).items
        assert left["metadata"]["name"] == "orphan"
        assert "ownerReferences" not in left["metadata"]
        await here.create(JOBS, {"metadata": {"name": "job"}, "spec": {**JOB["spec"], **TTL}}, "default")
        await here.patch(JOBS, "job", {"status": ENDED}, "default", subresource="status")
        await until_at_most(here, JOBS, 0)
        for task in controllers:
            task.cancel()


class OneGroupStale(HttpClient):
    """Talks to a cluster where nobody answers for one group, as when a metrics server is away."""

    async def _groups(self, path: str) -> Obj:
        document = await super()._groups(path)
        for group in document["items"]:
            if group["metadata"].get("name") == "policy":
                (version,) = group["versions"]
                version.update(resources=[], freshness="Stale")
        return document


class OneGroupAway(HttpClient):
    """Talks to such a cluster of before Kubernetes 1.26."""

    async def _groups(self, path: str) -> Obj:
        return await self._document(path)

    async def _document(self, path: str, headers: Mapping[str, str] | None = None) -> Obj:
        if path.startswith("/apis/policy/"):
            raise StatusError(503, "ServiceUnavailable", "service unavailable")
        return await super()._document(path)


@pytest.mark.parametrize(
    ("engine", "reason"),
    [
        (OneGroupStale, "stale GroupVersion discovery: policy/v1"),
        (OneGroupAway, "service unavailable"),
    ],
)
async def test_a_group_that_does_not_answer_keeps_nobody_from_collecting_the_rest(
    anyio_backend: str, engine: type[HttpClient], reason: str
) -> None:
    async with (
        running(Options(in_memory=True, port=0, controllers=(), node=False, scheduler=False)) as longshore,
        engine.from_kubeconfig(longshore.kubeconfig) as client,
        asyncio.TaskGroup() as tasks,
    ):
        with pytest.raises(Unreachable, match=f"what is served in policy/v1: {reason}"):
            await client.resources()
        context = ControllerContext(client, clock=RealClock(), rng=random.Random(0))
        collecting = tasks.create_task(garbage.run(context))
        here = longshore.client
        made = await here.create(MAPS, {"metadata": {"name": "a"}}, "default")
        child = {"metadata": {"name": "b", "ownerReferences": [owner(made)]}}
        await here.create(MAPS, child, "default")
        await here.delete(MAPS, "a", "default", DeleteOptions(propagation="Foreground"))
        await until_at_most(here, MAPS, 0)
        collecting.cancel()


@asynccontextmanager
async def up(data: Path) -> AsyncIterator[tuple[asyncio.subprocess.Process, HttpClient]]:
    words = (
        "up",
        "--data-dir",
        str(data),
        "--port",
        "0",
        "--controllers",
        "garbage",
        "--no-node",
        "--no-scheduler",
    )
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "longshore", *words, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    try:
        assert b"is ready" in await process.stdout.readline()
        async with HttpClient.from_kubeconfig(data / "kubeconfig") as client:
            yield process, client
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def test_a_large_deletion_goes_on_after_kill_9(anyio_backend: str, tmp_path: Path) -> None:
    async with up(tmp_path) as (process, client):
        job = await client.create(JOBS, {"metadata": {"name": "job"}, **JOB}, "default")

        async def pod(number: int) -> None:
            meta = {"name": f"pod-{number}", "ownerReferences": [owner(job, JOBS)]}
            await client.create(PODS, {"metadata": meta, "spec": POD_SPEC}, "default")

        for at in range(0, 400, 50):
            await asyncio.gather(*(pod(n) for n in range(at, at + 50)))
        held = {"name": "held", "ownerReferences": [owner(job, JOBS)], "finalizers": ["example.com/hold"]}
        await client.create(PODS, {"metadata": held, "spec": POD_SPEC}, "default")
        async with client.watch(PODS, "default") as events:
            await client.delete(JOBS, "job", "default", DeleteOptions(propagation="Foreground"))
            async for event in events:
                if event.type == "DELETED":  # the first of many
                    os.kill(process.pid, signal.SIGKILL)
                    break
        await process.wait()
    async with up(tmp_path) as (_, client):
        assert await until_at_most(client, PODS, 1) == ["held"]
        assert await names(client, JOBS) == ["job"]
        await client.patch(PODS, "held", {"metadata": {"finalizers": None}}, "default")
        await until_at_most(client, PODS, 0)
        await until_at_most(client, JOBS, 0)
