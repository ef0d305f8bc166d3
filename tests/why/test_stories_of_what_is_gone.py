"""Who deleted this: stories of objects that are gone, and of new ones of the same name."""

from __future__ import annotations

import pytest

from longshore.api.types import Obj
from longshore.client import DeleteOptions
from longshore.node.runtime import Container
from longshore.testing import Run
from why.why_stage import CRON_JOBS, JOBS, PODS, Stage, a_job, a_pod, play

BACKGROUND = DeleteOptions(propagation="Background")


def test_a_job_that_somebody_deletes_with_its_pods() -> None:
    async def script(stage: Stage) -> None:
        await stage.create(JOBS, a_job())
        await stage.sleep(5)
        (pod,) = await stage.pods()
        await stage.alice.delete(JOBS, "x", "default", BACKGROUND)
        await stage.sleep(60)
        await stage.tells(
            "job/x",
            """
            09:00:00  created 1 pod
            09:00:05  alice deleted the Job with kubectl
            next      nothing: the Job is gone
            """,
        )
        await stage.tells(
            f"pod/{pod}",
            """
            09:00:00  placed on node node, the only one
            09:00:05  the garbage collector deleted it: its owner Job x does not exist
            09:00:05  container main was stopped: exit code 143
            next      nothing: the pod is gone
            """,
        )

    play(script, lambda container: Run(seconds=None))


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ({"backoffLimit": 0}, "BackoffLimitExceeded, 1 pod failed"),
        ({"activeDeadlineSeconds": 3}, "DeadlineExceeded, it was active for more than activeDeadlineSeconds"),
        (
            {
                "completionMode": "Indexed",
                "completions": 3,
                "backoffLimitPerIndex": 0,
                "maxFailedIndexes": 0,
            },
            "MaxFailedIndexesExceeded, 1 index failed",
        ),
    ],
)
def test_limits_that_went_with_a_failed_job_are_not_made_up(spec: Obj, told: str) -> None:
    async def script(stage: Stage) -> None:
        await stage.create(JOBS, a_job(**spec))
        await stage.sleep(20)
        await stage.alice.delete(JOBS, "x", "default", BACKGROUND)
        await stage.sleep(60)
        said = await stage.why("job/x")
        assert f"the Job failed: {told}; 0 succeeded" in said

    play(script, lambda container: Run(seconds=5.0, code=1))


def test_a_job_whose_pods_stay() -> None:
    async def script(stage: Stage) -> None:
        await stage.create(JOBS, a_job())
        await stage.sleep(5)
        await stage.alice.delete(JOBS, "x", "default", DeleteOptions(propagation="Orphan"))
        await stage.sleep(60)
        await stage.tells(
            "job/x",
            """
            09:00:00  created 1 pod
            09:00:05  alice deleted the Job with kubectl
            09:00:05  left behind: 1 dependent, not to be deleted with it
            next      nothing: the Job is gone
            """,
        )

    play(script, lambda container: Run(seconds=None))


def test_a_pod_that_its_job_deletes() -> None:
    async def script(stage: Stage) -> None:
        await stage.create(JOBS, a_job(activeDeadlineSeconds=10))
        await stage.sleep(5)
        (pod,) = await stage.pods()
        await stage.client.patch(JOBS, "x", {"spec": {"suspend": True}}, "default")
        await stage.sleep(60)
        await stage.tells(
            f"pod/{pod}",
            """
            09:00:00  placed on node node, the only one
            09:00:05  longshore deleted the pod, for its Job x
            09:00:05  container main was stopped: exit code 143
            next      nothing: the pod is gone
            """,
        )

    play(script, lambda container: Run(seconds=None))


def test_a_job_of_the_name_of_an_earlier_one() -> None:
    async def script(stage: Stage) -> None:
        await stage.create(JOBS, a_job(completions=5))
        await stage.sleep(2)
        await stage.alice.delete(JOBS, "x", "default", BACKGROUND)
        await stage.sleep(60)
        await stage.create(JOBS, a_job())
        await stage.sleep(10)
        await stage.tells(
            "job/x",
            """
            09:00:02  (an earlier Job of this name, which alice deleted)
            09:01:02  created 1 pod
            09:01:07  the Job is complete: 1 of 1 succeeded
            next      nothing: the Job is complete. See its logs: longshore logs job/x
            """,
        )

    play(script)


def test_a_collection_that_somebody_deletes() -> None:
    async def script(stage: Stage) -> None:
        await stage.create(JOBS, a_job())
        await stage.sleep(10)
        await stage.alice.delete_collection(JOBS, "default", options=BACKGROUND)
        await stage.sleep(10)
        await stage.tells(
            "job/x",
            """
            09:00:00  created 1 pod
            09:00:05  the Job is complete: 1 succeeded
            09:00:10  alice deleted the Job with kubectl
            next      nothing: the Job is gone
            """,
        )

    play(script)


def test_an_old_job_that_its_cronjob_deletes() -> None:
    async def script(stage: Stage) -> None:
        spec = {"schedule": "*/5 * * * *", "successfulJobsHistoryLimit": 0}
        spec["jobTemplate"] = {"spec": a_job()["spec"]}
        await stage.create(("batch/v1", "CronJob"), {"metadata": {"name": "n"}, "spec": spec})
        await stage.sleep(6 * 60)
        await stage.tells(
            "job/n-29454305",
            """
            09:05:00  created 1 pod
            09:05:05  the Job is complete: 1 succeeded
            09:05:05  longshore deleted the Job, for its CronJob n
            next      nothing: the Job is gone
            """,
        )
        await stage.tells(
            "cronjob/n",
            """
            09:05:00  started the run of 09:05:00: job n-29454305
            09:05:05  deleted job n-29454305: it is beyond the history limits
            now       the last run was that of 09:05:00
            next      the run of 09:10:00 (schedule "*/5 * * * *")
                      run it now: longshore cron run n; the runs after that: longshore cron next n
            """,
        )

    play(script)


def test_failures_of_an_earlier_gang_of_the_same_name_are_not_told_of_the_new_one() -> None:
    gangs = ("batch.volcano.sh/v1alpha1", "Job")
    template = a_job()["spec"]["template"]
    task = {"name": "work", "replicas": 1, "template": template}
    gang = {"metadata": {"name": "g"}, "spec": {"minAvailable": 1, "tasks": [task]}}
    seen: list[str] = []

    def runs(container: Container) -> Run:
        seen.append(container.pod)
        return Run(seconds=5.0, code=1 if len(seen) == 1 else 0)

    async def script(stage: Stage) -> None:
        await stage.create(gangs, gang)
        await stage.sleep(20)
        await stage.alice.delete(gangs, "g", "default")
        await stage.sleep(40)
        await stage.create(gangs, gang)
        await stage.sleep(20)
        await stage.tells(
            "vcjob/g",
            """
            09:00:20  (an earlier Volcano Job of this name, which alice deleted)
            09:01:00  created the PodGroup
            09:01:00  the PodGroup is new: no pods are made yet
            09:01:00  created 1 of 1 pods of task 'work'
            09:01:00  Running: 1 pods have started, 1 are needed
            09:01:05  Completed: all pods ended and 1 succeeded, 1 are needed
            now       the Job is Completed
            next      nothing: the Job has ended. See its pods: longshore pod list -j g
            """,
        )

    play(script, runs)


def test_a_finalizer_that_keeps_an_object_is_told_of_every_kind() -> None:
    volcano = "scheduling.volcano.sh/v1beta1"
    gang = {"tasks": [{"name": "work", "replicas": 1, "template": a_job()["spec"]["template"]}]}
    schedule = {"schedule": "0 3 * * *", "jobTemplate": {"spec": a_job()["spec"]}}
    size = {"accessModes": ["ReadWriteOnce"]}
    claim = {**size, "resources": {"requests": {"storage": "1Gi"}}}
    volume = {**size, "capacity": {"storage": "1Gi"}, "hostPath": {"path": "/data"}, "storageClassName": ""}
    objects: list[tuple[str, tuple[str, str], Obj]] = [
        ("job", JOBS, a_job()["spec"]),
        ("cronjob", CRON_JOBS, schedule),
        ("pod", PODS, a_pod()["spec"]),
        ("vcjob", ("batch.volcano.sh/v1alpha1", "Job"), gang),
        ("podgroup", (volcano, "PodGroup"), {"minMember": 1}),
        ("queue", (volcano, "Queue"), {"weight": 1}),
        ("jobflow", ("flow.volcano.sh/v1alpha1", "JobFlow"), {"flows": []}),
        ("pvc", ("v1", "PersistentVolumeClaim"), claim),
        ("pv", ("v1", "PersistentVolume"), volume),
    ]

    async def script(stage: Stage) -> None:
        for word, kind, spec in objects:
            namespace = "" if word in ("queue", "pv") else "default"
            held = {"name": "held", "finalizers": ["example.org/hold"]}
            await stage.create(kind, {"metadata": held, "spec": spec}, namespace)
            await stage.sleep(1)
            await stage.alice.delete(kind, "held", namespace)
            await stage.sleep(60)
            told = (await stage.why(f"{word}/held", namespace)).splitlines()[-2:]
            assert told == [
                "now       it is being deleted, held by example.org/hold",
                "next      it goes when the client that set the finalizer example.org/hold removes it",
            ], word

    play(script)
