"""Volcano Jobs that are refused, and in which words."""

from __future__ import annotations

from typing import Any

import pytest

from support.api_in_memory import Server
from support.volcano_manifests import JOBS, MERGE, created, denied, job, pod_spec, task
from support.volcano_queues import open_queue, set_state

pytestmark = pytest.mark.anyio

VALID = (
    " valid events are [* JobUpdated PodEvicted PodFailed PodPending TaskCompleted TaskFailed Unknown], "
    "valid actions are [AbortJob CompleteJob RestartJob RestartPartition RestartPod RestartTask ResumeJob "
    "TerminateJob];"
)
NO_ORDER = "job has dependencies between tasks, but doesn't form a directed acyclic graph(DAG);"
TIERS = "must not specify 'highestTierAllowed' and 'highestTierName' in networkTopology simultaneously"


def policy(event: str = "PodFailed", action: str = "AbortJob", **more: Any) -> dict[str, Any]:
    return {"event": event, "action": action, **more}


def claim(path: str = "/a", **more: Any) -> dict[str, Any]:
    return {"mountPath": path, **more}


CASES: list[tuple[dict[str, Any], str]] = [
    (job(task(minAvailable=3, replicas=4), minAvailable=5),
     "job 'minAvailable' should not be greater than total replicas in tasks;"),
    (job(task("w", 2, minAvailable=3)),
     "'minAvailable' is greater than 'replicas' in task: w, job: j; "
     "job 'minAvailable' should not be greater than total replicas in tasks;"),
    (job(task("w"), task("w")), "duplicated task name w;"),
    (job(task("a" * 33), name="j" * 36),
     f"create pod with name {'j' * 36}-{'a' * 33}-0 validate failed "
     "[name part must be no more than 63 bytes];"),
    (job(plugins={"magic": [], "black": []}),
     "unable to find job plugin: black; unable to find job plugin: magic;"),
    (job(plugins={"mpi": []}), "The specified mpi master task was not found"),
    (job(task("boss"), plugins={"mpi": ["--port", "23", "-master=chief"]}),
     "The specified mpi master task was not found"),
    (job(volumes=[claim(volumeClaimName="a"), claim(volumeClaimName="b")]), "duplicated mountPath: /a;"),
    (job(volumes=[claim()]), "either VolumeClaim or VolumeClaimName must be specified;"),
    (job(queue="nowhere"), 'unable to find job queue: queue.scheduling.volcano.sh "nowhere" not found;'),
    (job(task("a", dependsOn={"name": ["a"]})), NO_ORDER),
    (job(task("a", dependsOn={"name": ["b"]}), task("b", dependsOn={"name": ["a"]})), NO_ORDER),
    (job(task("a", dependsOn={"name": ["zz"]})), NO_ORDER),
    (job(task("b"), task("a", dependsOn={"name": ["b", "b"]})), NO_ORDER),
    (job(task("w", 5, partitionPolicy={"totalPartitions": 2, "partitionSize": 2})),
     "'Replicas' are not equal to TotalPartitions*PartitionSize in task: w, job: j"),
    (job(task("w", 4, minAvailable=3,
              partitionPolicy={"totalPartitions": 2, "partitionSize": 2, "minPartitions": 1})),
     "'MinAvailable' is not equal to MinPartitions*PartitionSize in task: w, job: j"),
    (job(task(template={"spec": {"containers": [], "restartPolicy": "Never"}})),
     "spec.task[0].template.spec.containers: Required value."),
    (job(task(), task("x", template={"spec": pod_spec(restartPolicy="Sometimes")})),
     'spec.task[1].template.spec.restartPolicy: Unsupported value: "Sometimes": '
     'supported values: "Always", "OnFailure", "Never".'),
    (job(task(topologyPolicy="restricted")),
     "the cpu request isn't an integer in spec.task[0] container[0]."),
    (job(networkTopology={"highestTierAllowed": 1, "highestTierName": "rack"}), TIERS),
]  # fmt: skip


@pytest.mark.parametrize(("body", "why"), CASES)
async def test_a_bad_job_is_told_what_is_wrong(server: Server, body: dict[str, Any], why: str) -> None:
    assert denied(await server.send("POST", JOBS, body), "validatejob") == why


async def test_a_job_without_tasks_is_refused_by_admission_and_an_empty_list_by_the_schema(
    server: Server,
) -> None:
    body = job()
    del body["spec"]["tasks"]
    assert denied(await server.send("POST", JOBS, body), "validatejob") == "No task specified in job spec"
    assert (await server.send("POST", JOBS, job(tasks=[]))).code == 422


POLICIES: list[tuple[list[dict[str, Any]], str]] = [
    ([policy(exitCode=1)], "must not specify event and exitCode simultaneously"),
    ([{"action": "RestartJob"}], "either event and exitCode should be specified"),
    ([{"exitCode": 0, "action": "RestartJob"}], "0 is not a valid error code"),
    ([{"exitCode": 2, "action": "Nonsense"}, {"exitCode": 2}], "duplicate exitCode 2"),
    ([policy("OutOfSync")], 'spec.policies: Invalid value: "OutOfSync": invalid policy event'),
    ([policy(action="SyncJob")], 'spec.policies: Invalid value: "SyncJob": invalid policy action'),
    ([policy(), policy()], "duplicate event PodFailed  across different policy"),
    ([policy("*"), policy()], "if there's * here, no other policy should be here"),
]


@pytest.mark.parametrize(("policies", "why"), POLICIES)
async def test_a_bad_policy_is_told_with_all_that_is_valid(
    server: Server, policies: list[dict[str, Any]], why: str
) -> None:
    answer = await server.send("POST", JOBS, job(policies=policies))
    assert denied(answer, "validatejob") == f"1 error occurred:\n\t* {why}\n\n{VALID}"


async def test_a_tasks_policies_are_named_as_such_and_repeats_in_one_policy_merge(server: Server) -> None:
    bad = task(policies=[{"events": ["PodFailed", "PodFailed"], "event": "PodFailed", "action": "Nope"}])
    text = denied(await server.send("POST", JOBS, job(bad)), "validatejob")
    assert text.startswith(
        '1 error occurred:\n\t* spec.tasks.policies: Invalid value: "Nope": invalid policy action\n\n'
    )
    fine = task(policies=[{"events": ["PodFailed", "PodFailed"], "event": "PodFailed", "action": "AbortJob"}])
    await created(server, JOBS, job(fine))


async def test_several_complaints_come_in_one_text(server: Server) -> None:
    body = job(task("a", minAvailable=2), policies=[policy("*"), policy(), policy()], queue="q")
    text = denied(await server.send("POST", JOBS, body), "validatejob")
    assert text == (
        "'minAvailable' is greater than 'replicas' in task: a, job: j; "
        "job 'minAvailable' should not be greater than total replicas in tasks;"
        "2 errors occurred:\n\t* duplicate event PodFailed  across different policy\n\t"
        f"* if there's * here, no other policy should be here\n\n{VALID}"
        ' unable to find job queue: queue.scheduling.volcano.sh "q" not found;'
    )


async def test_a_queue_must_be_open_and_a_leaf(server: Server) -> None:
    await open_queue(server.client, "root")
    await open_queue(server.client, "parent")
    await open_queue(server.client, "child", parent="parent")

    async def refused(queue: str) -> str:
        return denied(await server.send("POST", JOBS, job(queue=queue)), "validatejob")

    assert await refused("root") == "can not submit job to root queue;"
    assert await refused("parent") == "can only submit job to leaf queue, queue `parent` has 1 child queues;"
    await set_state(server.client, "child", "Closed")
    assert await refused("child") == (
        "can only submit job to queue with state `Open`, queue `child` status is `Closed`;"
    )


FIXED = (
    "job updates may not change fields other than `minAvailable`, `tasks[*].replicas under spec` "
    "and `PriorityClassName`"
)
CHANGES: list[tuple[dict[str, Any], str]] = [
    ({"minAvailable": 4}, "job 'minAvailable' must not be greater than total replicas"),
    ({"tasks": [task("a", 2, minAvailable=3)]}, "'minAvailable' must be <= 'replicas' in task: a"),
    ({"tasks": [task("a", 2), task("b")]}, "job updates may not add or remove tasks"),
    ({"queue": "other"}, FIXED),
    ({"maxRetry": 9}, FIXED),
    ({"networkTopology": {"highestTierAllowed": 1, "highestTierName": "x"}}, TIERS),
]


@pytest.mark.parametrize(("change", "why"), CHANGES)
async def test_little_of_a_job_may_change(server: Server, change: dict[str, Any], why: str) -> None:
    await created(server, JOBS, job(task("a", 2, minAvailable=1, maxRetry=3)))
    answer = await server.send("PATCH", f"{JOBS}/j", {"spec": change}, type=MERGE)
    assert denied(answer, "validatejob") == why


async def test_counts_priority_labels_and_claim_names_may_change(server: Server) -> None:
    claimed = {"mountPath": "/a", "volumeClaim": {"accessModes": ["ReadWriteOnce"]}}
    made = await created(server, JOBS, job(task("a", 2), volumes=[claimed]))
    tasks = [{**made["spec"]["tasks"][0], "replicas": 3, "minAvailable": 0}]
    spec = {
        "tasks": tasks,
        "minAvailable": 1,
        "priorityClassName": "high",
        "volumes": [{**claimed, "volumeClaimName": "j-pvc-1"}],
    }
    changed = await server.send(
        "PATCH", f"{JOBS}/j", {"metadata": {"labels": {"x": "y"}}, "spec": spec}, type=MERGE
    )
    assert changed.code == 200, changed.message


async def test_the_same_amounts_written_otherwise_are_no_change(server: Server) -> None:
    def with_cpu(cpu: str) -> dict[str, Any]:
        container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}
        return {"spec": pod_spec(containers=[container])}

    made = await created(server, JOBS, job(task("a", template=with_cpu("1000m"))))
    tasks = [{**made["spec"]["tasks"][0], "template": with_cpu("1")}]
    assert (await server.send("PATCH", f"{JOBS}/j", {"spec": {"tasks": tasks}}, type=MERGE)).code == 200
