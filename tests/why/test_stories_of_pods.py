"""Stories of pods: where they went and why there, how their containers went, who deleted them."""

from __future__ import annotations

from datetime import UTC
from pathlib import Path

from longshore.node.runtime import Container
from longshore.testing import Exec, Run
from longshore.why import restarts, text
from longshore.why.kinds import KINDS
from longshore.why.story import Line, StoryView
from longshore.why.tell import tell
from why.why_stage import PODS, START, Stage, a_job, a_pod, checked, play

NODES = ("v1", "Node")
AT = "2026-01-01T09:00:00Z"


def test_a_pod_that_runs() -> None:
    async def script(stage: Stage) -> None:
        await stage.create(PODS, a_pod())
        await stage.sleep(2)
        await stage.tells(
            "pod/p",
            """
            09:00:00  created
            09:00:00  placed on node node, the only one
            09:00:00  container main started
            now       it runs on node node
            next      it runs until its containers end
            """,
        )

    play(script)


def test_a_pod_of_a_job_that_failed(tmp_path: Path) -> None:
    async def script(stage: Stage) -> None:
        await stage.create(
            ("batch/v1", "Job"), a_job(completionMode="Indexed", completions=1, backoffLimit=0)
        )
        await stage.sleep(10)
        (name,) = await stage.pods()
        await stage.tells(
            f"pod/{name}",
            """
            09:00:00  Job x created it for index 0
            09:00:00  placed on node node, the only one
            09:00:00  container main started
            09:00:05  container main ended: exit code 7, "no such file"
            now       the pod has failed
            next      nothing: the pod has ended. See its logs: longshore logs x-0-xxxxx
                      about its Job: longshore why job/x
            """,
        )

    play(script, lambda container: Run(seconds=5.0, code=7, message="no such file"), root=tmp_path)


def test_a_pod_that_is_too_large_for_every_node() -> None:
    async def script(stage: Stage) -> None:
        await stage.create(PODS, a_pod(container={"resources": {"requests": {"cpu": "4"}}}))
        await stage.sleep(10)
        await stage.tells(
            "pod/p",
            """
            09:00:00  created
            09:00:00  no node will do: 0/1 nodes are available: 1 Insufficient cpu. (asks 4 cpu, node node has 2 of 2 left)
            now       waits: 0/1 nodes are available: 1 Insufficient cpu. (asks 4 cpu, node node has 2 of 2 left)
            next      it starts when a larger node joins or less is asked for: a pod asks 4 cpu, the largest node has 2
            """,
        )

    play(script)


def test_a_pod_that_waits_until_another_one_ends() -> None:
    async def script(stage: Stage) -> None:
        large = {"resources": {"requests": {"cpu": "1500m"}}}
        await stage.create(PODS, a_pod("first", container=large))
        await stage.sleep(1)
        await stage.create(PODS, a_pod(container=large))
        await stage.sleep(5)
        await stage.tells(
            "pod/p",
            """
            09:00:01  created
            09:00:01  no node will do: 0/1 nodes are available: 1 Insufficient cpu. (asks 1.5 cpu, node node has 0.5 of 2 left)
            now       waits: 0/1 nodes are available: 1 Insufficient cpu. (asks 1.5 cpu, node node has 0.5 of 2 left)
            next      it starts when other pods end and leave room
                      what the nodes have: longshore describe node
            """,
        )
        await stage.sleep(60)
        await stage.tells(
            "pod/p",
            """
            09:00:01  created
            09:00:01  no node will do: 0/1 nodes are available: 1 Insufficient cpu. (asks 1.5 cpu, node node has 0.5 of 2 left)
            09:00:30  placed on node node, the only one
            09:00:30  container main started
            09:01:00  container main ended well
            now       the pod has succeeded
            next      nothing: the pod has ended. See its logs: longshore logs p
            """,
        )

    play(script, lambda container: Run(seconds=30.0))


def test_a_pod_whose_selector_no_node_has() -> None:
    async def script(stage: Stage) -> None:
        await stage.create(PODS, a_pod(nodeSelector={"gpu": "yes"}))
        await stage.sleep(5)
        await stage.tells(
            "pod/p",
            """
            09:00:00  created
            09:00:00  no node will do: 0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector.
            now       waits: 0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector.
            next      it starts when a node has the label gpu=yes, which none has
                      give a node what its nodeSelector asks for: kubectl label node node gpu=yes
            """,
        )

    play(script)


def test_a_pod_without_any_node() -> None:
    async def script(stage: Stage) -> None:
        await stage.create(PODS, a_pod())
        await stage.sleep(5)
        await stage.tells(
            "pod/p",
            """
            09:00:00  created
            09:00:00  no node will do: no nodes available to schedule pods
            now       waits: no nodes available to schedule pods
            next      it starts when a node joins
                      the nodes: longshore get nodes
            """,
        )

    play(script, node=False)


def test_a_pod_behind_a_scheduling_gate() -> None:
    async def script(stage: Stage) -> None:
        await stage.create(PODS, a_pod(schedulingGates=[{"name": "example.org/approval"}]))
        await stage.sleep(5)
        await stage.tells(
            "pod/p",
            """
            09:00:00  created
            now       waits: Scheduling is blocked due to non-empty scheduling gates
            next      it starts when the scheduling gates are removed: example.org/approval
            """,
        )

    play(script)


def test_a_container_that_crashes_again_and_again() -> None:
    async def script(stage: Stage) -> None:
        await stage.create(PODS, a_pod(restartPolicy="Always"))
        await stage.sleep(20)
        await stage.tells(
            "pod/p",
            """
            09:00:00  created
            09:00:00  placed on node node, the only one
            09:00:03  container main ended: exit code 1
            09:00:03  container main started again, as restartPolicy says (restart 1)
            09:00:06  container main ended: exit code 1
            09:00:06  container main starts again about 09:00:16 (back-off 10 s)
            09:00:16  container main started again, as restartPolicy says (restart 2)
            09:00:19  container main ended: exit code 1
            09:00:19  container main starts again about 09:00:39 (back-off 20 s)
            now       waits: container main: CrashLoopBackOff: back-off 20s restarting failed container=main pod=p_default(UID)
            next      container main starts again about 09:00:39 (back-off 20 s)
                      see its logs: longshore logs p --previous
            """,
        )
        await stage.sleep(80)
        await stage.tells(
            "pod/p",
            """
            09:00:00  created
            09:00:00  placed on node node, the only one
            09:00:03  container main ended: exit code 1
            09:00:03  container main started again, as restartPolicy says (restart 1)
            09:00:06  it ended like this 3 more times, and was started again after longer and longer pauses
                      the last of these at 09:00:42
            09:01:25  container main ended: exit code 1
            09:01:25  container main starts again about 09:02:45 (back-off 80 s)
            now       waits: container main: CrashLoopBackOff: back-off 1m20s restarting failed container=main pod=p_default(UID)
            next      container main starts again about 09:02:45 (back-off 80 s)
                      see its logs: longshore logs p --previous
            """,
        )

    play(script, lambda container: Run(seconds=3.0, code=1))


def test_a_container_that_recovers() -> None:
    runs = iter((1, 0))

    async def script(stage: Stage) -> None:
        await stage.create(PODS, a_pod(restartPolicy="OnFailure"))
        await stage.sleep(30)
        await stage.tells(
            "pod/p",
            """
            09:00:00  created
            09:00:00  placed on node node, the only one
            09:00:03  container main ended: exit code 1
            09:00:03  container main started again, as restartPolicy says (restart 1)
            09:00:06  container main ended well
            now       the pod has succeeded
            next      nothing: the pod has ended. See its logs: longshore logs p
            """,
        )

    play(script, lambda container: Run(seconds=3.0, code=next(runs)))


def test_an_init_container_that_fails() -> None:
    def runs(container: Container) -> Run:
        return Run(seconds=2.0, code=3 if container.key.container == "fetch" else 0)

    async def script(stage: Stage) -> None:
        init = [{"name": "fetch", "image": "i", "command": ["f"]}]
        await stage.create(PODS, a_pod(initContainers=init))
        await stage.sleep(10)
        await stage.tells(
            "pod/p",
            """
            09:00:00  created
            09:00:00  placed on node node, the only one
            09:00:00  container fetch started
            09:00:02  container fetch ended: exit code 3
            now       the pod has failed
            next      nothing: the pod has ended. See its logs: longshore logs p
            """,
        )

    play(script, runs)


def test_a_container_that_cannot_be_started() -> None:
    from longshore.node.runtime import CannotStart

    async def script(stage: Stage) -> None:
        await stage.create(PODS, a_pod())
        await stage.sleep(5)
        await stage.tells(
            "pod/p",
            """
            09:00:00  created
            09:00:00  placed on node node, the only one
            09:00:00  Error: exec: c: not found in $PATH
            now       waits: container main: CreateContainerError: exec: c: not found in $PATH
            next      it is tried again, after longer and longer pauses. See: longshore describe pod p
            """,
        )

    problem = CannotStart("CreateContainerError", "exec: c: not found in $PATH")
    play(script, lambda container: Run(fails=problem))


def test_a_pod_that_outlives_its_deadline() -> None:
    async def script(stage: Stage) -> None:
        await stage.create(PODS, a_pod(activeDeadlineSeconds=30))
        await stage.sleep(60)
        await stage.tells(
            "pod/p",
            """
            09:00:00  created
            09:00:00  placed on node node, the only one
            09:00:00  container main started
            09:00:30  the pod failed: active for more than its activeDeadlineSeconds (30)
            09:00:30  container main was stopped: exit code 143
            now       the pod has failed: DeadlineExceeded, Pod was active on the node longer than the specified deadline
            next      nothing: the pod has ended. See its logs: longshore logs p
            """,
        )

    play(script, lambda container: Run(seconds=None))


def test_a_pod_that_gives_way_to_a_more_important_one() -> None:
    async def script(stage: Stage) -> None:
        large = {"resources": {"requests": {"cpu": "1500m"}}}
        await stage.create(PODS, a_pod("low", container=large))
        await stage.sleep(5)
        urgent = {"metadata": {"name": "urgent"}, "value": 1000}
        await stage.client.create(("scheduling.k8s.io/v1", "PriorityClass"), urgent)
        await stage.create(PODS, a_pod(container=large, priorityClassName="urgent"))
        await stage.sleep(60)
        await stage.tells(
            "pod/p",
            """
            09:00:05  created
            09:00:05  no node will do: 0/1 nodes are available: 1 Insufficient cpu. (asks 1.5 cpu, node node has 0.5 of 2 left)
            09:00:05  the scheduler made room on node node by removing default/low
            09:00:05  placed on node node, the only one
            09:00:05  container main started
            now       it runs on node node
            next      it runs until its containers end
            """,
        )
        await stage.tells(
            "pod/low",
            """
            09:00:00  placed on node node, the only one
            09:00:05  longshore deleted the pod
            09:00:05  container main was stopped: exit code 143
            09:00:05  Preempted by pod UID on node node
            next      nothing: the pod is gone
            """,
        )

    play(script, lambda container: Run(seconds=None))


def test_a_pod_that_somebody_deletes() -> None:
    async def script(stage: Stage) -> None:
        await stage.create(PODS, a_pod())
        await stage.sleep(5)
        await stage.alice.delete(PODS, "p", "default")
        await stage.sleep(2)
        await stage.tells(
            "pod/p",
            """
            09:00:00  created
            09:00:00  placed on node node, the only one
            09:00:00  container main started
            09:00:05  alice deleted the pod with kubectl
            now       it is being deleted, and gone at 09:00:35 at the latest
            next      it goes when its containers have ended
            """,
        )
        await stage.sleep(60)
        await stage.tells(
            "pod/p",
            """
            09:00:00  placed on node node, the only one
            09:00:05  alice deleted the pod with kubectl
            09:00:15  container main was stopped: exit code 143
            next      nothing: the pod is gone
            """,
        )

    play(script, lambda container: Run(seconds=None, on_term=10.0))


def test_a_pod_whose_node_is_gone() -> None:
    async def script(stage: Stage) -> None:
        node = {"metadata": {"name": "other"}, "status": {"allocatable": {"cpu": "8", "pods": "9"}}}
        await stage.client.create(NODES, node)
        await stage.create(PODS, a_pod(nodeName="other"))
        await stage.sleep(5)
        await stage.client.delete(NODES, "other")
        await stage.sleep(120)
        await stage.tells(
            "pod/p",
            """
            09:01:00  the pod collector deleted it: its node no longer exists
            next      nothing: the pod is gone
            """,
        )

    play(script)


def test_the_best_of_two_nodes() -> None:
    async def script(stage: Stage) -> None:
        ready = {"type": "Ready", "status": "True"}
        room = {"cpu": "1", "memory": "1Gi", "pods": "9"}
        node = {"metadata": {"name": "small"}, "status": {"allocatable": room, "conditions": [ready]}}
        await stage.client.create(NODES, node)
        await stage.sleep(1)
        await stage.create(PODS, a_pod(container={"resources": {"requests": {"cpu": "500m"}}}))
        await stage.sleep(1)
        await stage.tells(
            "pod/p",
            """
            09:00:01  created
            09:00:01  placed on node node, the best of 2 that will do; 0 will not
            09:00:01  container main started
            now       it runs on node node
            next      it runs until its containers end
            """,
        )

    play(script)


def test_a_container_whose_liveness_probe_fails() -> None:
    async def script(stage: Stage) -> None:
        probe = {"exec": {"command": ["alive"]}, "periodSeconds": 5, "failureThreshold": 2}
        await stage.create(PODS, a_pod(container={"livenessProbe": probe}))
        await stage.sleep(30)
        await stage.tells(
            "pod/p",
            """
            09:00:00  created
            09:00:00  placed on node node, the only one
            09:00:00  container main started
            09:00:00  Liveness probe failed: no answer (2 times, until 09:00:05)
            09:00:05  Container main failed liveness probe, will be restarted
            09:00:05  container main was stopped: exit code 143
            now       the pod has failed
            next      nothing: the pod has ended. See its logs: longshore logs p
            """,
        )

    runs = Run(seconds=None)
    play(script, lambda container: runs, execs=lambda key, command: Exec(code=1, output="no answer"))


def test_a_container_that_is_not_ready() -> None:
    async def script(stage: Stage) -> None:
        probe = {"exec": {"command": ["ready"]}, "periodSeconds": 5}
        await stage.create(PODS, a_pod(container={"readinessProbe": probe}))
        await stage.sleep(12)
        await stage.tells(
            "pod/p",
            """
            09:00:00  created
            09:00:00  placed on node node, the only one
            09:00:00  container main started
            09:00:00  Readiness probe failed: not yet (3 times, until 09:00:10)
            now       it runs on node node, but main is not ready
            next      it runs until its containers end
            """,
        )

    runs = Run(seconds=None)
    play(script, lambda container: runs, execs=lambda key, command: Exec(code=1, output="not yet"))


def by_events(*events: tuple[str, str, int], waiting: str = "ContainerCreating", message: str = "") -> str:
    """The story of a pod with these events: reason, message, and how often it happened."""
    obj = {
        "metadata": {"name": "p", "namespace": "default", "uid": "u", "creationTimestamp": AT},
        "spec": {"nodeName": "n", "containers": [{"name": "main"}]},
        "status": {
            "phase": "Pending",
            "containerStatuses": [
                {"name": "main", "state": {"waiting": {"reason": waiting, "message": message}}}
            ],
        },
    }
    told = [
        {
            "metadata": {"creationTimestamp": AT},
            "reason": reason,
            "message": words,
            "count": count,
            "firstTimestamp": "2026-01-01T09:00:02Z",
            "lastTimestamp": "2026-01-01T09:01:00Z",
        }
        for reason, words, count in events
    ]
    story = tell(StoryView(KINDS["pod"], "default", "p", START.timestamp(), obj, events=told))
    assert story is not None
    return "\n".join(text.lines(story.document(), UTC, START))


def test_an_image_that_cannot_be_pulled() -> None:
    said = by_events(
        ("Pulling", 'Pulling image "nowhere/x"', 4),
        ("Failed", 'Failed to pull image "nowhere/x": no such host', 4),
        ("BackOff", 'Back-off pulling image "nowhere/x"', 9),
        waiting="ImagePullBackOff",
        message='Back-off pulling image "nowhere/x"',
    )
    checked(
        said,
        """
        09:00:00  created
        09:00:02  Pulling image "nowhere/x" (4 times, until 09:01:00)
        09:00:02  Failed to pull image "nowhere/x": no such host (4 times, until 09:01:00)
        now       waits: container main: ImagePullBackOff: Back-off pulling image "nowhere/x"
        next      it is tried again, after longer and longer pauses. See: longshore describe pod p
        """,
    )


def test_a_volume_that_cannot_be_mounted() -> None:
    said = by_events(
        ("Scheduled", "Successfully assigned default/p to n", 1),
        ("FailedMount", 'MountVolume.SetUp failed for volume "c" : configmap "settings" not found', 6),
    )
    checked(
        said,
        """
        09:00:00  created
        09:00:02  placed: Successfully assigned default/p to n
        09:00:02  MountVolume.SetUp failed for volume "c" : configmap "settings" not found (6 times, until 09:01:00)
        now       waits: MountVolume.SetUp failed for volume "c" : configmap "settings" not found
        next      it starts when ConfigMap settings exists; it is tried again, after longer and longer pauses
        """,
    )


def test_a_pod_that_runs_towards_its_deadline() -> None:
    async def script(stage: Stage) -> None:
        await stage.create(PODS, a_pod(activeDeadlineSeconds=30))
        await stage.sleep(10)
        assert (await stage.why("pod/p")).endswith(
            "next      it fails at 09:00:30 unless its containers have ended (activeDeadlineSeconds is 30)"
        )

    play(script, lambda container: Run(seconds=None))


def test_repeated_ends_for_memory_are_told_once() -> None:
    words = "used {}Mi of memory, the limit is 64Mi"
    lines = [
        Line(
            float(at),
            f"container main ended: out of memory (exit code 137, {words.format(70 + at)})",
            code=code,
        )
        for at in range(4)
        for code in ("ContainerFailed",)
    ]
    told = restarts.folded(lines)
    assert [line.code for line in told] == ["ContainerFailed", "RestartedAgain", "ContainerFailed"]
