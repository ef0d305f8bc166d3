"""When the server refuses, conflicts or is slow, and when the controller is restarted."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from controllers.job.job_stage import JOBS, NS, PODS, Stage, Troubled, play, refused
from longshore.api.types import Obj
from longshore.client import TimedOut, WatchEvent
from longshore.client.ask import Ask
from longshore.client.source import Watching


def test_a_failed_create_is_told_and_tried_again_after_a_second() -> None:
    async def scene(stage: Stage) -> None:
        def trouble(what: str, ask: Ask) -> None:
            if what == "create pods" and stage.theirs.asked[what] == 2:
                raise refused()

        stage.theirs.trouble = trouble
        begun = stage.clock.monotonic()
        await stage.job(completions=2, parallelism=2)
        await stage.until_live(2)
        assert stage.clock.monotonic() - begun < 1.5
        await stage.quiet()
        assert "Warning FailedCreate: Error creating: made to fail with 500" in await stage.events()
        assert stage.theirs.asked["create pods"] == 3

    play(scene)


def test_a_job_whose_account_is_missing_begins_when_it_is_there() -> None:
    async def scene(stage: Stage) -> None:
        accounts = ("v1", "ServiceAccount")
        container = {"name": "main", "image": "i"}
        spec = {"restartPolicy": "Never", "containers": [container], "serviceAccountName": "robot"}
        await stage.job(template={"spec": spec})
        await stage.quiet()
        said = (
            f'Error creating: pods "j-" is forbidden: error looking up service account {NS}/robot: '
            'serviceaccount "robot" not found'
        )
        assert f"Warning FailedCreate: {said}" in {
            re.sub('"j-[a-z0-9]+"', '"j-"', text) for text in await stage.events()
        }
        assert await stage.live() == []
        await stage.client.create(accounts, {"metadata": {"name": "robot"}}, NS)
        await stage.until_live(1, seconds=900)

    play(scene)


class Unheard(Troubled):
    """Creates a pod, and the answer is lost, once. Watches tell of pods seconds later."""

    is_lost = False

    async def _one(self, ask: Ask) -> Obj:
        answer = await super()._one(ask)
        if ask.verb == "create" and ask.resource.plural == "pods" and not self.is_lost:
            self.is_lost = True
            raise TimedOut("no answer in time")
        return answer

    @asynccontextmanager
    async def _events(self, ask: Ask) -> AsyncIterator[Watching]:
        async with super()._events(ask) as events:
            yield Watching(self._late(ask, events))

    async def _late(self, ask: Ask, events: AsyncIterator[WatchEvent]) -> AsyncIterator[WatchEvent]:
        async for event in events:
            if ask.resource.plural == "pods":
                await asyncio.sleep(4.0)
            yield event


def test_a_pod_whose_creation_nobody_answered_is_not_created_twice() -> None:
    async def scene(stage: Stage) -> None:
        stage.theirs = Unheard(stage.client)
        await stage.start()
        await stage.job(completions=1, parallelism=1)
        await stage.quiet(20)
        assert stage.theirs.asked["create pods"] == 1
        await stage.until_status(active=1)

    play(scene, controller=False)


def test_a_job_that_ends_counts_a_pod_whose_creation_nobody_answered() -> None:
    async def scene(stage: Stage) -> None:
        stage.theirs = Unheard(stage.client)
        await stage.start()
        await stage.job(completions=2, parallelism=1, activeDeadlineSeconds=1)
        (pod,) = await stage.until_live(1)
        await stage.end(pod, "Succeeded")
        await stage.until_condition("Failed")
        assert (await stage.status())["succeeded"] == 1

    play(scene, controller=False)


class Unconfirmed(Troubled):
    """Writes the first status that tells of a failed pod, and the answer is lost."""

    is_lost = False

    async def _one(self, ask: Ask) -> Obj:
        answer = await super()._one(ask)
        told = (answer.get("status") or {}).get("uncountedTerminatedPods") or {}
        if ask.subresource == "status" and told.get("failed") and not self.is_lost:
            self.is_lost = True
            raise TimedOut("no answer in time")
        return answer


def test_the_pause_after_a_failure_is_kept_though_nobody_answered_that_it_is_written() -> None:
    async def scene(stage: Stage) -> None:
        stage.theirs = Unconfirmed(stage.client)
        await stage.start()
        await stage.job(completions=1, parallelism=1)
        (pod,) = await stage.until_live(1)
        failed_at = stage.clock.monotonic()
        await stage.end(pod, "Failed")
        await stage.until_live(1)
        assert stage.theirs.is_lost
        assert stage.clock.monotonic() - failed_at >= 9.0  # ten seconds from a time in whole seconds

    play(scene, controller=False)


def test_a_quota_is_found_out_with_few_requests() -> None:
    async def scene(stage: Stage) -> None:
        quota = {"metadata": {"name": "q"}, "spec": {"hard": {"pods": "10"}}}
        await stage.client.create(("v1", "ResourceQuota"), quota, NS)
        await stage.client.patch(
            ("v1", "ResourceQuota"), "q", {"status": {"hard": {"pods": "10"}}}, NS, subresource="status"
        )
        await stage.job(completions=200, parallelism=100)
        await stage.until_status(active=10)
        assert stage.theirs.asked["create pods"] <= 17  # 1, 2, 4, 8 and at most one more try
        await stage.quiet(0.5)
        assert len(await stage.pods()) == 10
        (one, *_) = await stage.live()
        await stage.end(one, "Succeeded")
        await stage.until_status(succeeded=1, active=10)

    play(scene)


async def _too_much(stage: Stage) -> None:
    """A quota that lets no further pod in."""
    quota = {"metadata": {"name": "q"}, "spec": {"hard": {"pods": "1"}}, "status": {"hard": {"pods": "1"}}}
    await stage.client.create(("v1", "ResourceQuota"), quota, NS)
    await stage.client.patch(
        ("v1", "ResourceQuota"), "q", {"status": {"hard": {"pods": "1"}}}, NS, subresource="status"
    )


@pytest.mark.parametrize(
    "spec",
    [
        {"completions": 2, "completionMode": "Indexed", "parallelism": 2, "backoffLimitPerIndex": 3},
        {"completions": 1200, "parallelism": 600},
    ],
    ids=["a failed index", "more pods than a sync creates"],
)
def test_creates_that_a_quota_refuses_are_tried_again_after_pauses(spec: Obj) -> None:
    async def scene(stage: Stage) -> None:
        await _too_much(stage)
        await stage.job(**spec)
        (pod,) = await stage.until_live(1)
        await asyncio.sleep(20)  # a failed pod's replacement is due now
        await stage.end(pod, "Failed", exit=1, ago=19)
        await asyncio.sleep(300)
        assert stage.theirs.asked["create pods"] < 40
        assert len(await stage.live()) == 1

    play(scene)


def test_a_finalizer_that_cannot_be_removed_now_is_removed_later() -> None:
    async def scene(stage: Stage) -> None:
        failing = True

        def trouble(what: str, ask: Ask) -> None:
            if what == "patch pods" and failing:
                raise refused()

        stage.theirs.trouble = trouble
        await stage.job(completions=2, parallelism=1)
        (pod,) = await stage.until_live(1)
        await stage.end(pod, "Succeeded")
        uid = pod["metadata"]["uid"]
        status = await stage.until_status(uncountedTerminatedPods={"succeeded": [uid]})
        assert "succeeded" not in status
        await stage.quiet(0.5)
        failing = False
        status = await stage.until_status(succeeded=1, uncountedTerminatedPods={})
        assert (await stage.client.get(PODS, pod["metadata"]["name"], NS))["metadata"].get(
            "finalizers"
        ) is None

    play(scene)


def test_a_conflict_counts_nothing_and_is_tried_again() -> None:
    async def scene(stage: Stage) -> None:
        await stage.job()
        (pod,) = await stage.until_live(1)
        await stage.until_status(active=1)
        conflicts = 2

        def trouble(what: str, ask: Ask) -> None:
            nonlocal conflicts
            if what == "update jobs/status" and conflicts:
                conflicts -= 1
                raise refused(409, "Conflict")

        stage.theirs.trouble = trouble
        begun = stage.clock.monotonic()
        await stage.end(pod, "Succeeded")
        await stage.quiet(0.5)
        kept = await stage.client.get(PODS, pod["metadata"]["name"], NS)
        assert kept["metadata"]["finalizers"]
        await stage.until_condition("Complete")
        assert 2.5 < stage.clock.monotonic() - begun < 3.5  # one second, then two
        assert (await stage.status())["succeeded"] == 1

    play(scene)


def test_nobody_complains_while_the_namespace_is_going() -> None:
    async def scene(stage: Stage) -> None:
        await stage.job(completions=5, parallelism=1)
        await stage.until_live(1)
        await stage.client.delete(("v1", "Namespace"), NS)
        await stage.patch_job({"spec": {"parallelism": 3}})
        await stage.quiet()
        assert stage.theirs.asked["create pods"] == 3
        assert not [e for e in await stage.events() if e.startswith("Warning")]

    play(scene)


@pytest.mark.parametrize("failures", [4])
def test_replacements_wait_longer_after_each_failure(failures: int) -> None:
    async def scene(stage: Stage) -> None:
        await stage.job()
        for wait in (10, 20, 40, 80)[:failures]:
            (pod,) = await stage.until_live(1, seconds=100)
            failed = stage.clock.monotonic()
            await stage.end(pod, "Failed")
            await stage.until_live(0)
            await stage.until_live(1, seconds=100)
            assert wait - 1 <= stage.clock.monotonic() - failed <= wait + 0.1

    play(scene)


def test_a_job_of_the_same_name_starts_at_once() -> None:
    async def scene(stage: Stage) -> None:
        await stage.job()
        (pod,) = await stage.until_live(1)
        await stage.end(pod, "Failed")
        await stage.until_status(failed=1)
        await stage.delete_job()
        await stage.job()
        await stage.until_live(1, seconds=0.5)

    play(scene)


@pytest.mark.parametrize("replaced", ["TerminatingOrFailed", "Failed"])
def test_a_namespace_that_is_being_deleted_gets_rid_of_pods_whose_indexes_were_to_be_tried_again(
    replaced: str,
) -> None:
    """No replacement comes that carries on the count for which a failed pod is kept, so it is not kept."""

    async def scene(stage: Stage) -> None:
        many = {"completions": 2, "parallelism": 2, "completionMode": "Indexed", "backoffLimitPerIndex": 3}
        await stage.job(**many, podReplacementPolicy=replaced)
        early, late = await stage.until_live(2)
        await stage.until_status(active=2)
        await stage.client.delete(("v1", "Namespace"), NS)
        for pod, wait in (early, 30), (late, 0):
            await stage.delete_pod(pod)
            await stage.end(pod, "Failed")
            await stage.quiet(wait)
        await stage.quiet(1)
        assert not await stage.pods()

    play(scene)


@pytest.mark.parametrize("halted", [{"suspend": True}, {"parallelism": 0}])
@pytest.mark.parametrize("deleted_before", [False, True])
def test_a_namespace_goes_with_a_halted_job_whose_indexes_were_to_be_tried_again(
    halted: dict[str, Any], deleted_before: bool
) -> None:
    """Nobody is refused a replacement, since the Job asks for none."""

    async def scene(stage: Stage) -> None:
        await stage.job(completions=1, completionMode="Indexed", backoffLimitPerIndex=3)
        (pod,) = await stage.until_live(1)
        await stage.end(pod, "Failed")
        await stage.patch_job({"spec": halted})
        await stage.quiet(30)
        if deleted_before:
            await stage.delete_pod(pod)
            await stage.quiet(30)
            assert len(await stage.pods()) == 1  # it carries the count of its index
        await stage.client.delete(("v1", "Namespace"), NS)
        if not deleted_before:
            await stage.delete_pod(pod)
        await stage.quiet(90)
        assert not await stage.pods()

    play(scene)


def test_a_job_that_takes_the_name_of_one_whose_pods_are_being_created_starts_at_once() -> None:
    """The pods of the first one come when its name means another: nobody waits until they are seen."""

    async def scene(stage: Stage) -> None:
        async def replaced() -> None:
            await stage.delete_job()
            await stage.job(completions=20, parallelism=20)

        replacing: list[asyncio.Task[None]] = []

        def in_between(what: str, ask: Ask) -> None:
            if what == "create pods" and not replacing and stage.theirs.asked[what] == 6:
                replacing.append(asyncio.create_task(replaced()))

        stage.theirs.trouble = in_between
        await stage.job(completions=20, parallelism=20)
        await stage.quiet(10)
        assert replacing[0].done()
        assert (await stage.status())["active"] == 20

    play(scene)


def test_a_restarted_controller_forgets_the_wait_and_nothing_else() -> None:
    async def scene(stage: Stage) -> None:
        await stage.job(backoffLimit=1)
        (pod,) = await stage.until_live(1)
        await stage.end(pod, "Failed")
        await stage.until_status(failed=1, uncountedTerminatedPods={})
        await stage.start()
        (pod,) = await stage.until_live(1, seconds=0.5)
        await stage.end(pod, "Failed")
        await stage.until_condition("Failed")
        assert (await stage.status())["failed"] == 2

    play(scene)


def test_pods_that_end_while_the_controller_is_away_are_counted_when_it_is_back() -> None:
    async def scene(stage: Stage) -> None:
        await stage.job(completions=3, parallelism=3)
        pods = await stage.until_live(3)
        await stage.stop()
        for pod in pods:
            await stage.end(pod, "Succeeded")
            await stage.delete_pod(pod, grace=0)
        await stage.start()
        await stage.until_condition("Complete")
        assert (await stage.status())["succeeded"] == 3
        assert await stage.pods() == []

    play(scene)


def test_a_verdict_on_record_is_carried_out_after_a_restart() -> None:
    async def scene(stage: Stage) -> None:
        def trouble(what: str, ask: Ask) -> None:
            if what == "patch pods":
                raise refused()

        rule = {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [5]}}
        await stage.job(podFailurePolicy={"rules": [rule]})
        (pod,) = await stage.until_live(1)
        stage.theirs.trouble = trouble
        await stage.end(pod, "Failed", exit=5)
        await stage.until_condition("FailureTarget")
        await stage.stop()
        # Someone removes the evidence.
        await stage.strategic(pod, {"metadata": {"finalizers": None}})
        await stage.delete_pod(pod, grace=0)
        stage.theirs.trouble = lambda what, ask: None
        await stage.start()
        await stage.until_condition("Failed")
        name = pod["metadata"]["name"]
        assert (await stage.status())["conditions"][1]["message"] == (
            f"Container main for pod ns/{name} failed with exit code 5 matching FailJob rule at index 0"
        )
        assert (await stage.status())["failed"] == 1

    play(scene)


def test_failures_that_come_together_are_counted_together() -> None:
    async def scene(stage: Stage) -> None:
        await stage.job(completions=6, parallelism=3, backoffLimit=2)
        for pod in await stage.until_live(3):
            await stage.end(pod, "Failed", ago=3600)
            await stage.clock.sleep(0.15)
        await stage.until_condition("Failed")
        assert (await stage.status())["failed"] == 3
        assert stage.theirs.asked["create pods"] == 3

    play(scene)


def test_a_lone_failure_is_looked_at_immediately() -> None:
    async def scene(stage: Stage) -> None:
        await stage.job(backoffLimit=0)
        (pod,) = await stage.until_live(1)
        await stage.quiet()
        await stage.end(pod, "Failed")
        await stage.until_condition("Failed", seconds=0.1)

    play(scene)


def test_a_steady_trickle_of_failures_is_looked_at_after_a_second() -> None:
    async def scene(stage: Stage) -> None:
        await stage.job(completions=20, parallelism=20, backoffLimit=100)
        pods = await stage.until_live(20)
        begun = stage.clock.monotonic()
        for pod in pods[:12]:
            await stage.end(pod, "Failed")
            await stage.clock.sleep(0.1)
        assert (await stage.status()).get("failed")
        assert stage.clock.monotonic() - begun < 1.5
        await stage.until_status(failed=12)

    play(scene)


def test_foreign_conditions_and_annotations_stay() -> None:
    async def scene(stage: Stage) -> None:
        await stage.job()
        (pod,) = await stage.until_live(1)
        await stage.until_status(active=1)
        foreign = {"type": "example.org/Seen", "status": "True"}
        patch = {"metadata": {"annotations": {"a": "b"}}, "status": {"conditions": [foreign]}}
        await stage.client.patch(JOBS, "j", patch, NS, subresource="status")
        await stage.end(pod, "Succeeded")
        await stage.until_condition("Complete")
        job = await stage.client.get(JOBS, "j", NS)
        assert job["metadata"]["annotations"]["a"] == "b"
        assert (await stage.conditions())[0] == "example.org/Seen=True"

    play(scene)


def test_pods_of_a_deleted_job_lose_the_finalizer_even_if_that_fails_at_first() -> None:
    async def scene(stage: Stage) -> None:
        refusals = 3

        def trouble(what: str, ask: Ask) -> None:
            nonlocal refusals
            if what == "patch pods" and refusals:
                refusals -= 1
                raise refused(429, "TooManyRequests")

        await stage.job(completions=2, parallelism=2)
        await stage.until_live(2)
        stage.theirs.trouble = trouble
        await stage.delete_job()

        async def untracked() -> bool:
            return not any(pod["metadata"].get("finalizers") for pod in await stage.pods())

        await stage.until(untracked)
        assert refusals == 0

    play(scene)
