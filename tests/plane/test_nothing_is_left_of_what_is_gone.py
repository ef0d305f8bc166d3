"""Memory stays flat: of Jobs that ran and were deleted, no part of a longshore holds on to anything.

A whole plane works off some Jobs, gangs and CronJobs on the virtual clock; some time after they are deleted,
everything reachable is walked. What must not be there are their names and their UIDs, in whatever map, queue,
cache or set. A second round of the same must not make any container larger.
"""

from __future__ import annotations

import asyncio
import functools
import gc
import re
import sys
import types
from collections import deque
from typing import Any
from weakref import WeakSet

import msgspec
import pytest

from longshore.api.apply.compare import ComparePlan
from longshore.api.retention import Retention
from longshore.api.types import Obj
from longshore.apiserver.shortcuts.same_spec import SameSpec
from longshore.client import DeleteOptions
from longshore.client.local import LocalClient
from longshore.controllers.garbage.owners import Absent
from longshore.machinery.events.correlation import Correlator
from longshore.machinery.events.siblings import Siblings
from longshore.machinery.explanations import Explanations
from longshore.machinery.time import virtual
from longshore.machinery.time.virtual import VirtualClock
from longshore.machinery.work_limits import WorkLimits
from longshore.node.pod.starting import UnusedImages
from longshore.node.runtime import Container
from longshore.plane.controllers import WORKERS
from longshore.store.decoded_views import Decoded
from longshore.store.notes import Notes
from longshore.store.window import Window
from longshore.testing import Run, ScriptedMachine, ScriptedNode, ScriptedPreparer
from longshore.testing.world import World

BOUNDED: dict[type, str] = {
    Absent: "500 owners that are gone",
    Correlator: "4,096 events of each component",
    Decoded: "4 MiB of objects that are kept decoded",
    Explanations: "2,000 objects looked at lately",
    Notes: "30,000 reasons and 5,000 records of Jobs",
    ComparePlan: "64 texts for each list of a schema",
    Siblings: "1,024 owners of pods",
    SameSpec: "64 specs",
    UnusedImages: "1,024 owners of pods and their images",
    Window: "50,000 changes",
}
FAKES = (ScriptedMachine, ScriptedPreparer)
"""Stand-ins of the machine, which remember all that happened."""
_CONTAINERS = (dict, list, set, deque)


class Walk:
    """One walk over everything that a running plane holds in memory, from its tasks and longshore's modules:
    all texts and all containers that it found. Another walk does not look into it.

    Stores that are bounded by number or bytes are not walked into: each is named here with its bound, and has
    tests of its own."""

    def __init__(self) -> None:
        gc.collect()
        self.sizes: dict[int, int] = {}
        """Entries of each container, by its address."""
        self.texts: list[str | bytes] = []
        self._above: dict[int, Any] = {}
        self._kept: list[Any] = []  # an address must not be used twice during the walk
        loop = asyncio.get_running_loop()
        modules = [each for name, each in sys.modules.items() if name.partition(".")[0] == "longshore"]
        self._go([*modules, *asyncio.all_tasks(), *loop.__dict__.values()])

    def way_to(self, found: object, steps: int = 7) -> str:
        """How an object is reached, from it upwards."""
        names = []
        while found is not None and len(names) < steps:
            above = self._above.get(id(found))
            attribute = _attribute(above, found)
            names.append(f"{attribute}{': ' if attribute else ''}{type(found).__name__}")
            found = above
        return " < ".join(names)

    def grown_since(self, before: Walk, by: int) -> list[str]:
        """The containers that were there before and have so many entries more."""
        return [
            f"{size - before.sizes[address]} more: {self.way_to(found)}"
            for found in self._kept
            if (size := self.sizes.get(address := id(found), 0)) - before.sizes.get(address, size) > by
        ]

    def _go(self, roots: list[Any]) -> None:
        waiting = deque(roots)
        seen = set[int]()
        while waiting:
            found = waiting.popleft()
            if id(found) in seen:
                continue
            seen.add(id(found))
            self._kept.append(found)
            if isinstance(found, str | bytes):
                self.texts.append(found)
                continue
            if isinstance(found, (*BOUNDED, *FAKES, Walk)) or _is_foreign(found):
                continue
            if isinstance(found, _CONTAINERS):
                self.sizes[id(found)] = len(found)
            for below in _below(found):
                if id(below) not in seen:
                    self._above.setdefault(id(below), found)
                    waiting.append(below)


def _below(found: Any) -> list[Any]:
    if isinstance(found, msgspec.Struct):  # one without the collector's help has no referents
        return [getattr(found, name) for name in found.__struct_fields__]
    return gc.get_referents(found)


def _is_foreign(found: Any) -> bool:
    if isinstance(found, types.ModuleType):
        return found.__name__.partition(".")[0] != "longshore"
    if isinstance(found, functools._lru_cache_wrapper):
        return found.cache_parameters()["maxsize"] is not None  # bounded
    if isinstance(found, WeakSet):  # holds nothing; and `Walk` holds what it found
        return True
    return isinstance(found, types.FrameType) or type(found).__module__.startswith("_pytest")


def _attribute(above: Any, found: Any) -> str:
    if isinstance(above, dict):
        return next((str(key)[:30] for key, value in above.items() if value is found), "")
    for name in getattr(type(above), "__slots__", ()) or ():
        if isinstance(name, str) and getattr(above, name, None) is found:
            return name
    return next((name for name, value in getattr(above, "__dict__", {}).items() if value is found), "")


# ---- tests

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
