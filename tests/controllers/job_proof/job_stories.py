"""Stories of Jobs whose end does not depend on when controllers look: undisturbed, crashed and with faults.

Pods that a story needs at work while somebody changes the Job are held, so that controllers that are away
for a while miss nothing that would lead elsewhere.
"""

from __future__ import annotations

import asyncio
from typing import Any

from longshore.api.strategy import Propagation
from longshore.api.types import Obj
from longshore.client import Client, DeleteOptions
from longshore.controllers import garbage
from longshore.machinery.controller_context import ControllerContext
from longshore.machinery.time.virtual import VirtualClock
from longshore.scripts.pod_rules import Rule
from support.job_world import JOBS, NS, PODS, Script, Story, World, a_job, a_run, goes, job_controller

INDEXED = "Indexed"
STORIES: dict[str, Story] = {}
"""By name. `EXPECTED` has what each Job's status must say at the end, at least."""
EXPECTED: dict[str, Obj] = {}


SUCCEED = goes()


def story(script: Script = SUCCEED, controllers: Any = job_controller, **expected: Any) -> Any:
    """Registers a function as a story under its own name."""

    def register(tell: Any) -> Any:
        name = tell.__name__
        STORIES[name] = Story(name, tell, script, controllers)
        EXPECTED[name] = expected
        return tell

    return register


def fails(times: dict[int, int], code: int = 1) -> Script:
    """Each index fails so often before it succeeds."""
    rules = [
        Rule(index=index, runs=(a_run(code=code),) * often + (a_run(),)) for index, often in times.items()
    ]
    return Script((*SUCCEED.rules, *rules))


HELD = goes(holds=True)
"""Pods run until the story lets them finish."""
HELD_FAILING = goes(a_run(code=1), holds=True)


async def both(client: Client, clock: VirtualClock) -> None:
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(job_controller(client, clock))
        tasks.create_task(garbage.run(ControllerContext(client, clock=clock, rng=clock.rng)))


@story(succeeded=5)
async def plain_pods_succeed(world: World) -> None:
    await world.job(completions=5, parallelism=2)
    await world.ended()


@story(fails({1: 2, 3: 1}), succeeded=5, failed=3, completedIndexes="0-4")
async def indexes_fail_and_are_tried_again(world: World) -> None:
    await world.job(completions=5, parallelism=2, completionMode=INDEXED)
    await world.ended()


@story(fails({0: 9, 1: 1}), succeeded=3, failed=3, completedIndexes="1-3", failedIndexes="0")
async def each_index_has_its_own_backoff_limit(world: World) -> None:
    await world.job(completions=4, parallelism=4, completionMode=INDEXED, backoffLimitPerIndex=1)
    await world.ended()


@story(HELD_FAILING, failed=5, failedIndexes="0,1")
async def too_many_indexes_fail(world: World) -> None:
    await world.job(
        completions=5, parallelism=5, completionMode=INDEXED, backoffLimitPerIndex=0, maxFailedIndexes=1
    )
    await world.running(5)
    world.finish_indexes(0, 1)
    await world.ended()


@story(goes(a_run(code=1)), failed=3)
async def the_backoff_limit_is_reached(world: World) -> None:
    await world.job(backoffLimit=2)
    await world.ended()


@story(HELD_FAILING, failed=3)
async def one_failure_takes_running_pods_along(world: World) -> None:
    await world.job(parallelism=3, completions=3, backoffLimit=0)
    await world.running(3)
    world.finish(1)
    await world.ended()


@story(HELD, succeeded=4)
async def suspended_and_resumed(world: World) -> None:
    await world.job(completions=4, parallelism=2)
    await world.running(2)
    world.finish(2)
    await world.status(succeeded=2, active=2)
    await world.patch(suspend=True)
    await world.status(active=0, terminating=0)
    world.hold_no_more()
    await world.patch(suspend=False)
    await world.ended()


@story(succeeded=2)
async def created_suspended(world: World) -> None:
    await world.job(completions=2, parallelism=2, suspend=True)
    await world.suspended()
    await world.patch(suspend=False)
    await world.ended()


_LASTING = Rule(index=2, runs=(a_run(None, 42),))


@story(
    Script(
        (
            Rule(index=0, runs=(a_run(code=10), a_run())),
            Rule(index=1, runs=(a_run(code=1), a_run())),
            _LASTING,
        )
    ),
    succeeded=2, failed=2, completedIndexes="0,1",
)  # fmt: skip
async def a_failure_policy_ignores_counts_and_fails(world: World) -> None:
    rules = [
        {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [42]}},
        {"action": "Ignore", "onExitCodes": {"operator": "In", "values": [10]}},
    ]
    await world.job(completions=3, parallelism=3, completionMode=INDEXED, podFailurePolicy={"rules": rules})
    await world.status(succeeded=2, failed=1)
    world.finish_indexes(2)
    await world.ended()


@story(succeeded=2)
async def disruptions_are_ignored(world: World) -> None:
    rules = [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}]
    await world.job(completions=2, parallelism=1, backoffLimit=0, podFailurePolicy={"rules": rules})
    for _ in range(2):
        await world.evict()
    await world.ended()


@story(fails({1: 9}, code=7), succeeded=2, failed=1, completedIndexes="0,2", failedIndexes="1")
async def a_failure_policy_fails_one_index(world: World) -> None:
    rules = [{"action": "FailIndex", "onExitCodes": {"operator": "In", "values": [7]}}]
    await world.job(
        completions=3,
        parallelism=3,
        completionMode=INDEXED,
        backoffLimitPerIndex=5,
        podFailurePolicy={"rules": rules},
    )
    await world.ended()


@story(HELD, succeeded=1, completedIndexes="1")
async def a_success_policy_is_met(world: World) -> None:
    policy = {"rules": [{"succeededIndexes": "0-1", "succeededCount": 1}]}
    await world.job(completions=4, parallelism=4, completionMode=INDEXED, successPolicy=policy)
    await world.running(4)
    world.finish_indexes(1)
    await world.ended()


async def _replaced(world: World, **spec: Any) -> None:
    await world.job(completions=2, parallelism=2, **spec)
    await world.running(2)
    world.hold_no_more()
    for pod in await world.pods():
        await world.client.delete(PODS, pod["metadata"]["name"], NS)
    await world.ended()


@story(HELD, succeeded=2, failed=2)
async def deleted_pods_are_replaced_when_they_have_failed(world: World) -> None:
    await _replaced(world, podReplacementPolicy="Failed")


@story(HELD, succeeded=2, failed=2)
async def deleted_pods_are_replaced_at_once(world: World) -> None:
    await _replaced(world)


@story(Script((*SUCCEED.rules, _LASTING)), succeeded=2, completedIndexes="0,1")
async def elastic_up_and_down(world: World) -> None:
    await world.job(completions=3, parallelism=3, completionMode=INDEXED)
    await world.status(completedIndexes="0,1")
    await world.patch(completions=5, parallelism=5)
    await world.status(completedIndexes="0,1,3,4")
    await world.patch(completions=2, parallelism=2)
    await world.ended()


@story(HELD, succeeded=3)
async def parallelism_down_to_nothing_and_up_again(world: World) -> None:
    await world.job(completions=3, parallelism=4)
    await world.running(3)
    await world.patch(parallelism=1)
    await world.status(active=1, terminating=0)
    await world.patch(parallelism=0)
    await world.status(active=0, terminating=0)
    world.hold_no_more()
    await world.patch(parallelism=2)
    await world.ended()


@story(HELD, failed=2)
async def the_deadline_passes(world: World) -> None:
    await world.job(completions=2, parallelism=2, activeDeadlineSeconds=100)
    await world.ended()


@story(HELD, succeeded=3)
async def a_work_queue_ends(world: World) -> None:
    await world.job(parallelism=3)
    await world.running(3)
    world.finish(1)
    await world.status(succeeded=1)
    world.finish(2)
    await world.ended()


async def _deleted(world: World, propagation: Propagation) -> None:
    await world.job(completions=4, parallelism=2)
    await world.running(2)
    world.finish(1)
    await world.status(succeeded=1, active=2)
    await world.client.delete(JOBS, "j", NS, DeleteOptions(propagation=propagation))


async def _gone(world: World) -> bool:
    return await world.get() is None and not await world.pods()


@story(HELD, both)
async def deleted_in_the_background(world: World) -> None:
    await _deleted(world, "Background")
    await world.until(lambda: _gone(world))


@story(HELD, both)
async def deleted_in_the_foreground(world: World) -> None:
    await _deleted(world, "Foreground")
    await world.until(lambda: _gone(world))


@story(HELD, both)
async def deleted_without_its_pods(world: World) -> None:
    await _deleted(world, "Orphan")

    async def left_alone() -> bool:
        pods = [pod["metadata"] for pod in await world.pods()]
        held = any(meta.get("finalizers") or meta.get("ownerReferences") for meta in pods)
        return await world.get() is None and not held

    await world.until(left_alone)


@story(succeeded=3)
async def orphans_are_adopted(world: World) -> None:
    for number in range(2):
        template = a_job(labels={"app": "x"})["spec"]["template"]
        pod = {**template, "metadata": {"name": f"orphan-{number}", "labels": {"app": "x"}}}
        await world.client.create(PODS, pod, NS)
    await world.job(
        completions=3,
        parallelism=3,
        manualSelector=True,
        selector={"matchLabels": {"app": "x"}},
        labels={"app": "x"},
    )
    await world.ended()


@story(HELD, succeeded=1)
async def a_pod_is_released_when_its_labels_go(world: World) -> None:
    await world.job(manualSelector=True, selector={"matchLabels": {"app": "x"}}, labels={"app": "x"})
    await world.running(1)
    world.hold_no_more()
    for pod in await world.pods():
        await world.client.patch(PODS, pod["metadata"]["name"], {"metadata": {"labels": {"app": "y"}}}, NS)
    await world.ended()


@story(fails({0: 1}), succeeded=2, failed=1)
async def several_jobs_at_once(world: World) -> None:
    await world.job("k", completions=2, parallelism=2)
    await world.job("j", completions=2, parallelism=2, completionMode=INDEXED)
    await world.job("l", completions=2, parallelism=1, completionMode=INDEXED, backoffLimitPerIndex=1)
    for name in ("j", "k", "l"):
        await world.ended(name)


@story(HELD, both, succeeded=2)
async def another_job_of_the_same_name(world: World) -> None:
    await world.job(completions=2, parallelism=2, completionMode=INDEXED)
    await world.running(2)
    await world.client.delete(JOBS, "j", NS, DeleteOptions(propagation="Background"))
    world.hold_no_more()
    await world.job(completions=2, parallelism=2, completionMode=INDEXED)
    await world.ended()

    async def old_ones_are_gone() -> bool:
        job = await world.get()
        assert job is not None
        uid = job["metadata"]["uid"]
        return all(pod["metadata"]["ownerReferences"][0]["uid"] == uid for pod in await world.pods())

    await world.until(old_ones_are_gone)
