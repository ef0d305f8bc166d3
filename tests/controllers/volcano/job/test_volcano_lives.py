"""Lives of Volcano Jobs, as people see them: each test is one line of what is promised."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from longshore.client import DeleteOptions, PatchType, WatchEvent
from longshore.client.ask import Ask
from longshore.client.source import Watching
from longshore.controllers.volcano.job.pods import population
from longshore.machinery.time import virtual
from longshore.machinery.time.virtual import VirtualClock
from longshore.scripts.pod_rules import Rule
from longshore.testing import faulty_client
from longshore.testing.faulty_client import FaultyClient
from longshore.testing.injected_faults import Fault, Faults, StruckClient, unavailable
from longshore.testing.stories import beside
from support.volcano_world import (
    COMMANDS,
    FOR_EVER,
    GROUPS,
    JOBS,
    NS,
    PODS,
    SUCCEED,
    World,
    a_run,
    a_task,
    a_world,
    controller,
)

LASTING = (Rule(runs=(FOR_EVER,)),)
COMMAND_FOR_NOBODY = {
    "metadata": {"name": "c"},
    "action": "AbortJob",
    "target": {"apiVersion": JOBS[0], "kind": JOBS[1], "name": "nobody", "uid": "u"},
}


def live(tell: Callable[[World], Awaitable[Any]], *rules: Rule) -> Any:
    async def play(clock: VirtualClock) -> Any:
        async with a_world(clock, rules or SUCCEED) as world, beside(controller(world.client, clock)):
            return await tell(world)

    return virtual.run(play)


async def status(world: World) -> Any:
    return ((await world.get()) or {}).get("status") or {}


def test_no_pod_is_made_before_the_scheduler_lets_the_gang_in() -> None:
    async def tell(world: World) -> None:
        large = a_task("w", 2)
        large["template"]["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "1000"}}
        await world.job([large])
        await asyncio.sleep(60)
        assert not await world.pods()
        assert (await status(world))["state"]["phase"] == "Pending"

    live(tell)


class MissesChanges(FaultyClient):
    """Instead of the first change of a PodGroup the watch says that its version is forgotten, and half a
    minute passes until everything is read again."""

    missed = "podgroups"
    _reads = 0

    @asynccontextmanager
    async def _events(self, ask: Ask) -> AsyncIterator[Watching]:
        is_missed = ask.resource.plural == self.missed
        self._reads += is_missed
        if is_missed and self._reads > 1:
            await self._clock.sleep(30)
        async with self._client._events(ask) as events:
            yield Watching(_cut(events)) if is_missed and self._reads == 1 else events


class MissesPods(MissesChanges):
    missed = "pods"


async def _cut(events: AsyncIterator[WatchEvent]) -> AsyncIterator[WatchEvent]:
    async for event in events:
        if event.type == "ADDED":
            raise faulty_client.forgotten()
        yield event


def test_a_gang_that_was_let_in_while_nobody_watched_gets_its_pods() -> None:
    async def play(clock: VirtualClock) -> None:
        async with a_world(clock, LASTING) as world:
            client: Any = MissesChanges(world.client, clock, 0, rate=0.0, lag=0.0)
            async with beside(controller(client, clock)):
                await world.job({"w": 2})
                await world.phase("Running", running=2)

    virtual.run(play)


@pytest.mark.parametrize("policies", [[], [{"event": "PodEvicted", "action": "AbortJob"}]])
def test_a_pod_that_came_and_went_while_nobody_watched_is_made_again(policies: list[Any]) -> None:
    async def play(clock: VirtualClock) -> None:
        async with a_world(clock, LASTING) as world:
            client: Any = MissesPods(world.client, clock, 0, rate=0.0, lag=0.0)
            async with beside(controller(client, clock)):
                await world.job({"w": 1}, policies=policies)
                await world.until(world.pods)
                await world.client.delete(PODS, "j-w-0", NS, DeleteOptions(grace_period_seconds=0))
                await asyncio.sleep(60)
                if policies:
                    await world.phase("Aborted")
                else:
                    assert [*await world.pods()] == ["j-w-0"]

    virtual.run(play)


def test_a_gang_whose_requests_are_numbers_starts() -> None:
    async def tell(world: World) -> None:
        task = a_task("w", 2)
        task["template"]["spec"]["containers"][0]["resources"] = {"requests": {"cpu": 1, "memory": 1024}}
        await world.job([task])
        await world.phase("Running")
        group = (await world.client.list(GROUPS, NS)).items[0]
        assert group["spec"]["minResources"]["cpu"] == "2"

    live(tell, *LASTING)


def test_a_gang_gets_all_its_pods_some_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(population, "MAX_CREATED_PODS", 3)

    async def tell(world: World) -> None:
        await world.job({"v": 4, "w": 7})
        await world.phase("Running", running=11)

    live(tell, *LASTING)


@pytest.mark.parametrize(("given", "scheduler"), [("", "volcano"), ("mine", "mine")])
def test_pods_whose_template_leaves_the_scheduler_empty_have_their_jobs(given: str, scheduler: str) -> None:
    async def tell(world: World) -> None:
        task = a_task("w", 1)
        task["template"]["spec"]["schedulerName"] = given
        await world.job([task])
        await world.until(world.pods)
        assert (await world.pods())["j-w-0"]["spec"]["schedulerName"] == scheduler

    live(tell)


def test_the_third_resume_fails_the_job() -> None:
    async def tell(world: World) -> None:
        await world.job({"w": 1}, maxRetry=3)
        for _ in range(2):
            await world.phase("Running")
            await world.command("AbortJob")
            await world.phase("Aborted")
            await world.command("ResumeJob")
        await world.phase("Running")
        await world.command("AbortJob")
        await world.phase("Aborted")
        await world.command("ResumeJob")
        await world.phase("Failed", retryCount=3)

    live(tell, *LASTING)


def test_a_restart_replaces_all_pods_and_raises_their_version() -> None:
    async def tell(world: World) -> None:
        await world.job({"w": 2})
        await world.phase("Running", running=2)
        before = {pod["metadata"]["uid"] for pod in (await world.pods()).values()}
        await world.command("RestartJob")
        await world.phase("Running", retryCount=1, running=2)
        pods = (await world.pods()).values()
        assert not before & {pod["metadata"]["uid"] for pod in pods}
        notes = [pod["metadata"]["annotations"] for pod in pods]
        assert {note["volcano.sh/job-retry-count"] for note in notes} == {"1"}
        version = (await status(world))["version"]
        assert version >= 1
        assert {note["volcano.sh/job-version"] for note in notes} == {str(version)}

    live(tell, *LASTING)


def test_restarting_one_partition_leaves_the_others_and_the_group_alone() -> None:
    partitions = {"totalPartitions": 2, "partitionSize": 2}
    policies = [{"event": "PodFailed", "action": "RestartPartition"}]

    async def tell(world: World) -> None:
        await world.job([a_task("w", 4, partitionPolicy=partitions, policies=policies)])
        await world.phase("Running", running=4)
        (group,) = (await world.client.list(GROUPS, NS)).items
        before = await world.pods()
        await world.phase("Running", retryCount=1, running=4)
        after = await world.pods()
        same = {name for name in after if after[name]["metadata"]["uid"] == before[name]["metadata"]["uid"]}
        assert same == {"j-w-0", "j-w-1"}
        assert [g["metadata"]["uid"] for g in (await world.client.list(GROUPS, NS)).items] == [
            group["metadata"]["uid"]
        ]

    live(tell, *LASTING, Rule("j-w-3", (a_run(5.0, 1), FOR_EVER)))


def test_a_delayed_action_is_dropped_when_the_pod_comes_back() -> None:
    async def tell(world: World) -> None:
        policies = [{"event": "PodEvicted", "action": "TerminateJob", "timeout": "2m"}]
        await world.job({"w": 2}, minAvailable=1, policies=policies)
        await world.phase("Running", running=2)
        await world.delete_pod("j-w-1")
        await asyncio.sleep(20)
        # Something else must happen for the pod to be made again: the eviction itself is only noted.
        await world.client.patch(JOBS, "j", {"spec": {"priorityClassName": None}}, NS)
        await world.client.patch(PODS, "j-w-0", {"metadata": {"labels": {"touch": "1"}}}, NS)
        await world.phase("Running", running=2)
        await asyncio.sleep(600)
        assert (await status(world))["state"]["phase"] == "Running"
        job = await world.get()
        assert job is not None
        assert not job["metadata"].get("annotations")

    live(tell, *LASTING)


def test_a_job_scaled_to_nothing_keeps_running_and_comes_back() -> None:
    async def scale(world: World, many: int) -> None:
        patch = [
            {"op": "replace", "path": "/spec/tasks/0/replicas", "value": many},
            {"op": "replace", "path": "/spec/tasks/0/minAvailable", "value": many},
            {"op": "replace", "path": "/spec/minAvailable", "value": many},
        ]
        await world.client.patch(JOBS, "j", patch, NS, type=PatchType.JSON)

    async def tell(world: World) -> None:
        await world.job({"w": 2})
        await world.phase("Running", running=2)
        await scale(world, 0)
        await world.phase("Running", running=0, terminating=0)
        assert not await world.pods()
        await scale(world, 2)
        await world.phase("Running", running=2)

    live(tell, *LASTING)


def test_a_second_job_of_the_name_is_served_while_the_first_ones_pods_still_leave() -> None:
    async def tell(world: World) -> None:
        first = await world.job({"w": 2}, plugins={"svc": []})
        await world.phase("Running", running=2)
        await world.client.delete(JOBS, "j", NS, DeleteOptions(propagation="Background"))
        second = await world.job({"w": 2}, plugins={"svc": []})
        for name in ("j-w-0", "j-w-1"):  # nobody collects garbage here
            await world.delete_pod(name)
        await world.phase("Running", running=2)
        service = await world.client.get(("v1", "Service"), "j", NS)
        owners = {ref["uid"] for ref in service["metadata"]["ownerReferences"]}
        assert owners == {second["metadata"]["uid"]} != {first["metadata"]["uid"]}

    live(tell, *LASTING)


@pytest.mark.parametrize("notes", [{}, {"volcano.sh/job-name": "j"}])
def test_a_job_whose_names_are_taken_gets_its_pods_when_these_are_free(notes: dict[str, str]) -> None:
    """As those of a Job that was deleted with `Orphan`, and of pods that somebody named so."""

    async def tell(world: World) -> None:
        container = {"name": "c", "image": "i"}
        theirs = {"metadata": {"name": "j-w-0", "annotations": notes}, "spec": {"containers": [container]}}
        await world.client.create(PODS, theirs, NS)
        await world.job({"w": 1})
        await world.clock.sleep(60)
        await world.client.delete(PODS, "j-w-0", NS, DeleteOptions(grace_period_seconds=0))
        await world.phase("Running", running=1)

    live(tell, *LASTING)


def test_a_command_for_a_job_that_is_not_there_is_taken_away() -> None:
    async def tell(world: World) -> None:
        await world.client.create(COMMANDS, COMMAND_FOR_NOBODY, NS)
        await asyncio.sleep(5)
        assert not (await world.client.list(COMMANDS, NS)).items

    live(tell)


def test_a_command_for_a_job_that_is_not_there_is_taken_away_though_that_fails_at_first() -> None:
    async def play(clock: VirtualClock) -> None:
        async with a_world(clock) as world:
            faults = Faults(clock)
            faults.add(Fault("DELETE commands", "controllers", unavailable, times=1))
            async with beside(controller(StruckClient(world.client, clock, faults), clock)):
                await world.client.create(COMMANDS, COMMAND_FOR_NOBODY, NS)
                await asyncio.sleep(60)
                assert not (await world.client.list(COMMANDS, NS)).items

    virtual.run(play)


def test_the_controllers_notes_are_gone_when_it_is_done() -> None:
    async def tell(world: World) -> None:
        await world.job({"w": 2}, policies=[{"event": "PodEvicted", "action": "RestartJob"}])
        await world.phase("Running", running=2)
        await world.delete_pod("j-w-0")
        await world.phase("Running", retryCount=1, running=2)
        await world.quiet()
        job = await world.get()
        assert job is not None
        assert not job["metadata"].get("annotations")

    live(tell, *LASTING)


def test_an_order_that_comes_to_a_look_is_followed_to_the_end() -> None:
    """To resume a Job that runs is to look at it; what that shows calls for the next look as ever."""

    async def tell(world: World) -> None:
        await world.job({"w": 1}, policies=[{"event": "*", "action": "ResumeJob"}], plugins={"svc": []})
        await world.phase("Failed", version=1)
        await world.quiet()
        assert not (await world.client.list(GROUPS, NS)).items
        assert not (await world.client.list(("v1", "Service"), NS)).items

    live(tell, Rule(runs=(a_run(code=1),)))
