"""The rights that `longshore manifests` gives are enough, and none of them is idle."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from longshore.api import cron
from longshore.api.errors import StatusError
from longshore.api.kinds import table
from longshore.apiserver.request.call import User
from longshore.client import DeleteOptions
from longshore.machinery.fence import Fence
from longshore.machinery.informers.informer import Informers
from longshore.machinery.time import virtual
from longshore.machinery.time.virtual import VirtualClock
from longshore.plane.controllers import BY_NAMESPACE, reads_of
from longshore.plane.wiring import Wiring
from longshore.testing import SeededKeys
from longshore.testing.stories import beside
from longshore.up import manifests
from longshore.up.outside import leading
from longshore.up.outside.settings import OutsideSettings
from support import volcano_manifests
from support.job_world import JOBS, NS, PODS, World, a_job, a_world, goes
from support.rights import Noting, Right, rights_of

ACCOUNT = User(
    "system:serviceaccount:longshore-system:longshore-controllers",
    ("system:serviceaccounts", "system:serviceaccounts:longshore-system", "system:authenticated"),
)
ONLY_ELSEWHERE = {("update", "batch", "jobs/finalizers")}
"""Asked for by an admission plugin that longshore does not have."""
NOT_STREAMED = {("list", "batch", "jobs"), ("list", "", "pods")}
"""Asked for on servers that do not stream lists."""
AFTER_A_CONFLICT = {("get", "", "pods")}
"""Asked for when a pod changed just before its finalizer, or it itself, was to go."""
MANAGED = {"managedBy": "longshore.dev/job-controller"}


def granted(objects: list[dict[str, Any]]) -> set[Right]:
    return rights_of(rule for obj in objects for rule in obj.get("rules", ()))


def play(wanted: manifests.WantedInstallation, story: Callable[[World, Noting], Awaitable[None]]) -> None:
    """Tells a story with the controllers outside, as the account that the manifests make."""

    async def main(clock: VirtualClock) -> None:
        async with a_world(clock, goes(holds=True)) as world:
            client = Noting(world.api, user=ACCOUNT)
            for obj in manifests.documents(wanted):
                if obj["kind"] != "Deployment":
                    await world.client.create((obj["apiVersion"], obj["kind"]), obj)
            settings = OutsideSettings(
                controllers=wanted.controllers, namespace=wanted.only, lease_namespace=wanted.namespace
            )
            rng = random.Random(1)
            wiring = Wiring(
                clock,
                rng,
                Informers(client, clock=clock, rng=rng, reads=reads_of(settings.controllers)),
                zone=cron.UTC,
                keys=SeededKeys(rng),
                namespace=wanted.only,
                managed_by=settings.managed_by,
            )
            work = leading.work(
                client,
                settings,
                wiring,
                election_client=client,
                fence=Fence(clock),
                identity="me",
                started=lambda: None,
                waiting=lambda holder: None,
            )
            async with beside(work):
                await story(world, client)

    virtual.run(main)


async def _everything(world: World, client: Noting) -> None:
    """All that the Job controller ever does."""
    labels = {"app": "x"}
    own = {"manualSelector": True, "selector": {"matchLabels": labels}, "labels": labels}
    template = a_job(labels=labels)["spec"]["template"]
    await world.client.create(PODS, {**template, "metadata": {"name": "orphan", "labels": labels}}, NS)
    await world.job(completions=2, parallelism=2, **own, **MANAGED)
    await world.running(2)
    await world.patch(parallelism=1)
    await world.status(active=1, terminating=0)
    world.finish(1)
    await world.status(succeeded=1, active=1, ready=1)
    (pod,) = [pod for pod in await world.pods() if pod["status"]["phase"] == "Running"]
    world.hold_no_more()
    await world.client.patch(PODS, pod["metadata"]["name"], {"metadata": {"labels": {"app": "y"}}}, NS)
    await world.until(lambda: _is_loose(world, pod["metadata"]["name"]))
    await world.client.delete(PODS, pod["metadata"]["name"], NS)
    await world.ended()
    await world.job("refused", **MANAGED, backoffLimit=0)
    await world.client.create(
        ("v1", "ResourceQuota"), {"metadata": {"name": "q"}, "spec": {"hard": {"pods": "0"}}}, NS
    )
    await world.job("again", **MANAGED)
    await world.clock.sleep(900)  # long enough for an event to repeat
    await world.client.delete(JOBS, "refused", NS, DeleteOptions(propagation="Background"))
    await world.clock.sleep(20)


async def _is_loose(world: World, name: str) -> bool:
    return not (await world.client.get(PODS, name, NS))["metadata"].get("ownerReferences")


def test_the_rights_are_enough_and_each_is_used() -> None:
    wanted = manifests.WantedInstallation()

    async def story(world: World, client: Noting) -> None:
        await _everything(world, client)
        rights = granted(manifests.documents(wanted))
        assert client.asked <= rights
        assert rights - client.asked <= ONLY_ELSEWHERE | NOT_STREAMED | AFTER_A_CONFLICT

    play(wanted, story)


def test_the_rights_are_enough_to_kill_a_pod_that_has_changed_since_it_was_seen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def story(world: World, client: Noting) -> None:
        delete, unchanged = client.delete, [True]

        async def delete_late(what: Any, name: str, namespace: str = "", options: Any = None) -> Any:
            if what == PODS and unchanged:
                unchanged.clear()
                await world.client.patch(PODS, name, {"metadata": {"annotations": {"a": "b"}}}, NS)
            return await delete(what, name, namespace, options)

        monkeypatch.setattr(client, "delete", delete_late)
        policy = {"rules": [{"succeededCount": 1}]}
        await world.job(
            completions=2, parallelism=2, completionMode="Indexed", successPolicy=policy, **MANAGED
        )
        await world.running(2)
        world.finish(1)
        world.hold_no_more()
        await world.ended()
        assert not unchanged
        events = (await world.client.list(("v1", "Event"), NS)).items
        assert "FailedDelete" not in [event["reason"] for event in events]
        assert ("get", "", "pods") in client.asked
        assert client.asked <= granted(manifests.documents(manifests.WantedInstallation()))

    play(manifests.WantedInstallation(), story)


def test_rights_in_one_namespace_are_enough_for_that_namespace_and_end_there() -> None:
    wanted = manifests.WantedInstallation(only=NS)

    async def story(world: World, client: Noting) -> None:
        await _everything(world, client)
        assert not [obj for obj in manifests.documents(wanted) if obj["kind"].startswith("Cluster")]
        with pytest.raises(StatusError, match="cannot list resource"):
            await client.list(PODS, "default")

    play(wanted, story)


def test_gangs_of_one_namespace_are_looked_after_with_rights_to_read_queues_and_priorities() -> None:
    wanted = manifests.WantedInstallation(controllers=("volcano-job",), only=NS)
    groups = ("scheduling.volcano.sh/v1beta1", "PodGroup")

    async def story(world: World, client: Noting) -> None:
        queue = volcano_manifests.queue("default")
        queues = (queue["apiVersion"], queue["kind"])
        await world.client.create(queues, queue)
        await world.client.patch(queues, "default", {"status": {"state": "Open"}}, subresource="status")
        gang = volcano_manifests.job(name="gang")
        await world.client.create((gang["apiVersion"], gang["kind"]), gang, NS)

        async def has_a_group() -> bool:
            return bool((await world.client.list(groups, NS)).items)

        await world.until(has_a_group, 60)
        in_all = granted([obj for obj in manifests.documents(wanted) if obj["kind"] == "ClusterRole"])
        assert {verb for verb, _, _ in in_all} == {"list", "watch"}
        assert {resource for _, _, resource in in_all} == {"priorityclasses", "queues"}

    play(wanted, story)


@pytest.mark.parametrize("name", sorted(BY_NAMESPACE))
def test_rights_to_what_is_in_no_namespace_are_never_in_a_namespace(name: str) -> None:
    in_none = {row.plural for row in table.RESOURCES if not row.namespaced}
    objects = manifests.documents(manifests.WantedInstallation(controllers=(name,), only=NS))
    inside = granted([obj for obj in objects if obj["kind"] == "Role"])
    assert not {resource.partition("/")[0] for _, _, resource in inside} & in_none


def test_jobs_of_other_managers_are_left_alone() -> None:
    async def story(world: World, client: Noting) -> None:
        await world.job("kubernetes-own")
        await world.job("another", managedBy="example.org/controller")
        await world.job(**MANAGED)
        await world.running(1)
        await world.clock.sleep(60)
        assert len(await world.pods()) == 1
        for name in ("kubernetes-own", "another"):
            job = await world.get(name)
            assert job is not None
            assert not job.get("status")

    play(manifests.WantedInstallation(), story)


@pytest.mark.parametrize(
    "name",
    [
        *("cronjob", "garbage", "job", "namespace", "podgc", "ttl"),
        *("volcano-cronjob", "volcano-gc", "volcano-job", "volcano-jobflow", "volcano-podgroup"),
        "volcano-queue",
    ],
)
def test_every_controller_that_can_run_outside_has_rights(name: str) -> None:
    assert manifests.rules([name])
