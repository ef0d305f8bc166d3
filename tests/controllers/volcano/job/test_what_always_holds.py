"""Whatever a Volcano Job is, however its pods end and whatever people do: what must always hold.

`LONGSHORE_LIVES=2000` lives more of them.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

from longshore.api.errors import StatusError
from longshore.api.types import Obj
from longshore.client import Client
from longshore.machinery.time import virtual
from longshore.machinery.time.virtual import VirtualClock
from longshore.scripts.pod_rules import Rule
from longshore.scripts.runs import Run
from longshore.testing.crashing import Death, MortalClient, until_dead
from longshore.testing.stories import beside
from support.volcano_world import JOBS, NEVER, NS, World, a_run, a_task, a_world, controller

LIVES = int(os.environ.get("LONGSHORE_LIVES", "60"))
_FINISHED = ("Completed", "Failed", "Terminated")
_EVENTS = ("*", "PodFailed", "PodEvicted", "PodPending", "TaskCompleted", "TaskFailed", "Unknown")
_ACTIONS = (
    *("RestartJob", "RestartTask", "RestartPod", "RestartPartition"),
    *("AbortJob", "CompleteJob", "TerminateJob", "ResumeJob"),
)


@dataclass(frozen=True)
class Life:
    """A Job, the fate of its pods, and what happens to it."""

    tasks: list[Obj]
    spec: dict[str, Any]
    seed: int
    """Of the dice that pods' fates are rolled with."""
    deeds: list[tuple[float, str, int]]


@st.composite
def policies(draw: st.DrawFn) -> list[Obj]:
    found: list[Obj] = []
    for event in draw(st.lists(st.sampled_from(_EVENTS), max_size=3, unique=True)):
        if event == "*" and found:
            continue
        policy = {"event": event, "action": draw(st.sampled_from(_ACTIONS))}
        if draw(st.booleans()):
            policy["timeout"] = draw(st.sampled_from(("0s", "3s", "40s", "5m")))
        found.append(policy)
        if event == "*":
            break
    return found


@st.composite
def lives(draw: st.DrawFn) -> Life:
    names = ["a", "b", "c"][: draw(st.integers(1, 3))]
    tasks = []
    for name in names:
        replicas = draw(st.integers(1, 3))
        task = a_task(name, replicas, policies=draw(policies()))
        if draw(st.booleans()):
            task["minAvailable"] = draw(st.integers(0, replicas))
        tasks.append(task)
    total = sum(task["replicas"] for task in tasks)
    spec: dict[str, Any] = {"policies": draw(policies()), "maxRetry": draw(st.integers(1, 4))}
    if draw(st.booleans()):
        spec["minAvailable"] = draw(st.integers(1, total))
    if draw(st.booleans()):
        spec["minSuccess"] = draw(st.integers(1, total))
    if draw(st.booleans()):
        spec["plugins"] = {"svc": [], "env": []}
    kinds = st.sampled_from(("delete pod", "scale", "crash", *_ACTIONS))
    deeds = st.tuples(st.sampled_from((0.3, 2.0, 7.0, 45.0)), kinds, st.integers(0, 8))
    return Life(tasks, spec, draw(st.integers(0, 2**16)), draw(st.lists(deeds, max_size=6)))


@dataclass
class Watcher:
    """Looks at every state of the Job and its pods, and says what is wrong with it."""

    world: World
    wrong: list[str] = field(default_factory=list)
    finished: str = ""

    async def run(self) -> None:
        async with self.world.client.watch(JOBS, NS, initial_events=True) as events:
            async for event in events:
                if event.type in ("ADDED", "MODIFIED"):
                    self._job(event.object)

    def _job(self, job: Obj) -> None:
        status = job.get("status") or {}
        phase = (status.get("state") or {}).get("phase") or ""
        if self.finished and phase != self.finished:
            self.wrong.append(f"{self.finished} became {phase}")
        if phase in _FINISHED:
            self.finished = phase
        if (status.get("retryCount") or 0) > job["spec"]["maxRetry"]:
            self.wrong.append(f"retryCount is {status['retryCount']}, maxRetry {job['spec']['maxRetry']}")
        last = (status.get("conditions") or [{}])[-1].get("status")
        if phase and last != phase:
            self.wrong.append(f"phase is {phase}, the last condition {last}")


@settings(max_examples=LIVES, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(lives())
def test_what_must_always_hold(life: Life) -> None:
    note(repr(life))
    virtual.run(lambda clock: _live(clock, life))


async def _live(clock: VirtualClock, life: Life) -> None:
    async with a_world(clock, _rules(life)) as world:
        watcher = Watcher(world)
        controllers = Controllers(world)
        async with beside(watcher.run()):
            controllers.start()
            await world.job(life.tasks, **life.spec)
            for pause, deed, number in life.deeds:
                await clock.sleep(pause)
                await _do(world, controllers, deed, number)
            await world.quiet(400.0)
            await controllers.stop()
        assert watcher.wrong == []
        await _check(world)


def _rules(life: Life) -> list[Rule]:
    starts = Counter[str]()

    def run(pod: Obj) -> Run:
        name = pod["metadata"]["name"]
        dice = random.Random(f"{life.seed} {name} {starts[name]}")
        starts[name] += 1
        if dice.random() < 0.2:
            return NEVER
        return a_run(dice.choice((1.0, 6.0, 30.0, 30.0, None)), dice.choice((0, 0, 0, 1, 3)))

    return [Rule(runs=(run,))]


class Controllers:
    """The controller, which may die and start again."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.create_task(controller(self._world.client, self._world.clock))

    async def stop(self) -> None:
        assert self._task is not None
        if self._task.done():
            self._task.result()
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def crash(self, writes: int) -> None:
        """Lets it die after so many more writes, or in a while, and come back."""
        await self.stop()
        mortal = MortalClient(self._world.client, self._world.clock, writes + 1, Death.UNSEEN)
        self._world.clock.call_later(60.0, mortal.dead.set)
        client: Client = mortal  # type: ignore[assignment]
        await until_dead(controller(client, self._world.clock), mortal)
        self.start()


async def _do(world: World, controllers: Controllers, deed: str, number: int) -> None:
    if deed == "crash":
        await controllers.crash(number)
    elif deed == "delete pod":
        pods = sorted(await world.pods())
        if pods:
            with contextlib.suppress(StatusError):  # it may just be gone
                await world.delete_pod(pods[number % len(pods)])
    elif deed == "scale":
        job = await world.get()
        assert job is not None
        task = {
            **job["spec"]["tasks"][0],
            "replicas": max(number, job["spec"]["minAvailable"]),
            "minAvailable": 0,
        }
        spec = {**job["spec"], "tasks": [task, *job["spec"]["tasks"][1:]]}
        with contextlib.suppress(StatusError):  # the controller may be quicker
            await world.client.update(JOBS, {**job, "spec": spec}, NS)
    else:
        await world.command(deed)


async def _check(world: World) -> None:
    """What holds when nothing happens any more."""
    job = await world.get()
    assert job is not None
    status, spec = job.get("status") or {}, job["spec"]
    phase = status["state"]["phase"]
    assert phase not in ("Restarting", "Completing", "Terminating", "Aborting"), status
    notes = job["metadata"].get("annotations") or {}
    assert "longshore.dev/volcano-action" not in notes
    assert "longshore.dev/volcano-leaving-pods" not in notes
    assert not (await world.client.list(("bus.volcano.sh/v1alpha1", "Command"), NS)).items
    pods = (await world.pods()).values()
    assert not [pod for pod in pods if "deletionTimestamp" in pod["metadata"]]
    expected = {f"j-{t['name']}-{n}" for t in spec["tasks"] for n in range(t.get("replicas") or 0)}
    if phase in (*_FINISHED, "Aborted"):
        assert all(pod["status"]["phase"] in ("Succeeded", "Failed") for pod in pods)
        assert not (await world.client.list(("scheduling.volcano.sh/v1beta1", "PodGroup"), NS)).items
    else:
        assert {pod["metadata"]["name"] for pod in pods} == expected
        counted = {
            name: sum(pod["status"]["phase"].lower() == name for pod in pods)
            for name in ("pending", "running", "succeeded", "failed")
        }
        # An order to restart a partition where there is none does nothing at all, as in Volcano.
        if "RestartPartition" not in repr(spec):
            assert counted == {name: status.get(name) or 0 for name in counted}
