"""What the tests of crashes tell again and again: each story once undisturbed, then with every death."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from longshore.client import PatchType
from support.volcano_world import JOBS, Script, Story, World, a_task

STORIES: dict[str, Story] = {}


Tell = Callable[[World], Awaitable[None]]


def story(script: Script | None = None) -> Callable[[Tell], Tell]:
    def add(tell: Tell) -> Tell:
        name = tell.__name__.replace("_", " ")
        STORIES[name] = Story(name, tell, script or Script())
        return tell

    return add


def _first_fails(name: str, nth: int) -> int:
    return 3 if name == "j-w-0" and nth == 0 else 0


_FIRST_FAILS = Script(
    exits=_first_fails, runs=lambda name, nth: 5.0 if name == "j-w-0" and nth == 0 else 60.0
)
_FOR_EVER = Script(runs=lambda name, nth: None)


@story()
async def runs_to_its_end(world: World) -> None:
    await world.job({"w": 2, "m": 1}, plugins={"env": [], "svc": []})
    await world.phase("Completed")


@story(_FIRST_FAILS)
async def a_failed_pod_restarts_the_job(world: World) -> None:
    await world.job({"w": 2}, policies=[{"event": "PodFailed", "action": "RestartJob"}], plugins={"svc": []})
    await world.phase("Completed", retryCount=1)


@story(_FIRST_FAILS)
async def a_failed_pod_restarts_its_task(world: World) -> None:
    tasks = [a_task("w", 2, policies=[{"exitCode": 3, "action": "RestartTask"}]), a_task("m", 1)]
    await world.job(tasks)
    await world.phase("Completed", retryCount=1)


@story(_FIRST_FAILS)
async def a_failed_pod_is_restarted_alone(world: World) -> None:
    await world.job({"w": 2}, policies=[{"event": "PodFailed", "action": "RestartPod"}])
    await world.phase("Completed", retryCount=1)


@story(_FIRST_FAILS)
async def a_failed_pod_restarts_its_partition(world: World) -> None:
    policies = [{"event": "PodFailed", "action": "RestartPartition"}]
    partitions = {"totalPartitions": 2, "partitionSize": 2}
    await world.job([a_task("w", 4, partitionPolicy=partitions, policies=policies)])
    await world.phase("Completed", retryCount=1)


@story(Script(exits=_first_fails, runs=lambda name, nth: 5.0 if name == "j-w-0" else None))
async def a_failed_pod_terminates_the_job_after_a_while(world: World) -> None:
    policies = [{"event": "PodFailed", "action": "TerminateJob", "timeout": "20s"}]
    await world.job({"w": 2}, minAvailable=1, policies=policies)
    await world.phase("Terminated")


@story(Script(starts=lambda name, nth: None))
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


@story(Script(runs=lambda name, nth: None, starts=lambda name, nth: None if nth else 1.0))
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


@story(Script(exits=lambda name, nth: 1, runs=lambda name, nth: 3.0))
async def retries_run_out(world: World) -> None:
    await world.job({"w": 2}, maxRetry=2, policies=[{"event": "PodFailed", "action": "RestartJob"}])
    await world.phase("Failed")


@story(Script(runs=lambda name, nth: 5.0 if name.startswith("j-m") else None))
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
