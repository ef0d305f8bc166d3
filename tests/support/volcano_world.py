"""Volcano Jobs on the virtual clock: API in memory, the controller (which may die), gangs, a kubelet.

A `Story` is what a user does and waits for; `undisturbed`, `crashed` and `crashed_for_ever` tell it. What is
left then is an `Ending`, in a form that does not depend on times and on how often something was tried.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from longshore.api.errors import StatusError
from longshore.api.time import rfc3339
from longshore.api.types import Obj
from longshore.apiserver.api import Api
from longshore.client import Client, DeleteOptions
from longshore.client.local import LocalClient
from longshore.controllers.volcano import job as volcano_job
from longshore.machinery.controller_context import ControllerContext
from longshore.machinery.time.virtual import VirtualClock
from longshore.testing import SeededKeys, stories
from longshore.testing.stories import NS, Telling, an_api, beside
from support.found import found
from support.simple_gangs import GROUPS, PODS, Gangs
from support.volcano_queues import open_queue

JOBS = ("batch.volcano.sh/v1alpha1", "Job")
COMMANDS = ("bus.volcano.sh/v1alpha1", "Command")
_QUIET_SECONDS = 40.0
_OBJECTS = (("v1", "Service"), ("v1", "ConfigMap"), ("v1", "Secret"), ("v1", "PersistentVolumeClaim"))
_ENDED = ("Completed", "Failed", "Terminated", "Aborted")


@dataclass(frozen=True, slots=True)
class Script:
    """How pods behave, by name and how many of the name there were before."""

    runs: Callable[[str, int], float | None] = lambda name, nth: 30.0
    """Seconds from start to end; None never ends."""
    exits: Callable[[str, int], int] = lambda name, nth: 0
    starts: Callable[[str, int], float | None] = lambda name, nth: 1.0
    """Seconds from binding to running; None never starts."""


class Kubelet:
    def __init__(self, client: Client, clock: VirtualClock, script: Script) -> None:
        self._client, self._clock, self._script = client, clock, script
        self.made: dict[str, list[str]] = {}
        """UIDs of all pods there ever were, by name."""
        self._lives: dict[str, asyncio.Task[None]] = {}
        self._leaving: set[str] = set()

    async def run(self) -> None:
        async with (
            asyncio.TaskGroup() as tasks,
            self._client.watch(PODS, NS, initial_events=True) as events,
        ):
            async for event in events:
                if event.type == "BOOKMARK":
                    continue
                meta = event.object["metadata"]
                name, uid = meta["name"], meta["uid"]
                made = self.made.setdefault(name, [])
                if uid not in made:
                    made.append(uid)
                if event.type == "DELETED" or "deletionTimestamp" in meta:
                    if uid in self._lives:
                        self._lives.pop(uid).cancel()
                    if event.type != "DELETED" and uid not in self._leaving:
                        self._leaving.add(uid)
                        tasks.create_task(self._leave(name, uid))
                elif event.object["spec"].get("nodeName") and uid not in self._lives:
                    self._lives[uid] = tasks.create_task(self._live(name, uid, made.index(uid)))

    async def _live(self, name: str, uid: str, nth: int) -> None:
        with contextlib.suppress(StatusError):
            if not await self._pause(self._script.starts(name, nth)):
                return
            await self._report(name, uid, "Running", {"running": {"startedAt": self._now()}})
            if not await self._pause(self._script.runs(name, nth)):
                return
            code = self._script.exits(name, nth)
            await self.end(name, uid, code)

    async def end(self, name: str, uid: str, code: int) -> None:
        state = {"terminated": {"exitCode": code, "startedAt": self._now(), "finishedAt": self._now()}}
        await self._report(name, uid, "Failed" if code else "Succeeded", state)

    async def _leave(self, name: str, uid: str) -> None:
        await self._clock.sleep(1.0)
        with contextlib.suppress(StatusError):
            await self._client.delete(PODS, name, NS, DeleteOptions(grace_period_seconds=0, uid=uid))

    async def _pause(self, seconds: float | None) -> bool:
        if seconds is None:
            return False
        await self._clock.sleep(seconds)
        return True

    def _now(self) -> str:
        return rfc3339.from_moment(self._clock.now())

    async def _report(self, name: str, uid: str, phase: str, state: Obj) -> None:
        ready = phase == "Running"
        container = {
            "name": "main", "image": "i", "imageID": "", "ready": ready, "restartCount": 0, "state": state
        }  # fmt: skip
        status = {"phase": phase, "containerStatuses": [container]}
        patch = {"metadata": {"uid": uid}, "status": status}
        await self._client.patch(PODS, name, patch, NS, subresource="status")


class World:
    def __init__(self, api: Api, client: LocalClient, clock: VirtualClock, script: Script) -> None:
        self.api, self.client, self.clock = api, client, clock
        self.kubelet = Kubelet(client, clock, script)
        self.gangs = Gangs(client, clock)

    async def job(self, tasks: dict[str, int] | list[Obj], name: str = "j", **spec: Any) -> Obj:
        return await self.client.create(JOBS, a_job(tasks, name, **spec), NS)

    async def get(self, name: str = "j") -> Obj | None:
        return await found(self.client, JOBS, name, NS)

    async def phase(self, *wanted: str, name: str = "j", **status: Any) -> None:
        """Waits until the Job is in one of these phases, with these values in its status (absent is 0)."""

        async def there() -> bool:
            found = ((await self.get(name)) or {}).get("status") or {}
            right = all((found.get(key) or 0) == value for key, value in status.items())
            return right and (found.get("state") or {}).get("phase") in wanted

        await self.until(there, f"{name} {wanted} {status}")

    async def until(
        self, condition: Callable[[], Awaitable[Any]], said: str = "", seconds: float = 3600
    ) -> Any:
        end, pause = self.clock.monotonic() + seconds, 0.5
        while not (found := await condition()):
            if self.clock.monotonic() >= end:
                raise AssertionError(f"did not happen: {said}: {(await self.get() or {}).get('status')}")
            await self.clock.sleep(pause)
            pause = min(pause * 1.3, 10.0)
        return found

    async def command(self, action: str, name: str = "j") -> None:
        meta = ((await self.get(name)) or {})["metadata"]
        ref = {
            "apiVersion": JOBS[0], "kind": JOBS[1], "name": name, "uid": meta["uid"], "controller": True
        }  # fmt: skip
        body = {"metadata": {"generateName": f"{name}-"}, "action": action, "target": ref}
        await self.client.create(COMMANDS, body, NS)

    async def delete_pod(self, name: str) -> None:
        await self.client.delete(PODS, name, NS)

    async def pods(self) -> dict[str, Obj]:
        return {pod["metadata"]["name"]: pod for pod in (await self.client.list(PODS, NS)).items}

    async def quiet(self, seconds: float = _QUIET_SECONDS) -> None:
        """Waits until nothing was written for so long."""
        await stories.quiet(self, seconds)


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
    script: Script = field(default_factory=Script)

    @property
    def telling(self) -> Telling[World, Ending]:
        """The ways to tell it."""
        return Telling(
            lambda clock: a_world(clock, self.script), self.tell, controller, ending, _QUIET_SECONDS
        )


@dataclass(frozen=True)
class Ending:
    jobs: dict[str, Obj]
    pods: dict[str, tuple[str, bool]]
    """Phase, and whether it is being deleted."""
    groups: dict[str, str]
    objects: list[str]
    commands: int


@asynccontextmanager
async def a_world(clock: VirtualClock, script: Script) -> AsyncIterator[World]:
    async with an_api(clock) as (api, client):
        await open_queue(client, weight=1)
        world = World(api, client, clock, script)
        async with beside(world.kubelet.run()), beside(world.gangs.run()):
            yield world


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
