"""Memory stays flat: of Jobs that ran and were deleted, no part of a longshore holds on to anything.

A whole plane works off some Jobs, gangs and CronJobs on the virtual clock; some time after they are deleted,
everything reachable is walked. What must not be there are their names and their UIDs, in whatever map, queue,
cache or set. A second round of the same must not make any container larger.
"""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest

from longshore.api.retention import Retention
from longshore.api.types import Obj
from longshore.client import DeleteOptions
from longshore.client.local import LocalClient
from longshore.machinery.time import virtual
from longshore.machinery.time.virtual import VirtualClock
from longshore.machinery.work_limits import WorkLimits
from longshore.node.runtime import Container
from longshore.plane.controllers import WORKERS
from longshore.testing import Run, ScriptedNode
from longshore.testing.world import World
from plane.reachable import Walk

pytestmark = pytest.mark.long

NS = "default"
JOBS, CRONJOBS = ("batch/v1", "Job"), ("batch/v1", "CronJob")
GANGS, QUEUES = ("batch.volcano.sh/v1alpha1", "Job"), ("scheduling.volcano.sh/v1beta1", "Queue")
CLAIMS, SPACES = ("v1", "PersistentVolumeClaim"), ("v1", "Namespace")
KINDS = (JOBS, CRONJOBS, GANGS, CLAIMS, ("v1", "Pod"), ("v1", "Event"), ("v1", "ConfigMap"))
UID = re.compile("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
ROUND_JOBS = 12
NOISE_ENTRIES = ROUND_JOBS // 2
"""A container may grow by a little: a leak adds an entry for every Job."""


def script(container: Container) -> Run:
    if "hang" in container.pod:
        return Run(seconds=None)
    return Run(seconds=2.0, code=1 if "bad" in container.pod else 0)


def pod_spec(**more: Any) -> Obj:
    return {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i", "command": ["x"]}], **more}


def a_job(name: str, pod: Obj | None = None, **spec: Any) -> Obj:
    spec = {"template": {"spec": pod or pod_spec()}, "ttlSecondsAfterFinished": 5, **spec}
    return {"metadata": {"name": name}, "spec": spec}


def a_gang(name: str) -> Obj:
    task = {"name": "w", "replicas": 2, "template": {"spec": pod_spec()}}
    spec = {"minAvailable": 2, "ttlSecondsAfterFinished": 5, "plugins": {"svc": [], "env": []}}
    return {"metadata": {"name": name}, "spec": {"schedulerName": "volcano", "tasks": [task], **spec}}


async def a_round(clock: VirtualClock, client: LocalClient, mark: str) -> None:
    """Jobs that end well or badly, are deleted, wait, have volumes or a namespace; gangs, a CronJob. All are
    gone at its end."""
    background = DeleteOptions(propagation="Background")
    await client.create(SPACES, {"metadata": {"name": f"{mark}-space"}})
    every_minute = {"schedule": "* * * * *", "jobTemplate": {"spec": a_job("x")["spec"]}}
    await client.create(CRONJOBS, {"metadata": {"name": f"{mark}-cron"}, "spec": every_minute}, NS)
    wanted = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    await client.create(CLAIMS, {"metadata": {"name": f"{mark}-claim"}, "spec": wanted}, NS)
    volume = {"name": "data", "persistentVolumeClaim": {"claimName": f"{mark}-claim"}}
    for number in range(ROUND_JOBS):
        name = f"{mark}-{number}"
        await client.create(JOBS, a_job(f"{name}-good", completions=2, parallelism=2), NS)
        match number % 6:
            case 0:
                await client.create(JOBS, a_job(f"{name}-bad", backoffLimit=1), NS)
            case 1:
                await client.create(JOBS, a_job(f"{name}-hang"), NS)
            case 2:
                await client.create(GANGS, a_gang(f"{name}-gang"), NS)
            case 3:
                await client.create(JOBS, a_job(f"{name}-volume", pod_spec(volumes=[volume])), NS)
            case 4:
                await client.create(JOBS, a_job(f"{name}-space"), f"{mark}-space")
            case 5:
                nowhere = pod_spec(nodeSelector={"no": "such-node"})
                await client.create(JOBS, a_job(f"{name}-waits-hang", nowhere), NS)
        await clock.sleep(1)
    await clock.sleep(120)
    for job in (await client.list(JOBS, NS)).items:
        if "hang" in job["metadata"]["name"]:
            await client.delete(JOBS, job["metadata"]["name"], NS, background)
    await client.delete(CRONJOBS, f"{mark}-cron", NS, background)
    await client.delete(CLAIMS, f"{mark}-claim", NS)
    await client.delete(SPACES, f"{mark}-space")
    await clock.sleep(600)  # until events are forgotten, too
    for kind in KINDS:
        left = [obj["metadata"]["name"] for obj in (await client.list(kind, NS)).items]
        assert not [name for name in left if name.startswith(mark)], kind


def test_nothing_is_left_of_jobs_that_are_gone() -> None:
    async def story(clock: VirtualClock) -> None:
        # A worker remembers its last key until the next one: two of them forget soon.
        limits = WorkLimits(workers=dict.fromkeys(WORKERS, 2))
        plane = World(clock, retention=Retention(event_age=60.0), limits=limits).plane
        await plane.prepare()
        uids = set[int]()
        async with plane.running(ScriptedNode(clock, script)):
            await clock.sleep(1)
            await a_round(clock, plane.client, "first")
            async with plane.client.watch(JOBS, NS) as jobs, plane.client.watch(("v1", "Pod"), NS) as pods:
                noting = [asyncio.create_task(_note(events, uids)) for events in (jobs, pods)]
                await a_round(clock, plane.client, "second")
                for task in noting:
                    task.cancel()
                await asyncio.gather(*noting, return_exceptions=True)
            await a_round(clock, plane.client, "third")
            before = len(asyncio.all_tasks()), Walk()
            await a_round(clock, plane.client, "fourth")
            after = len(asyncio.all_tasks()), Walk()
        assert len(uids) > ROUND_JOBS
        assert _left_of("second", uids, after[1]) == []
        assert after[1].grown_since(before[1], by=NOISE_ENTRIES) == []
        assert after[0] <= before[0] + 1

    virtual.run(story)


async def _note(events: Any, uids: set[int]) -> None:
    """Keeps hashes of UIDs: the texts themselves would be found by the walk."""
    async for event in events:
        uids.add(hash(event.object["metadata"]["uid"]))


def _left_of(mark: str, uids: set[int], walk: Walk) -> list[str]:
    """What mentions the objects of a round, and how it is reached."""
    found = []
    for text in walk.texts:
        words = text if isinstance(text, str) else text.decode(errors="replace")
        if f"{mark}-" in words or any(hash(uid) in uids for uid in UID.findall(words)):
            found.append(f"{words[:60]!r}: {walk.way_to(text)}")
    return found
