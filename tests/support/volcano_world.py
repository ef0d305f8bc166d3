"""Volcano Jobs on the virtual clock: API in memory, the controller (which may die), the
scheduler, a scripted node.

A `Story` is what a user does and waits for; `undisturbed`, `crashed` and `crashed_for_ever` tell it. What is
left then is an `Ending`, in a form that does not depend on times and on how often something was tried.
"""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from functools import partial
from typing import Any

from longshore.api.types import Obj
from longshore.apiserver.api import Api
from longshore.client import Client
from longshore.controllers import volume
from longshore.controllers.volcano import job as volcano_job
from longshore.machinery.controller_context import ControllerContext
from longshore.machinery.time.virtual import VirtualClock
from longshore.scheduler import Schedulers
from longshore.scripts.pod_rules import Rule, Scripts
from longshore.scripts.runs import Run
from longshore.testing import MemoryDirectories, SeededKeys
from longshore.testing.scripted_node import ScriptedNode
from longshore.testing.stories import Telling
from support import world
from support.volcano_queues import open_queue
from support.world import NS, PODS, a_run, opened

JOBS = ("batch.volcano.sh/v1alpha1", "Job")
GROUPS = ("scheduling.volcano.sh/v1beta1", "PodGroup")
COMMANDS = ("bus.volcano.sh/v1alpha1", "Command")
_QUIET_SECONDS = 40.0
_OBJECTS = (("v1", "Service"), ("v1", "ConfigMap"), ("v1", "Secret"), ("v1", "PersistentVolumeClaim"))
_ENDED = ("Completed", "Failed", "Terminated", "Aborted")


FOR_EVER = a_run(None)
NEVER = Run.bad_image()
"""The pod never starts."""
SUCCEED = (Rule(runs=(a_run(),)),)


class World(world.World):
    def __init__(self, api: Api, clock: VirtualClock, rules: Sequence[Rule]) -> None:
        super().__init__(api, clock)
        self.node = ScriptedNode(clock, Scripts(clock.rng, rules), name="n")

    async def prepare(self) -> None:
        await open_queue(self.client, weight=1)
        await self.begin_node(self.node, self.context())
        informers = self.context().informers
        scheduling, binding = (self.context(informers=informers.share()) for _ in range(2))
        self.begin(Schedulers(scheduling, names=("volcano",)).run())
        self.begin(volume.run(binding, volumes=MemoryDirectories()))

    async def job(self, tasks: dict[str, int] | list[Obj], name: str = "j", **spec: Any) -> Obj:
        return await self.client.create(JOBS, a_job(tasks, name, **spec), NS)

    async def get(self, name: str = "j") -> Obj | None:
        return await self.find(JOBS, name)

    async def phase(self, *wanted: str, name: str = "j", **status: Any) -> None:
        """Waits until the Job is in one of these phases, with these values in its status (absent is 0)."""

        async def there() -> bool:
            found = await self.status_of(JOBS, name)
            right = all((found.get(key) or 0) == value for key, value in status.items())
            return right and (found.get("state") or {}).get("phase") in wanted

        await self.until(there, f"{name} {wanted} {status}")

    async def command(self, action: str, name: str = "j") -> None:
        meta = ((await self.get(name)) or {})["metadata"]
        ref = {
            "apiVersion": JOBS[0], "kind": JOBS[1], "name": name, "uid": meta["uid"], "controller": True
        }  # fmt: skip
        body = {"metadata": {"generateName": f"{name}-"}, "action": action, "target": ref}
        await self.client.create(COMMANDS, body, NS)

    async def pods(self) -> dict[str, Obj]:
        return {pod["metadata"]["name"]: pod for pod in await self.listed(PODS)}


def a_task(name: str, replicas: int, **more: Any) -> Obj:
    spec = {"restartPolicy": "Never", "containers": [{"name": "main", "image": "i"}]}
    return {"name": name, "replicas": replicas, "template": {"spec": spec}, **more}


def a_job(tasks: dict[str, int] | list[Obj], name: str = "j", **spec: Any) -> Obj:
    made = [a_task(*task) for task in tasks.items()] if isinstance(tasks, dict) else tasks
    return {"metadata": {"name": name}, "spec": {"tasks": made, **spec}}


@dataclass(frozen=True)
class Story:
    name: str
    tell: Callable[[World], Awaitable[None]]
    rules: Sequence[Rule] = SUCCEED

    @property
    def telling(self) -> Telling[World, Ending]:
        return Telling(
            lambda clock: a_world(clock, self.rules), self.tell, controller, ending, _QUIET_SECONDS
        )


@dataclass(frozen=True)
class Ending:
    jobs: dict[str, Obj]
    pods: dict[str, tuple[str, bool]]
    """Phase, and whether it is being deleted."""
    groups: dict[str, str]
    objects: list[str]
    commands: int


def a_world(clock: VirtualClock, rules: Sequence[Rule] = SUCCEED) -> AbstractAsyncContextManager[World]:
    return opened(partial(World, rules=rules), clock)


async def controller(client: Client, clock: VirtualClock) -> None:
    await volcano_job.run(
        ControllerContext(client, clock=clock, rng=random.Random(1)), keys=SeededKeys(random.Random(1))
    )


async def ending(world: World) -> Ending:
    client = world.client
    jobs = {job["metadata"]["name"]: _plain(job) for job in (await client.list(JOBS, NS)).items}
    pods = {
        name: ((pod.get("status") or {}).get("phase") or "", "deletionTimestamp" in pod["metadata"])
        for name, pod in (await world.pods()).items()
    }
    groups = {
        group["metadata"]["ownerReferences"][0]["name"]: (group.get("status") or {}).get("phase") or ""
        for group in (await client.list(GROUPS, NS)).items
    }
    found = [
        f"{kind} {obj['metadata']['name']}"
        for version, kind in _OBJECTS
        for obj in (await client.list((version, kind), NS)).items
    ]
    return Ending(jobs, pods, groups, sorted(found), len((await client.list(COMMANDS, NS)).items))


def _plain(job: Obj) -> Obj:
    """The status without times; of the version only whether there is one. No notes may be left."""
    status = dict(job.get("status") or {})
    status["phase"] = (status.pop("state", None) or {}).get("phase")
    status.pop("runningDuration", None)
    if status["phase"] in _ENDED:
        status.pop("terminating", None)  # of the last pass, however much that found
    status["version"] = bool(status.get("version"))
    conditions = status.pop("conditions", None) or [{}]
    status["last"] = conditions[-1].get("status")  # those before may pass while nobody looks
    notes = job["metadata"].get("annotations") or {}
    return status | {"annotations": sorted(notes)}
