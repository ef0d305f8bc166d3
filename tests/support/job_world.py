"""A whole control plane on the virtual clock: API in memory, controllers that may die, a
scheduler, a scripted node.

A `Story` is what a user does with it and waits for. It is told from its beginning to its end: `undisturbed`,
`crashed` once, `crashed_for_ever`, `with_faults`. What is left then is the `Ending`, in a form that does not
depend on names and times.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import msgspec

from longshore.api.facts import owners
from longshore.api.facts.pod_state import completion_index as index_of
from longshore.api.types import Obj
from longshore.apiserver.api import Api
from longshore.client import Client
from longshore.controllers import job
from longshore.machinery.controller_context import ControllerContext
from longshore.machinery.time.virtual import VirtualClock
from longshore.node.capacity import Capacity
from longshore.node.runtime import Container, Key
from longshore.scheduler import Schedulers
from longshore.scripts.pod_rules import Attempt, Rule, Scripts
from longshore.scripts.runs import Run
from longshore.store import Store
from longshore.testing.faulty_client import FaultyClient
from longshore.testing.promises import TRACKING
from longshore.testing.scripted_node import ScriptedNode
from longshore.testing.stories import Controllers, Telling
from support import world
from support.world import NS, PODS, a_run, opened

JOBS = ("batch/v1", "Job")
_QUIET_SECONDS = 30.0
_CAPACITY = Capacity({"cpu": "64", "memory": "256Gi", "pods": "1000"})


@dataclass(frozen=True)
class Script:
    rules: tuple[Rule, ...] = (Rule(runs=(a_run(),)),)
    holds: bool = False
    """Whether pods run until the story lets them end, or holds them no more."""


def goes(*runs: Attempt, holds: bool = False) -> Script:
    """The script by which all pods go so, attempt by attempt."""
    return Script((Rule(runs=runs or (a_run(),)),), holds)


async def job_controller(client: Client, clock: VirtualClock) -> None:
    await job.run(ControllerContext(client, clock=clock, rng=random.Random(1)))


class World(world.World):
    pause, growth = 0.5, 1.5

    def __init__(self, api: Api, clock: VirtualClock, script: Script) -> None:
        super().__init__(api, clock)
        self.node = ScriptedNode(clock, Scripts(clock.rng, script.rules), capacity=_CAPACITY)
        self.holds, self._by_rules = script.holds, self.node.machine.script
        self.node.machine.script = self._run
        self.ever: dict[str, Obj] = {}
        """Every pod that ever was, by UID, in order of creation, as it was last."""

    async def prepare(self) -> None:
        informers = self.context().informers
        self.begin(self._follow())
        self.begin(Schedulers(self.context(informers=informers.share()), names=("default-scheduler",)).run())
        await self.begin_node(self.node, self.context(informers=informers.share()))

    async def _follow(self) -> None:
        async with self.client.watch(PODS, self.namespace, initial_events=True) as events:
            async for event in events:
                if event.type != "BOOKMARK":
                    self.ever[event.object["metadata"]["uid"]] = event.object

    def _run(self, container: Container) -> Run:
        run = self._by_rules(container)
        return msgspec.structs.replace(run, seconds=None) if self.holds else run

    async def job(self, name: str = "j", *, labels: dict[str, str] | None = None, **spec: Any) -> Obj:
        """Creates a Job; its pods never restart in place unless `restart` says so."""
        return await self.client.create(JOBS, a_job(name, labels=labels, **spec), NS)

    async def patch(self, name: str = "j", **spec: Any) -> None:
        await self.client.patch(JOBS, name, {"spec": spec}, NS)

    async def get(self, name: str = "j") -> Obj | None:
        return await self.find(JOBS, name)

    async def pods(self) -> list[Obj]:
        return await self.listed(PODS)

    def finish(self, count: int) -> None:
        """Lets so many pods that are held end now, the oldest first."""
        held = [key for key in self.node.machine.running if key not in self.node.machine.remaining()]
        assert len(held) >= count, held
        for key in held[:count]:
            self._end(key)

    def finish_indexes(self, *indexes: int) -> None:
        for key in self.node.machine.running:
            if index_of(self.ever[key.pod_uid]) in indexes:
                self._end(key)

    def _end(self, key: Key) -> None:
        self.node.machine.end(key, self.node.machine.runs[key].code)

    def hold_no_more(self) -> None:
        """Pods that start from now on end by themselves."""
        self.holds = False

    async def evict(self) -> None:
        async def runs() -> bool:
            return bool(self.node.machine.running)

        async def stopped() -> bool:
            return key not in self.node.machine.running

        await self.until(runs, "a pod runs")
        key = self.node.machine.running[0]
        self.node.evict(key, "Its place is needed")
        await self.until(stopped, f"{key} has stopped")

    async def status(self, name: str = "j", **wanted: Any) -> None:
        """Waits until the Job's status has these values; an absent counter is 0."""

        async def there() -> bool:
            found = await self.status_of(JOBS, name)
            return all((found.get(key) or _zero(value)) == value for key, value in wanted.items())

        await self.until(there, f"{name}: {wanted}")

    async def running(self, count: int, name: str = "j") -> None:
        """Waits until so many pods run, no other is there, and the Job's status says so."""

        async def there() -> bool:
            found = await self.status_of(JOBS, name)
            pods = [pod for pod in await self.pods() if "deletionTimestamp" not in pod["metadata"]]
            return found.get("active") == found.get("ready") == count == len(pods)

        await self.until(there, f"{name}: {count} pods run")

    async def suspended(self) -> None:
        await self._says("j", "Suspended")

    async def ended(self, name: str = "j") -> None:
        await self._says(name, "Complete", "Failed")

    async def _says(self, name: str, *types: str) -> None:
        async def there() -> bool:
            conditions = (await self.status_of(JOBS, name)).get("conditions") or ()
            return any(each["type"] in types and each["status"] == "True" for each in conditions)

        await self.until(there, f"{name}: {types}")


def _zero(value: Any) -> Any:
    return 0 if isinstance(value, int) else value and ""


def a_job(
    name: str = "j", *, labels: dict[str, str] | None = None, restart: str = "Never", **spec: Any
) -> Obj:
    template: Obj = {"spec": {"restartPolicy": restart, "containers": [{"name": "main", "image": "i"}]}}
    if labels:
        template["metadata"] = {"labels": labels}
    return {"metadata": {"name": name}, "spec": {"template": template, **spec}}


@dataclass(frozen=True)
class Story:
    name: str
    tell: Callable[[World], Awaitable[None]]
    script: Script = field(default_factory=Script)
    controllers: Controllers = job_controller

    @property
    def telling(self) -> Telling[World, Ending]:
        return Telling(
            lambda clock: a_world(clock, self.script), self.tell, self.controllers, ending, _QUIET_SECONDS
        )


@dataclass(frozen=True)
class Ending:
    """What is left at the end, comparable between runs."""

    jobs: dict[str, Obj]
    """Status by name, without times; whether they are set is kept."""
    pods: Counter[tuple[Any, ...]]
    """How many pods there are of each index, phase and state."""
    created: Counter[tuple[str, int | None]]
    """How many pods there ever were, by Job and index."""


def a_world(
    clock: VirtualClock, script: Script, store: Store | None = None
) -> AbstractAsyncContextManager[World]:
    return opened(partial(World, script=script), clock, store)


def with_faults(story: Story, seed: int, **faults: float) -> tuple[Ending, Counter[str]]:
    """How it ends with a client that has bad days, and what went wrong how often."""
    clients: list[FaultyClient] = []

    async def life(world: World) -> None:
        clients.append(FaultyClient(world.client, world.clock, seed, **faults))
        await story.controllers(clients[0], world.clock)

    return story.telling.told(life, seed), clients[0].happened


async def ending(world: World) -> Ending:
    jobs = (await world.client.list(JOBS, NS)).items
    names = {obj["metadata"]["uid"]: obj["metadata"]["name"] for obj in jobs}
    created = Counter((names.get(_job_of(pod), ""), index_of(pod)) for pod in world.ever.values())
    pods: Counter[tuple[Any, ...]] = Counter()
    for obj in await world.pods():
        meta = obj["metadata"]
        state = (TRACKING in (meta.get("finalizers") or ()), "deletionTimestamp" in meta)
        pods[names.get(_job_of(obj), ""), index_of(obj), obj["status"]["phase"], *state] += 1
    return Ending({obj["metadata"]["name"]: _plain(world, obj) for obj in jobs}, pods, created)


def _plain(world: World, obj: Obj) -> Obj:
    status = dict(obj.get("status") or {})
    for key in ("startTime", "completionTime"):
        if key in status:
            status[key] = "set"
    status["conditions"] = [
        (c["type"], c["status"], c.get("reason"), _nameless(world, c.get("message") or ""))
        for c in status.get("conditions") or ()
    ]
    return status


def _nameless(world: World, message: str) -> str:
    """The message with a pod's index instead of its generated name."""
    for pod in world.ever.values():
        message = message.replace(pod["metadata"]["name"], f"<pod {index_of(pod)}>")
    return message


def _job_of(pod: Obj) -> str:
    return (owners.controller_of(pod) or {}).get("uid", "")
