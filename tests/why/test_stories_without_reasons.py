"""Stories of a server that keeps no reasons, told from its objects and events alone."""

from __future__ import annotations

from datetime import UTC

from longshore.node.runtime import Container
from longshore.plane.explaining import StoredObjects
from longshore.testing import Run
from longshore.why import kinds, text
from longshore.why.observe import observe
from longshore.why.tell import tell
from why.why_stage import BIG, CRON_JOBS, JOBS, PODS, Stage, a_job, a_pod, checked, play


async def tells(stage: Stage, what: str, expected: str) -> None:
    """Checks the story as a client tells it that reads objects and events."""
    word, _, name = what.partition("/")
    kind, now = kinds.KINDS[word], stage.clock.timestamp()
    namespace = "default" if kind.namespaced else ""
    story = tell(observe(StoredObjects(stage.plane.parts.store), kind, namespace, name, now=now))
    assert story is not None
    checked("\n".join(text.lines(story.document(), UTC, stage.clock.now())), expected)


def test_a_job_with_an_index_that_failed() -> None:
    def runs(container: Container) -> Run:
        return Run(seconds=5.0, code=7 if "-1-" in container.pod else 0)

    async def script(stage: Stage) -> None:
        job = a_job(completionMode="Indexed", completions=4, parallelism=2, backoffLimitPerIndex=0)
        await stage.create(JOBS, job)
        await stage.sleep(30)
        await tells(
            stage,
            "job/x",
            """
            09:00:00  created 2 pods (indexes 0, 1): 2 of 4 completions wanted at a time
            09:00:05  created 2 more pods (indexes 2, 3), as others ended
            09:00:05  index 1 failed: exit code 7 in container main
                      backoffLimitPerIndex is 0
            09:00:10  the Job failed: FailedIndexes, 1 of 4; 3 succeeded
            next      nothing: the Job has ended. See its logs: longshore logs --failed job/x; run it again: longshore retry job/x
            """,
        )

    play(script, runs, capacity=BIG)


def test_a_job_that_is_complete() -> None:
    async def script(stage: Stage) -> None:
        await stage.create(JOBS, a_job(completions=2, parallelism=2))
        await stage.sleep(30)
        await tells(
            stage,
            "job/x",
            """
            09:00:00  created 2 pods: all 2 completions at once
            09:00:05  the Job is complete: 2 of 2 succeeded
            next      nothing: the Job is complete. See its logs: longshore logs job/x
            """,
        )

    play(script)


def test_a_pod_that_waits_and_one_that_crashed() -> None:
    async def script(stage: Stage) -> None:
        await stage.create(PODS, a_pod("large", container={"resources": {"requests": {"cpu": "4"}}}))
        await stage.create(PODS, a_pod())
        await stage.sleep(10)
        await tells(
            stage,
            "pod/large",
            """
            09:00:00  created
            09:00:00  no node will do: 0/1 nodes are available: 1 Insufficient cpu. (asks 4 cpu, node node has 2 of 2 left)
            now       waits: 0/1 nodes are available: 1 Insufficient cpu. (asks 4 cpu, node node has 2 of 2 left)
            next      it starts when a larger node joins or less is asked for: a pod asks 4 cpu, the largest node has 2
            """,
        )
        await tells(
            stage,
            "pod/p",
            """
            09:00:00  created
            09:00:00  placed: Successfully assigned default/p to node
            09:00:00  container main started
            09:00:03  container main ended: exit code 9
            now       the pod has failed
            next      nothing: the pod has ended. See its logs: longshore logs p
            """,
        )

    play(script, lambda container: Run(seconds=3.0, code=9))


def test_a_cronjob_by_its_events() -> None:
    async def script(stage: Stage) -> None:
        spec = {"schedule": "*/5 * * * *", "jobTemplate": {"spec": a_job()["spec"]}}
        await stage.create(CRON_JOBS, {"metadata": {"name": "n"}, "spec": spec})
        await stage.sleep(6 * 60)
        await tells(
            stage,
            "cronjob/n",
            """
            09:05:00  Created job n-29454305
            09:05:05  Saw completed job: n-29454305, condition: Complete
            now       the last run was that of 09:05:00
            next      the run of 09:10:00 (schedule "*/5 * * * *")
                      run it now: longshore cron run n; the runs after that: longshore cron next n
            """,
        )

    play(script)


def test_what_never_was_has_no_story() -> None:
    async def script(stage: Stage) -> None:
        objects = StoredObjects(stage.plane.parts.store)
        assert tell(observe(objects, kinds.KINDS["job"], "default", "none", now=0.0)) is None

    play(script, node=False)
