"""Stories of Jobs: what was created, what failed and by which rule, and what is next."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from longshore.api.types import Obj
from longshore.machinery.records import PROBLEM, Record
from longshore.node.runtime import Container
from longshore.testing import Run
from longshore.why.kinds import KINDS
from longshore.why.story import StoryView
from longshore.why.tell import tell
from why.why_stage import BIG, JOBS, PODS, START, Stage, a_job, play


def ends(code: int = 1, seconds: float = 5.0) -> Any:
    return lambda container: Run(seconds=seconds, code=code)


def bad_index(index: int, code: int = 7, message: str = "") -> Any:
    """Containers of this index end badly, all others well."""

    def run(container: Container) -> Run:
        if f"-{index}-" in container.pod:
            return Run(seconds=5.0, code=code, message=message)
        return Run(seconds=5.0)

    return run


def indexed(**spec: Any) -> Obj:
    return a_job(completionMode="Indexed", **spec)


def rule(action: str, *codes: int) -> Obj:
    return {"action": action, "onExitCodes": {"operator": "In", "values": [*codes]}}


def test_a_pod_that_succeeds() -> None:
    async def script(stage: Stage) -> None:
        await stage.create(JOBS, a_job())
        await stage.sleep(10)
        await stage.tells(
            "job/x",
            """
            09:00:00  created 1 pod
            09:00:05  the Job is complete: 1 of 1 succeeded
            next      nothing: the Job is complete. See its logs: longshore logs job/x
            """,
        )

    play(script)


def test_a_pod_that_runs() -> None:
    async def script(stage: Stage) -> None:
        await stage.create(JOBS, a_job())
        await stage.sleep(2)
        await stage.tells(
            "job/x",
            """
            09:00:00  created 1 pod
            now       0 of 1 succeeded, 1 active
            next      the Job ends when its pod has
            """,
        )

    play(script)


def test_an_index_that_fails_twice(tmp_path: Path) -> None:
    async def script(stage: Stage) -> None:
        policy = {"rules": [rule("FailJob", 42)]}
        job = indexed(completions=6, parallelism=3, backoffLimitPerIndex=1, podFailurePolicy=policy)
        await stage.create(JOBS, job)
        await stage.sleep(30)
        await stage.tells(
            "job/x",
            """
            09:00:00  created 3 pods (indexes 0–2): 3 of 6 completions wanted at a time
            09:00:05  index 2 failed: exit code 7 in container main, "input 2 is broken"
                      rule 0 of podFailurePolicy does not match (onExitCodes 42); backoffLimitPerIndex is 1
            09:00:05  index 2 will be retried at 09:00:15 (first failure, 10 s)
            09:00:05  created 3 more pods (indexes 3–5), as others ended
                      the last at 09:00:10
            09:00:15  index 2 started again
            09:00:20  index 2 failed again: exit code 7; its retries are used up, so the index has failed
                      rule 0 of podFailurePolicy does not match (onExitCodes 42)
            09:00:20  the Job failed: FailedIndexes, 1 of 6; 5 succeeded
            next      nothing: the Job has ended. See its logs: longshore logs --failed job/x; run it again: longshore retry job/x
            """,
        )

    play(script, bad_index(2, message="reading input 2\ninput 2 is broken\n"), capacity=BIG, root=tmp_path)


def test_an_index_that_waits_for_its_retry() -> None:
    async def script(stage: Stage) -> None:
        await stage.create(JOBS, indexed(completions=3, parallelism=3, backoffLimitPerIndex=2))
        await stage.sleep(8)
        await stage.tells(
            "job/x",
            """
            09:00:00  created 3 pods (indexes 0–2): all 3 completions at once
            09:00:05  index 1 failed: exit code 7 in container main
                      backoffLimitPerIndex is 2
            09:00:05  index 1 will be retried at 09:00:15 (first failure, 10 s)
            now       2 of 3 succeeded
            next      index 1 is tried again at 09:00:15
            """,
        )

    play(script, bad_index(1), capacity=BIG)


def test_many_pods_a_few_at_a_time() -> None:
    async def script(stage: Stage) -> None:
        await stage.create(JOBS, indexed(completions=20, parallelism=4))
        await stage.sleep(12)
        await stage.tells(
            "job/x",
            """
            09:00:00  created 4 pods (indexes 0–3): 4 of 20 completions wanted at a time
            09:00:05  created 8 more pods (indexes 4–11), as others ended
                      the last at 09:00:10
            now       8 of 20 succeeded, 4 active
            next      the next pod is created when one of the 4 ends; 8 are still to come
            """,
        )
        await stage.sleep(30)
        await stage.tells(
            "job/x",
            """
            09:00:00  created 4 pods (indexes 0–3): 4 of 20 completions wanted at a time
            09:00:05  created 16 more pods (indexes 4–19), as others ended
                      the last at 09:00:20
            09:00:25  the Job is complete: 20 of 20 succeeded
            next      nothing: the Job is complete. See its logs: longshore logs job/x
            """,
        )

    play(script, capacity=BIG)


def test_all_completions_at_once() -> None:
    async def script(stage: Stage) -> None:
        await stage.create(JOBS, a_job(completions=3, parallelism=3))
        await stage.sleep(10)
        await stage.tells(
            "job/x",
            """
            09:00:00  created 3 pods: all 3 completions at once
            09:00:05  the Job is complete: 3 of 3 succeeded
            next      nothing: the Job is complete. See its logs: longshore logs job/x
            """,
        )

    play(script, capacity=BIG)


def test_a_work_queue() -> None:
    async def script(stage: Stage) -> None:
        job = a_job(parallelism=3)
        await stage.create(JOBS, job)
        await stage.sleep(10)
        await stage.tells(
            "job/x",
            """
            09:00:00  created 3 pods: 3 at a time, until one succeeds
            09:00:05  the Job is complete: 3 succeeded
            next      nothing: the Job is complete. See its logs: longshore logs job/x
            """,
        )

    play(script, capacity=BIG)


def test_a_backoff_limit_that_is_reached() -> None:
    async def script(stage: Stage) -> None:
        await stage.create(JOBS, a_job(backoffLimit=2))
        await stage.sleep(120)
        await stage.tells(
            "job/x",
            """
            09:00:00  created 1 pod
            09:00:05  pod x-xxxxx failed: exit code 1 in container main
                      backoffLimit is 2
            09:00:05  1 pod failed in a row: the next one starts at 09:00:15
            09:00:15  created 1 more pod, in place of the one that failed
            09:00:20  pod x-xxxxx failed: exit code 1 in container main
            09:00:20  2 pods failed in a row: the next one starts at 09:00:40
            09:00:40  created 1 more pod, in place of the one that failed
            09:00:45  pod x-xxxxx failed: exit code 1 in container main
            09:00:45  the Job failed: BackoffLimitExceeded, 3 pods failed, backoffLimit is 2; 0 succeeded
            next      nothing: the Job has ended. See its logs: longshore logs --failed job/x; run it again: longshore retry job/x
            """,
        )

    play(script, ends(1))


def test_a_pod_that_waits_for_its_back_off() -> None:
    async def script(stage: Stage) -> None:
        await stage.create(JOBS, a_job())
        await stage.sleep(8)
        await stage.tells(
            "job/x",
            """
            09:00:00  created 1 pod
            09:00:05  pod x-xxxxx failed: exit code 1 in container main
                      backoffLimit is 6
            09:00:05  1 pod failed in a row: the next one starts at 09:00:15
            now       0 of 1 succeeded, 1 failed
            next      a failed pod is tried again at 09:00:15
            """,
        )

    play(script, ends(1))


def test_a_job_that_succeeds_after_a_failure() -> None:
    runs = iter((1, 0))

    async def script(stage: Stage) -> None:
        await stage.create(JOBS, a_job())
        await stage.sleep(30)
        await stage.tells(
            "job/x",
            """
            09:00:00  created 1 pod
            09:00:05  pod x-xxxxx failed: exit code 1 in container main
                      backoffLimit is 6
            09:00:05  1 pod failed in a row: the next one starts at 09:00:15
            09:00:15  created 1 more pod, in place of the one that failed
            09:00:20  the Job is complete: 1 of 1 succeeded; 1 pod failed on the way
            next      nothing: the Job is complete. See its logs: longshore logs job/x
            """,
        )

    play(script, lambda container: Run(seconds=5.0, code=next(runs)))


def test_a_rule_that_fails_the_job() -> None:
    async def script(stage: Stage) -> None:
        await stage.create(JOBS, a_job(podFailurePolicy={"rules": [rule("Ignore", 3), rule("FailJob", 42)]}))
        await stage.sleep(10)
        await stage.tells(
            "job/x",
            """
            09:00:00  created 1 pod
            09:00:05  pod x-xxxxx failed: exit code 42 in container main
                      rule 1 of podFailurePolicy matches: FailJob, so the Job fails; backoffLimit is 6
            09:00:05  the Job failed: PodFailurePolicy, Container main for pod default/x-xxxxx failed with exit code 42 matching FailJob rule at index 1; 0 succeeded
            next      nothing: the Job has ended. See its logs: longshore logs --failed job/x; run it again: longshore retry job/x
            """,
        )

    play(script, ends(42))


def test_a_rule_that_ignores_a_failure() -> None:
    runs = iter((3, 0))

    async def script(stage: Stage) -> None:
        await stage.create(JOBS, a_job(backoffLimit=0, podFailurePolicy={"rules": [rule("Ignore", 3)]}))
        await stage.sleep(30)
        await stage.tells(
            "job/x",
            """
            09:00:00  created 1 pod
            09:00:05  pod x-xxxxx failed: exit code 3 in container main
                      rule 0 of podFailurePolicy matches: Ignore, so it does not count; backoffLimit is 0
            09:00:05  1 pod failed in a row: the next one starts at 09:00:15
            09:00:15  created 1 more pod, in place of the one that failed
            09:00:20  the Job is complete: 1 of 1 succeeded
            next      nothing: the Job is complete. See its logs: longshore logs job/x
            """,
        )

    play(script, lambda container: Run(seconds=5.0, code=next(runs)))


def test_a_rule_that_fails_the_index() -> None:
    async def script(stage: Stage) -> None:
        policy = {"rules": [rule("FailIndex", 42)]}
        job = indexed(completions=2, parallelism=2, backoffLimitPerIndex=5, podFailurePolicy=policy)
        await stage.create(JOBS, job)
        await stage.sleep(30)
        await stage.tells(
            "job/x",
            """
            09:00:00  created 2 pods (indexes 0, 1): all 2 completions at once
            09:00:05  index 0 failed: exit code 42 in container main
                      rule 0 of podFailurePolicy matches: FailIndex, so the index has failed; backoffLimitPerIndex is 5
            09:00:05  the Job failed: FailedIndexes, 1 of 2; 1 succeeded
            next      nothing: the Job has ended. See its logs: longshore logs --failed job/x; run it again: longshore retry job/x
            """,
        )

    play(script, bad_index(0, code=42), capacity=BIG)


def test_rules_none_of_which_matches() -> None:
    async def script(stage: Stage) -> None:
        rules = [rule("FailJob", 42), rule("Ignore", 3)]
        await stage.create(JOBS, a_job(backoffLimit=0, podFailurePolicy={"rules": rules}))
        await stage.sleep(10)
        await stage.tells(
            "job/x",
            """
            09:00:00  created 1 pod
            09:00:05  pod x-xxxxx failed: exit code 1 in container main
                      none of the 2 rules of podFailurePolicy matches; backoffLimit is 0
            09:00:05  the Job failed: BackoffLimitExceeded, 1 pod failed, backoffLimit is 0; 0 succeeded
            next      nothing: the Job has ended. See its logs: longshore logs --failed job/x; run it again: longshore retry job/x
            """,
        )

    play(script, ends(1))


def test_too_many_failed_indexes() -> None:
    async def script(stage: Stage) -> None:
        job = indexed(completions=6, parallelism=3, backoffLimitPerIndex=0, maxFailedIndexes=1)
        await stage.create(JOBS, job)
        await stage.sleep(30)
        await stage.tells(
            "job/x",
            """
            09:00:00  created 3 pods (indexes 0–2): 3 of 6 completions wanted at a time
            09:00:05  indexes 0–2 failed: exit code 1 in container main; their retries are used up, so the indexes have failed
                      backoffLimitPerIndex is 0
            09:00:05  the Job failed: MaxFailedIndexesExceeded, 3 indexes failed, maxFailedIndexes is 1; 0 succeeded
            next      nothing: the Job has ended. See its logs: longshore logs --failed job/x; run it again: longshore retry job/x
            """,
        )

    play(script, ends(1), capacity=BIG)


def test_pods_that_fail_together_and_are_retried_together() -> None:
    async def script(stage: Stage) -> None:
        await stage.create(JOBS, indexed(completions=4, parallelism=4, backoffLimitPerIndex=1))
        await stage.sleep(8)
        await stage.tells(
            "job/x",
            """
            09:00:00  created 4 pods (indexes 0–3): all 4 completions at once
            09:00:05  indexes 0–3 failed: exit code 1 in container main
                      backoffLimitPerIndex is 1
            09:00:05  indexes 0–3 will be retried at 09:00:15 (first failure, 10 s)
            now       0 of 4 succeeded
            next      indexes 0–3 are tried again at 09:00:15
            """,
        )
        await stage.create(JOBS, a_job("plain", completions=3, parallelism=3))
        await stage.sleep(8)
        await stage.tells(
            "job/plain",
            """
            09:00:08  created 3 pods: all 3 completions at once
            09:00:13  3 pods (plain-xxxxx, …) failed: exit code 1 in container main
                      backoffLimit is 6
            09:00:13  3 pods failed in a row: the next one starts at 09:00:53
            now       0 of 3 succeeded, 3 failed
            next      a failed pod is tried again at 09:00:53
            """,
        )

    play(script, ends(1), capacity=BIG)


def test_a_deadline_that_passes() -> None:
    async def script(stage: Stage) -> None:
        await stage.create(JOBS, a_job(activeDeadlineSeconds=60))
        await stage.sleep(10)
        await stage.tells(
            "job/x",
            """
            09:00:00  created 1 pod
            now       0 of 1 succeeded, 1 active
            next      it fails at 09:01:00 unless it is done (activeDeadlineSeconds is 60)
            """,
        )
        await stage.sleep(90)
        await stage.tells(
            "job/x",
            """
            09:00:00  created 1 pod
            09:01:00  deleted 1 pod that still ran
            09:01:00  the Job failed: DeadlineExceeded, it was active for more than 60 s; 0 succeeded
            next      nothing: the Job has ended; no failed pod is left to read logs of. Run it again: longshore retry job/x
            """,
        )

    play(script, lambda container: Run(seconds=None))


def test_a_success_policy_that_is_met() -> None:
    async def script(stage: Stage) -> None:
        job = indexed(
            completions=5,
            parallelism=5,
            successPolicy={"rules": [{"succeededIndexes": "0", "succeededCount": 1}]},
        )
        await stage.create(JOBS, job)
        await stage.sleep(20)
        await stage.tells(
            "job/x",
            """
            09:00:00  created 5 pods (indexes 0–4): all 5 completions at once
            09:00:05  deleted 4 pods that still ran
            09:00:05  the Job is complete: its successPolicy is met, 1 of 5 succeeded
            next      nothing: the Job is complete. See its logs: longshore logs job/x
            """,
        )

    def runs(container: Container) -> Run:
        return Run(seconds=5.0 if "-0-" in container.pod else 600.0)

    play(script, runs, capacity=BIG)


def test_a_job_that_is_suspended_and_resumed() -> None:
    async def script(stage: Stage) -> None:
        await stage.create(JOBS, a_job(parallelism=2, completions=2))
        await stage.sleep(5)
        await stage.client.patch(JOBS, "x", {"spec": {"suspend": True}}, "default")
        await stage.sleep(40)
        await stage.tells(
            "job/x",
            """
            09:00:00  created 2 pods: all 2 completions at once
            09:00:05  suspended: removed 2 pods
            now       0 of 2 succeeded
            next      nothing until it is resumed: longshore resume job/x
            """,
        )
        await stage.client.patch(JOBS, "x", {"spec": {"suspend": False}}, "default")
        await stage.sleep(5)
        await stage.tells(
            "job/x",
            """
            09:00:00  created 2 pods: all 2 completions at once
            09:00:05  suspended: removed 2 pods
            09:00:45  resumed: created 2 pods: all 2 completions at once
            now       0 of 2 succeeded, 2 active
            next      the Job ends when its pods have
            """,
        )

    play(script, lambda container: Run(seconds=100.0))


def test_a_job_that_wants_fewer_pods() -> None:
    async def script(stage: Stage) -> None:
        await stage.create(JOBS, a_job(parallelism=4, completions=8))
        await stage.sleep(5)
        await stage.client.patch(JOBS, "x", {"spec": {"parallelism": 1}}, "default")
        await stage.sleep(2)
        await stage.tells(
            "job/x",
            """
            09:00:00  created 4 pods: 4 of 8 completions wanted at a time
            09:00:05  removed 3 pods: 4 were active, 1 wanted
            now       0 of 8 succeeded, 1 active
            next      the next pod is created when the one that runs ends; 7 are still to come
            """,
        )

    play(script, lambda container: Run(seconds=100.0), capacity=BIG)


def test_pods_for_which_there_is_no_room() -> None:
    async def script(stage: Stage) -> None:
        large = {"resources": {"requests": {"cpu": "4"}}}
        await stage.create(JOBS, a_job(container=large, parallelism=3, completions=3))
        await stage.sleep(10)
        await stage.tells(
            "job/x",
            """
            09:00:00  created 3 pods: all 3 completions at once
            now       0 of 3 succeeded, 3 active
                      3 pods (x-xxxxx, …) wait: 0/1 nodes are available: 1 Insufficient cpu. (asks 4 cpu, node node has 2 of 2 left)
            next      its pods start when a larger node joins or less is asked for: a pod asks 4 cpu, the largest node has 2
                      more about a pod: longshore why pod/x-xxxxx
            """,
        )

    play(script)


def test_pods_that_a_quota_forbids() -> None:
    async def script(stage: Stage) -> None:
        quota = {"metadata": {"name": "q"}, "spec": {"hard": {"pods": "0"}}}
        await stage.create(("v1", "ResourceQuota"), quota)
        await stage.create(JOBS, a_job())
        await stage.sleep(10)
        await stage.tells(
            "job/x",
            """
            09:00:00  could not go on: pods "x-…" is forbidden: exceeded quota: q, requested: pods=1, used: pods=0, limited: pods=0 (4 times, until 09:00:07)
            now       0 of 1 succeeded
            next      1 pod can be created when quota q has room: pods=1 is asked for, pods=0 is used, pods=0 is the limit; it is tried again, after longer and longer pauses
                      about the quota: longshore describe quota q
            """,
        )

    play(script)


def test_a_job_that_its_ttl_deletes() -> None:
    async def script(stage: Stage) -> None:
        await stage.create(JOBS, a_job(ttlSecondsAfterFinished=60))
        await stage.sleep(10)
        await stage.tells(
            "job/x",
            """
            09:00:00  created 1 pod
            09:00:05  the Job is complete: 1 of 1 succeeded
            next      nothing: the Job is complete. See its logs: longshore logs job/x
                      it is deleted at 09:01:05 (ttlSecondsAfterFinished is 60)
            """,
        )
        await stage.sleep(60)
        await stage.tells(
            "job/x",
            """
            09:00:00  created 1 pod
            09:00:05  the Job is complete: 1 succeeded
            09:01:05  the TTL controller deleted it: ttlSecondsAfterFinished is 60
            next      nothing: the Job is gone
            """,
        )

    play(script)


def test_a_container_that_needs_too_much_memory() -> None:
    async def script(stage: Stage) -> None:
        limited = {"resources": {"limits": {"memory": "64Mi"}}}
        await stage.create(JOBS, a_job(container=limited, backoffLimit=0))
        await stage.sleep(10)
        await stage.tells(
            "job/x",
            """
            09:00:00  created 1 pod
            09:00:05  pod x-xxxxx failed: out of memory (exit code 137, the limit is 64Mi) in container main
                      backoffLimit is 0
            09:00:05  the Job failed: BackoffLimitExceeded, 1 pod failed, backoffLimit is 0; 0 succeeded
            next      nothing: the Job has ended. See its logs: longshore logs --failed job/x; run it again: longshore retry job/x
            """,
        )

    play(script, lambda container: Run(seconds=5.0, code=137, reason="OOMKilled"))


def test_a_pod_that_longshore_itself_deletes() -> None:
    async def script(stage: Stage) -> None:
        await stage.create(JOBS, a_job())
        await stage.sleep(5)
        (name,) = await stage.pods()
        await stage.client.delete(PODS, name, "default")
        await stage.sleep(2)
        told = f"longshore deleted pod {name} before it ended, which counts as a failure"
        assert told in await stage.why("job/x")

    play(script, lambda container: Run(seconds=100.0))


def test_a_pod_that_somebody_deletes() -> None:
    async def script(stage: Stage) -> None:
        await stage.create(JOBS, a_job())
        await stage.sleep(5)
        (name,) = await stage.pods()
        await stage.alice.delete(PODS, name, "default")
        await stage.sleep(2)
        await stage.tells(
            "job/x",
            """
            09:00:00  created 1 pod
            09:00:05  alice deleted pod x-xxxxx with kubectl before it ended, which counts as a failure
                      backoffLimit is 6
            09:00:05  1 pod failed in a row: the next one starts at 09:00:15
            now       0 of 1 succeeded, 1 failed
            next      a failed pod is tried again at 09:00:15
            """,
        )

    play(script, lambda container: Run(seconds=100.0))


def test_a_job_that_starts_its_pods_at_its_own_pace() -> None:
    async def script(stage: Stage) -> None:
        job = a_job(completions=4, parallelism=4)
        job["metadata"]["annotations"] = {"longshore.dev/start-interval": "10s"}
        await stage.create(JOBS, job)
        await stage.sleep(14)
        await stage.tells(
            "job/x",
            """
            09:00:00  created 1 pod
            09:00:10  created 1 more pod
            now       0 of 4 succeeded, 2 active
            next      starts a pod every 10 s (longshore.dev/start-interval): the next at 09:00:20
            """,
        )

    play(script, lambda container: Run(seconds=100.0))


def test_a_job_of_another_controller() -> None:
    async def script(stage: Stage) -> None:
        await stage.create(JOBS, a_job(managedBy="example.org/queue"))
        await stage.sleep(5)
        await stage.tells(
            "job/x",
            """
            now       0 of 1 succeeded
            next      example.org/queue decides: longshore leaves it alone
            """,
        )

    play(script)


def test_a_pod_whose_container_is_started_again_until_the_job_gives_up() -> None:
    async def script(stage: Stage) -> None:
        await stage.create(JOBS, a_job(template={"restartPolicy": "OnFailure"}, backoffLimit=1))
        await stage.sleep(60)
        await stage.tells(
            "job/x",
            """
            09:00:00  created 1 pod
            09:00:03  pod x-xxxxx: container main ended: exit code 5
            09:00:03  pod x-xxxxx: container main started again, as restartPolicy says (restart 1)
            09:00:04  deleted 1 pod that still ran
            09:00:04  the Job failed: BackoffLimitExceeded, 1 pod failed, backoffLimit is 1; 0 succeeded
            next      nothing: the Job has ended; no failed pod is left to read logs of. Run it again: longshore retry job/x
            """,
        )

    play(script, lambda container: Run(seconds=3.0, code=5))


def test_a_pod_whose_container_is_started_again_and_recovers() -> None:
    runs = iter((5, 0))

    async def script(stage: Stage) -> None:
        await stage.create(JOBS, a_job(template={"restartPolicy": "OnFailure"}))
        await stage.sleep(60)
        await stage.tells(
            "job/x",
            """
            09:00:00  created 1 pod
            09:00:03  pod x-xxxxx: container main ended: exit code 5
            09:00:03  pod x-xxxxx: container main started again, as restartPolicy says (restart 1)
            09:00:06  the Job is complete: 1 of 1 succeeded
            next      nothing: the Job is complete. See its logs: longshore logs job/x
            """,
        )

    play(script, lambda container: Run(seconds=3.0, code=next(runs)))


def test_a_job_that_lacks_pods_for_a_quota() -> None:
    async def script(stage: Stage) -> None:
        quota = {"metadata": {"name": "few"}, "spec": {"hard": {"pods": "1"}}}
        await stage.create(("v1", "ResourceQuota"), quota)
        await stage.create(JOBS, a_job(parallelism=3, completions=3, activeDeadlineSeconds=3600))
        await stage.sleep(2)
        await stage.tells(
            "job/x",
            """
            09:00:00  created 1 pod
            09:00:00  could not go on: pods "x-…" is forbidden: exceeded quota: few, requested: pods=1, used: pods=1, limited: pods=1 (2 times, until 09:00:01)
            now       0 of 3 succeeded, 1 active
            next      it fails at 10:00:00 unless it is done (activeDeadlineSeconds is 3600)
                      2 more pods can be created when quota few has room: pods=1 is asked for, pods=1 is used, pods=1 is the limit; it is tried again, after longer and longer pauses
                      about the quota: longshore describe quota few
            """,
        )

    play(script, lambda container: Run(seconds=600.0))


def test_a_job_whose_pods_name_what_does_not_exist() -> None:
    async def script(stage: Stage) -> None:
        await stage.create(JOBS, a_job(template={"priorityClassName": "urgent"}))
        await stage.sleep(10)
        told = await stage.why("job/x")
        again = "it is tried again, after longer and longer pauses"
        assert f"next      1 pod can be created when PriorityClass urgent exists; {again}" in told

    play(script)


def test_a_conflict_is_no_news() -> None:
    conflict = (
        'Operation cannot be fulfilled on jobs.batch "x": the object has been modified; please apply your '
        "changes to the latest version and try again"
    )
    record = Record(START.timestamp(), "job", "default", "x", "u", "job controller", PROBLEM, conflict)
    job = {
        "metadata": {"name": "x", "uid": "u", "creationTimestamp": "2026-01-01T09:00:00Z"},
        "spec": {"completions": 1, "parallelism": 1, "template": {"spec": {}}},
        "status": {"active": 1},
    }
    for kind, obj in (("job", job), ("namespace", {**job, "spec": {}})):
        story = tell(StoryView(KINDS[kind], "default", "x", START.timestamp(), obj, records=[record]))
        assert story is not None
        assert not story.lines
        assert not any("tried again" in words for words in story.next)
