"""What people and machines are told about a Volcano Job: reasons, events, metrics."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable

from longshore.api.metrics import Registry
from longshore.controllers.volcano import job as volcano_job
from longshore.machinery.controller_context import ControllerContext
from longshore.machinery.explanations import Explanations
from longshore.machinery.time import virtual
from longshore.machinery.time.virtual import VirtualClock
from longshore.scripts.pod_rules import Rule
from longshore.scripts.runs import Run
from longshore.testing import SeededKeys
from longshore.testing.stories import beside
from support.volcano_world import FOR_EVER, NEVER, NS, World, a_run, a_world


def told(
    tell: Callable[[World], Awaitable[None]], run: Run | None = None
) -> tuple[list[str], list[tuple[str, str, str]], Registry]:
    """The reasons, the events about the Job `j`, and the metrics of a life."""
    explanations, registry = Explanations(), Registry()

    async def play(clock: VirtualClock) -> list[tuple[str, str, str]]:
        async with a_world(clock, [Rule(runs=(run or a_run(),))]) as world:
            context = ControllerContext(
                world.client,
                clock=clock,
                rng=random.Random(1),
                registry=registry,
                explanations=explanations,
            )
            work = volcano_job.run(context, keys=SeededKeys(random.Random(1)))
            async with beside(work):
                await tell(world)
                await world.quiet()
            events = (await world.client.list(("v1", "Event"), NS)).items
            return [
                (event["type"], event["reason"], event["message"])
                for event in events
                if event["involvedObject"]["kind"] == "Job"
            ]

    events = virtual.run(play)
    return [str(why) for told in explanations.of(NS, "j") for why in told.why], events, registry


async def _terminated(world: World) -> None:
    await world.job({"w": 2}, policies=[{"event": "PodFailed", "action": "TerminateJob"}])
    await world.phase("Terminated")


def test_reasons_name_the_policy_that_matched_and_the_rule_that_changed_the_phase() -> None:
    why, _, _ = told(_terminated, a_run(5.0, 1))

    assert "task 'w' lacks 2 of 2 pods: creates them" in why
    assert "PodFailed of j-w-0: policy 0 (event PodFailed) says TerminateJob" in why
    assert "Terminating: it is told to terminate" in why
    assert "Terminated: no pod is alive any more" in why


def test_an_action_is_announced_in_an_event() -> None:
    _, events, _ = told(_terminated, a_run(5.0, 1))

    assert ("Normal", "ExecuteAction", "Start to execute action TerminateJob ") in events


def test_a_delayed_action_is_announced_with_its_delay_and_not_when_it_is_due() -> None:
    async def tell(world: World) -> None:
        policies = [{"event": "PodPending", "action": "AbortJob", "timeout": "90s"}]
        await world.job({"w": 1}, policies=policies)
        await world.phase("Aborted")

    _, events, _ = told(tell, NEVER)

    assert ("Normal", "ExecuteAction", "Execute action AbortJob after 1m30s") in events
    assert not [event for event in events if "Start to execute" in event[2]]


def test_a_command_is_announced_and_taken_away() -> None:
    async def tell(world: World) -> None:
        await world.job({"w": 1})
        await world.phase("Running")
        await world.command("AbortJob")
        await world.phase("Aborted")

    _, events, _ = told(tell, FOR_EVER)

    said = "Start to execute command AbortJob, and clean it up to make sure executed not more than once."
    assert ("Normal", "CommandIssued", said) in events


def test_ends_are_counted_and_forgotten_with_the_job() -> None:
    async def tell(world: World) -> None:
        await world.job({"w": 1})
        await world.phase("Completed")

    _, _, registry = told(tell)
    counter = registry.counter("volcano_job_completed_phase_count", "", ("job_name", "queue_name"))
    assert counter.value(f"{NS}/j", "default") == 1

    async def and_delete(world: World) -> None:
        await tell(world)
        await world.client.delete(("batch.volcano.sh/v1alpha1", "Job"), "j", NS)
        await asyncio.sleep(1)

    _, _, registry = told(and_delete)
    counter = registry.counter("volcano_job_completed_phase_count", "", ("job_name", "queue_name"))
    assert counter.value(f"{NS}/j", "default") == 0


def test_a_missing_claim_is_told_and_the_job_waits_for_it() -> None:
    claim = {
        "metadata": {"name": "mine"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    }

    async def tell(world: World) -> None:
        await world.job({"w": 1}, volumes=[{"mountPath": "/data", "volumeClaimName": "mine"}])
        await asyncio.sleep(2)
        assert not await world.pods()
        await world.client.create(("v1", "PersistentVolumeClaim"), claim, NS)
        await world.phase("Completed")

    _, events, _ = told(tell)

    said = (
        "Failed to create PVC, err: pvc mine is not found, the job will be in the Pending state until the "
        "PVC is created"
    )
    assert ("Warning", "PVCError", said) in events


def test_a_job_whose_pods_are_refused_for_too_long_is_terminated() -> None:
    async def tell(world: World) -> None:
        quota = {"metadata": {"name": "none"}, "spec": {"hard": {"pods": "0"}}}
        await world.client.create(("v1", "ResourceQuota"), quota, NS)
        await world.client.patch(
            ("v1", "ResourceQuota"), "none", {"status": {"hard": {"pods": "0"}, "used": {"pods": "0"}}}, NS,
            subresource="status",
        )  # fmt: skip
        await world.job({"w": 1})
        await world.phase("Terminated")

    _, events, _ = told(tell)

    assert ("Normal", "ExecuteAction", "Job failed on action SyncJob for retry limit reached") in events
    assert [reason for _, reason, _ in events if reason == "FailedCreate"]
