"""Stories of Volcano's kinds: Jobs and their gangs, PodGroups, queues, JobFlows, CronJobs."""

from __future__ import annotations

from typing import Any

from longshore.api.types import Obj
from longshore.node.runtime import Container
from longshore.testing import Run
from why.why_stage import BIG, Stage, a_pod, play

JOBS = ("batch.volcano.sh/v1alpha1", "Job")
CRON_JOBS = ("batch.volcano.sh/v1alpha1", "CronJob")
QUEUES = ("scheduling.volcano.sh/v1beta1", "Queue")
GROUPS = ("scheduling.volcano.sh/v1beta1", "PodGroup")
COMMANDS = ("bus.volcano.sh/v1alpha1", "Command")
FLOWS = ("flow.volcano.sh/v1alpha1", "JobFlow")
TEMPLATES = ("flow.volcano.sh/v1alpha1", "JobTemplate")


def a_gang(name: str = "g", replicas: int = 2, cpu: str = "100m", **spec: Any) -> Obj:
    container = {
        "name": "main",
        "image": "i",
        "command": ["c"],
        "resources": {"requests": {"cpu": cpu}},
    }
    template = {"spec": {"restartPolicy": "Never", "containers": [container]}}
    task = {"name": "work", "replicas": replicas, "template": template}
    return {"metadata": {"name": name}, "spec": {"minAvailable": replicas, "tasks": [task], **spec}}


async def command(stage: Stage, action: str, kind: str, name: str, uid: str) -> None:
    owner = {"kind": kind, "name": name, "uid": uid, "controller": True}
    owner["apiVersion"] = QUEUES[0] if kind == "Queue" else JOBS[0]
    body = {"metadata": {"generateName": "c-", "ownerReferences": [owner]}, "action": action, "target": owner}
    await stage.create(COMMANDS, body)


def test_a_gang_that_succeeds() -> None:
    async def script(stage: Stage) -> None:
        await stage.create(JOBS, a_gang())
        await stage.sleep(20)
        await stage.tells(
            "vcjob/g",
            """
            09:00:00  created the PodGroup
            09:00:00  the PodGroup is new: no pods are made yet
            09:00:00  created 2 of 2 pods of task 'work'
            09:00:00  Running: 2 pods have started, 2 are needed
            09:00:05  Completed: all pods ended and 2 succeeded, 2 are needed
            now       the Job is Completed
            next      nothing: the Job has ended. See its pods: longshore pod list -j g
            """,
        )

    play(script)


def test_a_phase_whose_reason_was_lost_is_told_all_the_same() -> None:
    async def script(stage: Stage) -> None:
        job = await stage.create(JOBS, a_gang())
        await stage.sleep(7)
        found = (await stage.client.get(JOBS, "g", "default"))["status"]
        phase = {"lastTransitionTime": "2026-01-01T09:00:06Z"}
        conditions = [*found["conditions"], {"status": "Failed", **phase}]
        status = {"status": {"state": {"phase": "Failed", **phase}, "conditions": conditions}}
        await stage.client.patch(JOBS, job["metadata"]["name"], status, "default", subresource="status")
        told = await stage.why("vcjob/g")
        assert "\n09:00:06  Failed: the reason was not kept\nnow       the Job is Failed\n" in told

    play(script)


def test_a_gang_that_runs() -> None:
    async def script(stage: Stage) -> None:
        await stage.create(JOBS, a_gang())
        await stage.sleep(3)
        await stage.tells(
            "vcjob/g",
            """
            09:00:00  created the PodGroup
            09:00:00  the PodGroup is new: no pods are made yet
            09:00:00  created 2 of 2 pods of task 'work'
            09:00:00  Running: 2 pods have started, 2 are needed
            now       the Job is Running: 2 running
            next      the Job goes on until its pods have ended, or one of its policies acts
            """,
        )

    play(script)


def test_a_gang_for_which_there_is_no_room() -> None:
    async def script(stage: Stage) -> None:
        job = await stage.create(JOBS, a_gang(replicas=3, cpu="1"))
        await stage.sleep(10)
        await stage.tells(
            "vcjob/g",
            """
            09:00:00  created the PodGroup
            09:00:00  the PodGroup is new: no pods are made yet
            now       the Job is Pending
                      its gang: needs 3 × 1 cpu, queue default has 2 cpu left, 1 node fits 2
                      its gang: of the cluster's 2 cpu (times 1.2) 0 are used and 0 promised to other gangs
            next      its pods start together when more nodes join or less is asked for: the gang needs 3 cpu, all nodes together have 2
                      more about the gang: longshore why podgroup/g-UID
            """,
        )
        await stage.tells(
            f"podgroup/g-{job['metadata']['uid']}",
            """
            09:00:00  the gang is Pending
            09:00:00  needs 3 × 1 cpu, queue default has 2 cpu left, 1 node fits 2
            09:00:00  of the cluster's 2 cpu (times 1.2) 0 are used and 0 promised to other gangs
            now       the gang is Pending, minMember is 3
                      needs 3 × 1 cpu, queue default has 2 cpu left, 1 node fits 2
                      of the cluster's 2 cpu (times 1.2) 0 are used and 0 promised to other gangs
            next      its pods start together when more nodes join or less is asked for: the gang needs 3 cpu, all nodes together have 2
                      about its Volcano Job: longshore why vcjob/g
            """,
        )

    play(script)


def test_a_gang_that_waits_for_another() -> None:
    async def script(stage: Stage) -> None:
        await stage.create(JOBS, a_gang("first", cpu="800m"))
        await stage.sleep(2)
        await stage.create(JOBS, a_gang(cpu="800m"))
        await stage.sleep(10)
        await stage.tells(
            "vcjob/g",
            """
            09:00:02  created the PodGroup
            09:00:02  the PodGroup is new: no pods are made yet
            now       the Job is Pending
                      its gang: needs 2 × 0.8 cpu, queue default has 0.4 cpu left, no node fits one
                      its gang: of the cluster's 2 cpu (times 1.2) 1.6 are used and 0 promised to other gangs
            next      its pods start together when queue default and the nodes have room
                      more about the gang: longshore why podgroup/g-UID
            """,
        )

    play(script, lambda container: Run(seconds=60.0))


def test_a_queue_whose_limit_is_reached() -> None:
    async def script(stage: Stage) -> None:
        queue = {"metadata": {"name": "q"}, "spec": {"weight": 1, "capability": {"cpu": "1"}}}
        await stage.client.create(QUEUES, queue)
        await stage.sleep(1)
        await stage.create(JOBS, a_gang("first", cpu="400m", queue="q"))
        await stage.sleep(2)
        await stage.create(JOBS, a_gang(cpu="400m", queue="q"))
        await stage.sleep(10)
        await stage.tells(
            "vcjob/g",
            """
            09:00:03  created the PodGroup
            09:00:03  the PodGroup is new: no pods are made yet
            now       the Job is Pending
                      its gang: needs 2 × 0.4 cpu, queue q has 0.2 cpu left, 1 node fits 158
                      its gang: of the 1 cpu that queue q may have, 0.8 are used or promised
            next      its pods start together when queue q and the nodes have room
                      more about the gang: longshore why podgroup/g-UID
            """,
        )
        await stage.tells(
            "queue/q",
            """
            09:00:00  the queue is Open
            09:00:00  root became its parent, as it named none
            now       the queue is Open, weight 1
                      its pods have 800m cpu, 2 pods
                      its limit (capability) is 1 cpu
                      1 gang waits, default/g-UID the longest
            next      about the gang that waits: longshore why podgroup/g-UID -n default
            """,
        )

    play(script, lambda container: Run(seconds=600.0), capacity=BIG)


def test_a_policy_that_restarts_the_job() -> None:
    seen: list[str] = []

    def runs(container: Container) -> Run:
        seen.append(container.pod)
        return Run(seconds=5.0, code=1 if len(seen) == 1 else 0)

    async def script(stage: Stage) -> None:
        policies = [{"event": "PodFailed", "action": "RestartJob"}]
        await stage.create(JOBS, a_gang(policies=policies, maxRetry=2))
        await stage.sleep(60)
        await stage.tells(
            "vcjob/g",
            """
            09:00:00  created the PodGroup
            09:00:00  the PodGroup is new: no pods are made yet
            09:00:00  created 2 of 2 pods of task 'work'
            09:00:00  Running: 2 pods have started, 2 are needed
            09:00:05  pod g-work-0 failed: exit code 1 in container main
            09:00:05  PodFailed of g-work-0: policy 0 (event PodFailed) says RestartJob
            09:00:05  deleted 2 pods
            09:00:05  Restarting: it is restarted, which spends a retry
            09:00:05  created the PodGroup
            09:00:05  the PodGroup is new: no pods are made yet
            09:00:05  created 2 of 2 pods of task 'work'
            09:00:05  Pending: 0 of 2 pods are still going, few enough to start again
            09:00:05  Running: 2 pods have started, 2 are needed
            09:00:10  Completed: all pods ended and 2 succeeded, 2 are needed
            now       the Job is Completed
            next      nothing: the Job has ended. See its pods: longshore pod list -j g
            """,
        )

    play(script, runs)


def test_a_gang_that_fails() -> None:
    async def script(stage: Stage) -> None:
        await stage.create(JOBS, a_gang())
        await stage.sleep(20)
        await stage.tells(
            "vcjob/g",
            """
            09:00:00  created the PodGroup
            09:00:00  the PodGroup is new: no pods are made yet
            09:00:00  created 2 of 2 pods of task 'work'
            09:00:00  Running: 2 pods have started, 2 are needed
            09:00:05  pod g-work-0 failed: exit code 1 in container main
            09:00:05  pod g-work-1 failed: exit code 1 in container main
            09:00:05  Failed: 0 pods of task 'work' succeeded, 2 are needed
            now       the Job is Failed
            next      nothing: the Job has ended. See its pods: longshore pod list -j g
            """,
        )

    play(script, lambda container: Run(seconds=5.0, code=1))


def test_a_job_that_a_command_aborts() -> None:
    async def script(stage: Stage) -> None:
        job = await stage.create(JOBS, a_gang())
        await stage.sleep(5)
        await command(stage, "AbortJob", "Job", "g", job["metadata"]["uid"])
        await stage.sleep(60)
        await stage.tells(
            "vcjob/g",
            """
            09:00:00  created the PodGroup
            09:00:00  the PodGroup is new: no pods are made yet
            09:00:00  created 2 of 2 pods of task 'work'
            09:00:00  Running: 2 pods have started, 2 are needed
            09:00:05  a command asked for AbortJob
            09:00:05  deleted 2 pods
            09:00:05  Aborting: it is told to abort
            09:00:05  Aborted: no pod is alive any more
            now       the Job is Aborted
            next      nothing until it is resumed: longshore job resume -N g
            """,
        )

    play(script, lambda container: Run(seconds=600.0))


def test_a_queue_that_is_closed_while_a_gang_is_in_it() -> None:
    async def script(stage: Stage) -> None:
        made = await stage.client.create(QUEUES, {"metadata": {"name": "q"}, "spec": {"weight": 1}})
        await stage.sleep(1)
        await stage.create(JOBS, a_gang(queue="q"))
        await stage.sleep(5)
        await command(stage, "CloseQueue", "Queue", "q", made["metadata"]["uid"])
        await stage.sleep(5)
        await stage.tells(
            "queue/q",
            """
            09:00:00  the queue is Open
            09:00:00  root became its parent, as it named none
            09:00:06  it was asked to close, and does when its 1 pod groups are gone
            now       the queue is Closing, weight 1
                      its pods have 200m cpu, 2 pods
            next      it is Closed when its gangs have ended; take it back with: longshore queue operate -a open -n q
            """,
        )
        await stage.sleep(100)
        await stage.tells(
            "queue/q",
            """
            09:00:00  the queue is Open
            09:00:00  root became its parent, as it named none
            09:00:06  it was asked to close, and does when its 1 pod groups are gone
            09:01:01  the queue is Closed
            now       the queue is Closed, weight 1
            next      nothing is let in until it is opened: longshore queue operate -a open -n q
            """,
        )

    play(script, lambda container: Run(seconds=60.0))


def test_a_podgroup_that_runs_and_ends() -> None:
    async def script(stage: Stage) -> None:
        job = await stage.create(JOBS, a_gang())
        await stage.sleep(3)
        await stage.tells(
            f"podgroup/g-{job['metadata']['uid']}",
            """
            09:00:00  the gang is Inqueue
            09:00:00  Not enough valid pods of each task for gang-scheduling
            09:00:01  the gang is Running
            now       the gang is Running, minMember is 2: 2 running
            next      nothing: its pods have their nodes
                      about its Volcano Job: longshore why vcjob/g
            """,
        )

    play(script)


def a_flow(stage: Stage) -> Obj:
    steps = [{"name": "fetch"}, {"name": "train", "dependsOn": {"targets": ["fetch"]}}]
    return {"metadata": {"name": "f"}, "spec": {"flows": steps, "jobRetainPolicy": "retain"}}


def test_a_flow_of_two_jobs() -> None:
    async def script(stage: Stage) -> None:
        for name in ("fetch", "train"):
            await stage.create(TEMPLATES, a_gang(name))
        await stage.create(FLOWS, a_flow(stage))
        await stage.sleep(3)
        await stage.tells(
            "jobflow/f",
            """
            09:00:00  started f-fetch
            09:00:00  the flow is Pending
            09:00:00  the flow is Running
            now       the flow is Running
                      vcjob/f-fetch is Running
            next      train starts when fetch is complete
            """,
        )
        await stage.sleep(60)
        await stage.tells(
            "jobflow/f",
            """
            09:00:00  started f-fetch
            09:00:00  the flow is Pending
            09:00:00  the flow is Running
            09:00:05  started f-train
            09:00:10  the flow is Succeed
            now       the flow is Succeed
                      vcjob/f-fetch is Completed
                      vcjob/f-train is Completed
            next      nothing: the flow is Succeed
            """,
        )

    play(script)


def test_a_flow_whose_template_is_missing() -> None:
    async def script(stage: Stage) -> None:
        await stage.create(TEMPLATES, a_gang("train"))
        await stage.create(FLOWS, a_flow(stage))
        await stage.sleep(3)
        await stage.tells(
            "jobflow/f",
            """
            09:00:00  needs JobTemplate fetch, which is not there
            09:00:00  could not go on: getting JobTemplate "fetch" in ns "default": not found
            now       the flow is new
            next      it is tried again, after longer and longer pauses, and goes on when the template is there. See those that are: longshore jobtemplate list
            """,
        )

    play(script)


def test_a_cronjob_of_volcano() -> None:
    async def script(stage: Stage) -> None:
        template = {"spec": a_gang()["spec"]}
        spec = {"schedule": "*/5 * * * *", "concurrencyPolicy": "Forbid", "jobTemplate": template}
        await stage.create(CRON_JOBS, {"metadata": {"name": "n"}, "spec": spec})
        await stage.sleep(6 * 60)
        await stage.tells(
            "cronvcjob/n",
            """
            09:05:00  started job n-29454305
            now       the last run was that of 09:05:00
            next      the run of 09:10:00 (schedule "*/5 * * * *")
            """,
        )

    play(script)


def test_a_gang_that_a_quota_forbids() -> None:
    async def script(stage: Stage) -> None:
        quota = {"metadata": {"name": "few"}, "spec": {"hard": {"pods": "1"}}}
        await stage.create(("v1", "ResourceQuota"), quota)
        job = await stage.create(JOBS, a_gang())
        await stage.sleep(30)
        told = await stage.why("vcjob/g")
        assert "created 1 of 2 pods of task 'work'\n" in told
        assert "created 2 of 2 pods" not in told
        assert (
            'could not go on: failed to create 1 pods of 1: failed to create pod g-work-1, err: pods "g-work-1" is forbidden: exceeded quota: few'
            in told
        )
        assert "next      its pods start together when quota few has room: pods=1 is asked for" in told
        assert "          about the quota: longshore describe quota few\n" in told
        group = await stage.why(f"podgroup/g-{job['metadata']['uid']}")
        assert "next      its pods start together when it has 2 pods, its minMember; there is 1\n" in group
        assert group.endswith("about its Volcano Job: longshore why vcjob/g")

    play(script)


def test_a_gang_that_is_larger_than_its_queue_may_be() -> None:
    async def script(stage: Stage) -> None:
        spec = {"weight": 1, "capability": {"cpu": "500m"}}
        await stage.client.create(QUEUES, {"metadata": {"name": "q"}, "spec": spec})
        await stage.sleep(1)
        await stage.create(JOBS, a_gang(cpu="400m", queue="q"))
        await stage.sleep(10)
        never = "its queue may have more or less is asked for: the gang needs 0.8 cpu, queue q may have 0.5"
        assert f"next      its pods start together when {never}\n" in await stage.why("vcjob/g")
        assert "about the gang that waits: longshore why podgroup/g-" in await stage.why("queue/q")

    play(script)


def test_a_gang_in_a_queue_that_was_closed() -> None:
    async def script(stage: Stage) -> None:
        made = await stage.client.create(QUEUES, {"metadata": {"name": "q"}, "spec": {"weight": 1}})
        await stage.sleep(1)
        job = await stage.create(JOBS, a_gang(cpu="40", queue="q"))
        await stage.sleep(2)
        await command(stage, "CloseQueue", "Queue", "q", made["metadata"]["uid"])
        await stage.sleep(10)
        step = "next      its pods start together when queue q is open again: longshore queue operate -a open -n q\n"
        assert step in await stage.why("vcjob/g")
        assert step in await stage.why(f"podgroup/g-{job['metadata']['uid']}")

    play(script)


def test_a_pod_of_a_gang_that_lacks_members() -> None:
    async def script(stage: Stage) -> None:
        await stage.create(GROUPS, {"metadata": {"name": "pg"}, "spec": {"minMember": 2}})
        pod = a_pod(schedulerName="volcano")
        pod["metadata"]["annotations"] = {"scheduling.k8s.io/group-name": "pg"}
        await stage.create(("v1", "Pod"), pod)
        await stage.sleep(10)
        assert (await stage.why("pod/p")).endswith(
            "next      it starts when its gang does\n          about its gang: longshore why podgroup/pg"
        )
        assert (await stage.why("podgroup/pg")).endswith(
            "next      its pods start together when it has 2 pods, its minMember; there is 1"
        )

    play(script)


def test_a_flow_names_the_job_that_failed() -> None:
    async def script(stage: Stage) -> None:
        for name in ("fetch", "train"):
            await stage.create(TEMPLATES, a_gang(name))
        await stage.create(FLOWS, a_flow(stage))
        await stage.sleep(60)
        told = await stage.why("jobflow/f")
        assert "vcjob/f-fetch is Failed" in told
        assert told.endswith("about the Job that holds it up: longshore why vcjob/f-fetch")

    play(script, lambda container: Run(seconds=5.0, code=1))


def test_a_failed_run_of_a_cronjob_of_volcano() -> None:
    async def script(stage: Stage) -> None:
        template = {"spec": a_gang()["spec"]}
        spec = {"schedule": "*/5 * * * *", "concurrencyPolicy": "Forbid", "jobTemplate": template}
        await stage.create(CRON_JOBS, {"metadata": {"name": "n"}, "spec": spec})
        await stage.sleep(6 * 60)
        told = await stage.why("cronvcjob/n")
        assert "pod n-29454305-work-1 failed: exit code 1 in container main" in told
        assert told.endswith("about the last run that failed: longshore why vcjob/n-29454305")

    play(script, lambda container: Run(seconds=5.0, code=1))


def test_the_start_of_the_own_node_is_no_news() -> None:
    async def script(stage: Stage) -> None:
        job = await stage.create(JOBS, a_gang())
        await stage.create(("v1", "Pod"), a_pod())
        await stage.sleep(3)
        ready = {"type": "Ready", "status": "True"}
        room = {"cpu": "8", "memory": "8Gi", "pods": "9"}
        node = {"metadata": {"name": "late"}, "status": {"allocatable": room, "conditions": [ready]}}
        await stage.client.create(("v1", "Node"), node)
        await stage.client.patch(("v1", "Node"), "late", {"spec": {"taints": None}})
        await stage.sleep(5)
        told = await stage.why("pod/p")
        assert "placed on node late" in told
        assert "no node will do" not in told
        group = await stage.why(f"podgroup/g-{job['metadata']['uid']}")
        assert "the gang is Running" in group
        assert "cluster's 0 cpu" not in group
        assert "no node fits one" not in group

    play(script, node=False)
