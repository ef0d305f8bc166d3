"""Jobs from start to end in a running control plane."""

from __future__ import annotations

from controllers.job.job_stage import NS, PODS, Stage, play, refused
from longshore.api.time import rfc3339
from longshore.client.ask import Ask
from longshore.controllers.job.spec import FINALIZER


def test_a_job_runs_to_completion_and_tells_what_it_did() -> None:
    async def scene(stage: Stage) -> None:
        await stage.job(completions=3, parallelism=2)
        first, second = await stage.until_live(2)
        await stage.end(first, "Succeeded")
        await stage.until_status(succeeded=1, active=2)
        await stage.end(second, "Succeeded")
        (third,) = await stage.until_live(1)
        await stage.end(third, "Succeeded")
        await stage.until_condition("Complete")
        status = await stage.status()
        assert status["succeeded"] == 3
        assert status["uncountedTerminatedPods"] == {}
        assert status["completionTime"]
        pods = await stage.pods()
        assert len(pods) == 3
        assert not any(p["metadata"].get("finalizers") for p in pods)
        await stage.quiet()
        events = await stage.events()
        assert sorted(events) == sorted(
            [f"Normal SuccessfulCreate: Created pod: {p['metadata']['name']}" for p in pods]
            + ["Normal Completed: Job completed"]
        )

    play(scene)


def test_a_one_pod_job_takes_three_status_writes() -> None:
    async def scene(stage: Stage) -> None:
        await stage.job()
        (pod,) = await stage.until_live(1)
        await stage.end(pod, "Succeeded")
        await stage.until_condition("Complete")
        await stage.quiet()
        asked = stage.theirs.asked
        assert (asked["create pods"], asked["update jobs/status"], asked["patch pods"]) == (1, 3, 1)

    play(scene)


def test_a_failing_job_kills_what_runs_and_waits_for_its_end() -> None:
    async def scene(stage: Stage) -> None:
        await stage.job(completions=2, parallelism=2, backoffLimit=0)
        one, other = await stage.until_live(2)
        await stage.bind(other)
        await stage.end(one, "Failed")
        await stage.until_condition("FailureTarget")
        await stage.quiet()
        status = await stage.status()
        assert await stage.conditions() == ["FailureTarget=True"]
        assert (status["failed"], status["terminating"], status["ready"]) == (2, 1, 0)
        assert "active" not in status
        await stage.delete_pod(other, grace=0)
        await stage.until_condition("Failed")
        assert (await stage.status())["terminating"] == 0
        await stage.quiet()
        failed = "Warning BackoffLimitExceeded: Job has reached the specified backoff limit"
        assert failed in await stage.events()

    play(scene)


def test_pods_that_nobody_bound_vanish_with_their_job() -> None:
    async def scene(stage: Stage) -> None:
        await stage.job(completions=3, parallelism=3, activeDeadlineSeconds=10)
        await stage.until_live(3)
        await stage.until_condition("Failed")
        status = await stage.status()
        assert (status["failed"], status["terminating"]) == (3, 0)
        assert await stage.pods() == []

    play(scene)


def test_a_deadline_added_later_is_kept() -> None:
    async def scene(stage: Stage) -> None:
        await stage.job()
        await stage.until_live(1)
        await stage.quiet(30)
        begun = stage.clock.monotonic()
        await stage.patch_job({"spec": {"activeDeadlineSeconds": 40}})
        await stage.until_condition("Failed", seconds=20)
        assert 9 <= stage.clock.monotonic() - begun <= 11

    play(scene)


def test_a_job_is_complete_although_the_clock_was_set_back_meanwhile() -> None:
    async def scene(stage: Stage) -> None:
        await stage.job()
        (pod,) = await stage.until_live(1)
        await stage.until_status(active=1)
        stage.clock.jump(-365 * 86400)
        await stage.end(pod, "Succeeded")
        await stage.until_condition("Complete")
        status = await stage.status()
        assert status["completionTime"] == status["startTime"]

    play(scene)


def test_suspend_and_resume() -> None:
    async def scene(stage: Stage) -> None:
        await stage.job(completions=2, parallelism=2)
        await stage.until_live(2)
        started = (await stage.status())["startTime"]
        await stage.quiet()
        await stage.patch_job({"spec": {"suspend": True}})
        await stage.until_condition("Suspended")
        await stage.quiet()
        status = await stage.status()
        assert (status.get("active"), status.get("failed"), status.get("startTime")) == (None, None, None)
        assert await stage.pods() == []
        await stage.patch_job({"spec": {"suspend": False}})
        await stage.until_live(2)
        status = await stage.until_status(active=2)
        assert await stage.conditions() == ["Suspended=False"]
        assert status["startTime"] > started
        await stage.quiet()
        told = [e for e in await stage.events() if "Created" not in e and "Deleted" not in e]
        assert told == ["Normal Suspended: Job suspended", "Normal Resumed: Job resumed"]

    play(scene)


def test_a_suspended_job_that_needs_no_more_indexes_is_complete() -> None:
    async def scene(stage: Stage) -> None:
        await stage.job(completions=2, parallelism=2, completionMode="Indexed")
        await stage.end((await stage.until_live(2))[0], "Succeeded")
        await stage.until_status(completedIndexes="0")
        await stage.patch_job({"spec": {"suspend": True}})
        await stage.until_condition("Suspended")
        await stage.patch_job({"spec": {"completions": 1, "parallelism": 1}})
        await stage.until_condition("Complete")
        status = await stage.status()
        assert status["startTime"] == status["completionTime"]

    play(scene)


def test_a_suspended_job_that_may_not_fail_so_often_any_more_has_failed() -> None:
    async def scene(stage: Stage) -> None:
        await stage.job(completions=2, parallelism=2)
        await stage.end((await stage.until_live(2))[0], "Failed")
        await stage.until_status(failed=1)
        await stage.patch_job({"spec": {"suspend": True}})
        await stage.until_condition("Suspended")
        await stage.patch_job({"spec": {"backoffLimit": 0}})
        await stage.until_condition("Failed")

    play(scene)


def test_the_template_of_a_job_created_suspended_can_still_be_changed() -> None:
    async def scene(stage: Stage) -> None:
        await stage.job(suspend=True)
        selector = {"spec": {"template": {"spec": {"nodeSelector": {"disk": "fast"}}}}}
        await stage.patch_job(selector)
        await stage.until_condition("Suspended")
        await stage.patch_job({"spec": {"suspend": False}})
        (pod,) = await stage.until_live(1)
        assert pod["spec"]["nodeSelector"] == {"disk": "fast"}

    play(scene)


def test_lowering_parallelism_releases_pods_without_failures() -> None:
    async def scene(stage: Stage) -> None:
        await stage.job(completions=5, parallelism=3)
        await stage.until_live(3)
        await stage.patch_job({"spec": {"parallelism": 0}})
        await stage.until_live(0)
        status = await stage.until_status(active=None, terminating=0)
        assert "failed" not in status
        await stage.patch_job({"spec": {"parallelism": 1}})
        await stage.until_live(1)

    play(scene)


def test_an_indexed_job_gives_every_index_its_turn() -> None:
    async def scene(stage: Stage) -> None:
        await stage.job(completions=6, parallelism=2, completionMode="Indexed")
        for _ in range(6):
            pod = (await stage.until(stage.live))[0]
            await stage.end(pod, "Succeeded")
            await stage.quiet(0.5)
        await stage.until_condition("Complete")
        status = await stage.status()
        assert (status["completedIndexes"], status["succeeded"]) == ("0-5", 6)
        hosts = {p["spec"]["hostname"] for p in await stage.pods()}
        assert hosts == {f"j-{n}" for n in range(6)}

    play(scene)


def test_a_failed_index_hands_its_count_on_before_its_pod_may_go() -> None:
    async def scene(stage: Stage) -> None:
        await stage.job(completions=1, parallelism=1, completionMode="Indexed", backoffLimitPerIndex=1)
        (pod,) = await stage.until_live(1)
        await stage.end(pod, "Failed")
        await stage.delete_pod(pod, grace=0)
        await stage.quiet()
        kept = await stage.client.get(PODS, pod["metadata"]["name"], NS)
        assert kept["metadata"]["finalizers"] == [FINALIZER]
        (replacement,) = await stage.until_live(1)
        noted = replacement["metadata"]["annotations"]
        assert noted["batch.kubernetes.io/job-index-failure-count"] == "1"
        await stage.until_status(failed=1, active=1)
        await stage.end(replacement, "Failed")
        await stage.until_condition("Failed")
        assert (await stage.status())["failedIndexes"] == "0"

    play(scene)


def test_a_pod_with_endless_grace_is_deleted_at_a_time_that_can_be_read() -> None:
    async def scene(stage: Stage) -> None:
        await stage.job()
        (pod,) = await stage.until_live(1)
        await stage.bind(pod)
        await stage.delete_pod(pod, grace=2**62)
        await stage.until_status(failed=1, terminating=1)
        assert len(await stage.until_live(1)) == 1
        begun = stage.clock.timestamp()
        await stage.delete_pod(pod, grace=3600)
        meta = (await stage.client.get(PODS, pod["metadata"]["name"], NS))["metadata"]
        assert meta["deletionGracePeriodSeconds"] == 3600
        assert rfc3339.seconds(meta["deletionTimestamp"]) <= begun + 3600

    play(scene)


def test_a_deleted_pod_that_succeeds_before_it_is_counted_does_not_complete_its_job() -> None:
    async def scene(stage: Stage) -> None:
        await stage.job()
        (pod,) = await stage.until_live(1)
        await stage.bind(pod)
        await stage.quiet()

        def trouble(what: str, ask: Ask) -> None:
            if what == "patch pods":
                raise refused()

        stage.theirs.trouble = trouble
        await stage.delete_pod(pod)
        await stage.until_status(uncountedTerminatedPods={"failed": [pod["metadata"]["uid"]]})
        await stage.end(pod, "Succeeded")
        stage.theirs.trouble = lambda what, ask: None
        await stage.until_status(failed=1)
        assert await stage.conditions() == []
        await stage.end((await stage.until_live(1))[0], "Succeeded")
        await stage.until_condition("Complete")
        assert (await stage.status())["succeeded"] == 1

    play(scene)


def test_hundreds_of_pods_are_each_counted_once() -> None:
    async def scene(stage: Stage) -> None:
        await stage.job(completions=300, parallelism=120)
        while "Complete=True" not in await stage.conditions():
            for pod in await stage.live():
                await stage.end(pod, "Succeeded")
            await stage.clock.sleep(0.05)
        assert (await stage.status())["succeeded"] == 300
        assert len(await stage.pods()) == 300

    play(scene)
