"""What the tests of crashes tell again and again: each story once undisturbed, then with every death."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from longshore.client import PatchType
from longshore.scripts.pod_rules import Rule
from support.volcano_world import FOR_EVER, JOBS, NEVER, SUCCEED, Story, World, a_run, a_task

STORIES: dict[str, Story] = {}


Tell = Callable[[World], Awaitable[None]]


def story(*rules: Rule) -> Callable[[Tell], Tell]:
    def add(tell: Tell) -> Tell:
        name = tell.__name__.replace("_", " ")
        STORIES[name] = Story(name, tell, rules or SUCCEED)
        return tell

    return add


_FAILS = a_run(5.0, 3)
_FIRST_FAILS = (Rule(runs=(a_run(60.0),)), Rule("j-w-0", (_FAILS, a_run(60.0))))
_FOR_EVER = Rule(runs=(FOR_EVER,))


@story()
async def runs_to_its_end(world: World) -> None:
    await world.job({"w": 2, "m": 1}, plugins={"env": [], "svc": []})
    await world.phase("Completed")


@story(*_FIRST_FAILS)
async def a_failed_pod_restarts_the_job(world: World) -> None:
    await world.job({"w": 2}, policies=[{"event": "PodFailed", "action": "RestartJob"}], plugins={"svc": []})
    await world.phase("Completed", retryCount=1)


@story(*_FIRST_FAILS)
async def a_failed_pod_restarts_its_task(world: World) -> None:
    tasks = [a_task("w", 2, policies=[{"exitCode": 3, "action": "RestartTask"}]), a_task("m", 1)]
    await world.job(tasks)
    await world.phase("Completed", retryCount=1)


@story(*_FIRST_FAILS)
async def a_failed_pod_is_restarted_alone(world: World) -> None:
    await world.job({"w": 2}, policies=[{"event": "PodFailed", "action": "RestartPod"}])
    await world.phase("Completed", retryCount=1)


@story(*_FIRST_FAILS)
async def a_failed_pod_restarts_its_partition(world: World) -> None:
    policies = [{"event": "PodFailed", "action": "RestartPartition"}]
    partitions = {"totalPartitions": 2, "partitionSize": 2}
    await world.job([a_task("w", 4, partitionPolicy=partitions, policies=policies)])
    await world.phase("Completed", retryCount=1)


@story(_FOR_EVER, Rule("j-w-0", (_FAILS, a_run(5.0))))
async def a_failed_pod_terminates_the_job_after_a_while(world: World) -> None:
    policies = [{"event": "PodFailed", "action": "TerminateJob", "timeout": "20s"}]
    await world.job({"w": 2}, minAvailable=1, policies=policies)
    await world.phase("Terminated")


@story(Rule(runs=(NEVER,)))
async def pods_that_never_start_abort_the_job(world: World) -> None:
    policies = [{"event": "PodPending", "action": "AbortJob", "timeout": "90s"}]
    await world.job({"w": 2}, policies=policies)
    await world.phase("Aborted")


@story(_FOR_EVER)
async def an_evicted_pod_restarts_the_job(world: World) -> None:
    await world.job({"w": 2}, policies=[{"event": "PodEvicted", "action": "RestartJob"}])
    await world.phase("Running", running=2)
    await world.delete_pod("j-w-1")
    await world.phase("Running", running=2, retryCount=1)


@story(Rule(runs=(FOR_EVER, NEVER)))
async def an_evicted_pod_that_does_not_come_back_completes_the_job(world: World) -> None:
    policies = [{"event": "PodEvicted", "action": "CompleteJob", "timeout": "2m"}]
    await world.job({"w": 2}, minAvailable=1, policies=policies)
    await world.phase("Running", running=2)
    await world.delete_pod("j-w-1")
    await world.phase("Completed")


@story(_FOR_EVER)
async def commands_abort_and_resume(world: World) -> None:
    await world.job({"w": 2}, maxRetry=5, plugins={"svc": [], "env": []})
    await world.phase("Running", running=2)
    await world.command("AbortJob")
    await world.phase("Aborted")
    await world.command("ResumeJob")
    await world.phase("Running", running=2)


@story(Rule(runs=(a_run(3.0, 1),)))
async def retries_run_out(world: World) -> None:
    await world.job({"w": 2}, maxRetry=2, policies=[{"event": "PodFailed", "action": "RestartJob"}])
    await world.phase("Failed")


@story(_FOR_EVER, Rule("j-m*", (a_run(5.0),)))
async def a_completed_task_completes_the_job(world: World) -> None:
    tasks = [a_task("m", 1, policies=[{"event": "TaskCompleted", "action": "CompleteJob"}]), a_task("w", 2)]
    await world.job(tasks)
    await world.phase("Completed")


@story()
async def a_task_waits_for_another(world: World) -> None:
    tasks = [a_task("m", 1, dependsOn={"name": ["w"]}), a_task("w", 2)]
    await world.job(tasks, minAvailable=1)
    await world.phase("Completed")


@story(_FOR_EVER)
async def it_grows_and_shrinks(world: World) -> None:
    await world.job({"w": 2}, minAvailable=1, plugins={"svc": []})
    await world.phase("Running", running=2)
    for many in (4, 1):
        patch = [{"op": "replace", "path": "/spec/tasks/0/replicas", "value": many}]
        patch += [{"op": "replace", "path": "/spec/tasks/0/minAvailable", "value": 1}]
        await world.client.patch(JOBS, "j", patch, "ns", type=PatchType.JSON)
        await world.phase("Running", running=many)


@story()
async def claims_are_made_for_it(world: World) -> None:
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    await world.job({"w": 2}, volumes=[{"mountPath": "/data", "volumeClaim": claim}])
    await world.phase("Completed")
