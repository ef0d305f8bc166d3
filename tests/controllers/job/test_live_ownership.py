"""Which pods a Job takes, keeps and lets go of, and whose Jobs are left alone."""

from __future__ import annotations

from typing import Any

import pytest

from controllers.job.job_stage import JOBS, NS, PODS, Stage, play
from longshore.api.errors import StatusError
from longshore.client import DeleteOptions
from longshore.controllers.job.spec import FINALIZER


async def owner_of(stage: Stage, name: str) -> tuple[str | None, list[str]]:
    """The controller of a pod and the pod's finalizers."""
    meta = (await stage.client.get(PODS, name, NS))["metadata"]
    owners = [r["name"] for r in meta.get("ownerReferences") or () if r.get("controller")]
    return (owners[0] if owners else None), meta.get("finalizers") or []


def a_pod(name: str, **meta: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, **meta}, "spec": {"containers": [{"name": "main", "image": "i"}]}}


def test_an_orphan_with_matching_labels_is_adopted() -> None:
    async def scene(stage: Stage) -> None:
        await stage.job(completions=2, parallelism=1)
        (pod,) = await stage.until_live(1)
        name = pod["metadata"]["name"]
        uid = pod["metadata"]["ownerReferences"][0]["uid"]
        patch = {
            "metadata": {
                "ownerReferences": [{"$patch": "delete", "uid": uid}],
                "$deleteFromPrimitiveList/finalizers": [FINALIZER],
            }
        }
        await stage.strategic(pod, patch)
        await stage.quiet(1)
        assert await owner_of(stage, name) == ("j", [FINALIZER])
        await stage.end(pod, "Succeeded")
        await stage.until_status(succeeded=1)

    play(scene)


def test_a_pod_made_by_hand_is_adopted_by_a_manual_selector() -> None:
    async def scene(stage: Stage) -> None:
        await stage.client.create(PODS, a_pod("mine", labels={"app": "x"}), NS)
        template = {
            "metadata": {"labels": {"app": "x"}},
            "spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "i"}]},
        }
        selector = {"matchLabels": {"app": "x"}}
        await stage.job(manualSelector=True, selector=selector, template=template)
        await stage.until_status(active=1)
        assert await owner_of(stage, "mine") == ("j", [FINALIZER])
        assert len(await stage.pods()) == 1

    play(scene)


@pytest.mark.parametrize(("label", "told"), [("x", ["j", "k"]), ("y", [])])
def test_two_jobs_whose_selectors_meet_are_warned_of(label: str, told: list[str]) -> None:
    async def scene(stage: Stage) -> None:
        for name, app in (("j", "x"), ("k", label)):
            spec = {"restartPolicy": "Never", "containers": [{"name": "main", "image": "i"}]}
            template = {"metadata": {"labels": {"app": app}}, "spec": spec}
            selector = {"matchLabels": {"app": app}}
            job = {"manualSelector": True, "selector": selector, "template": template}
            await stage.client.create(JOBS, {"metadata": {"name": name}, "spec": job}, NS)
            await stage.quiet(1)
        events = (await stage.client.list(("v1", "Event"), NS)).items
        met = [event for event in events if event["reason"] == "SelectorsMeet"]
        assert sorted(event["involvedObject"]["name"] for event in met) == told

    play(scene)


def test_a_pod_that_lost_its_labels_is_released_and_replaced() -> None:
    async def scene(stage: Stage) -> None:
        await stage.job(completions=2, parallelism=1)
        (pod,) = await stage.until_live(1)
        await stage.strategic(pod, {"metadata": {"labels": {"batch.kubernetes.io/controller-uid": "other"}}})
        await stage.until_live(2)
        assert await owner_of(stage, pod["metadata"]["name"]) == (None, [])
        await stage.until_status(active=1)

    play(scene)


def test_a_counted_pod_that_lost_its_labels_is_released_too() -> None:
    async def scene(stage: Stage) -> None:
        await stage.job(completions=2, parallelism=1)
        (pod,) = await stage.until_live(1)
        await stage.end(pod, "Succeeded")
        await stage.until_status(succeeded=1, uncountedTerminatedPods={})
        await stage.strategic(pod, {"metadata": {"labels": {"batch.kubernetes.io/controller-uid": "other"}}})
        await stage.quiet(1)
        assert await owner_of(stage, pod["metadata"]["name"]) == (None, [])

    play(scene)


@pytest.mark.parametrize("away", [False, True])
def test_pods_of_a_deleted_job_lose_the_finalizer(away: bool) -> None:
    async def scene(stage: Stage) -> None:
        await stage.job(completions=3, parallelism=3)
        one, two, three = await stage.until_live(3)
        await stage.end(one, "Succeeded")
        await stage.until_status(succeeded=1)
        if away:
            await stage.stop()
            await stage.end(two, "Failed")
        await stage.delete_job()
        if away:
            await stage.start()
        await stage.quiet()
        if not away:
            assert not [p for p in await stage.pods() if p["metadata"].get("finalizers")]
        # What the garbage collector does next.
        for pod in (one, two, three):
            await stage.delete_pod(pod, grace=0)
        await stage.quiet()
        assert await stage.pods() == []

    play(scene)


def test_a_job_being_deleted_lets_go_of_all_pods() -> None:
    async def scene(stage: Stage) -> None:
        await stage.job(completions=3, parallelism=2, meta={"finalizers": ["example.org/hold"]})
        await stage.until_live(2)
        await stage.delete_job()
        await stage.quiet()
        pods = await stage.live()
        assert len(pods) == 2
        assert not [p for p in pods if p["metadata"].get("finalizers")]
        await stage.end(pods[0], "Failed")
        await stage.quiet()
        assert len(await stage.pods()) == 2
        assert (await stage.status())["active"] == 1

    play(scene)


@pytest.mark.parametrize(
    ("owner", "kept"),
    [
        (None, False),
        ({"apiVersion": "batch/v1", "kind": "Job", "name": "gone", "controller": True}, False),
        ({"apiVersion": "batch/v1", "kind": "Job", "name": "gone", "controller": False}, False),
        ({"apiVersion": "batch/v1", "kind": "CronJob", "name": "c", "controller": True}, True),
        ({"apiVersion": "batch.example.org/v1", "kind": "Job", "name": "x", "controller": True}, True),
    ],
)
def test_a_finalizer_that_is_nobodys_is_removed(owner: dict[str, Any] | None, kept: bool) -> None:
    async def scene(stage: Stage) -> None:
        meta: dict[str, Any] = {"finalizers": [FINALIZER, "example.org/other"]}
        if owner is not None:
            meta["ownerReferences"] = [{**owner, "uid": "u-1"}]
        await stage.client.create(PODS, a_pod("p", **meta), NS)
        await stage.quiet(1)
        if kept and owner is not None:
            # Only a deletion or a change makes the controller look at pods of strangers.
            await stage.delete_pod({"metadata": {"name": "p"}}, grace=0)
            await stage.quiet(1)
        elif owner is not None and owner["controller"]:
            await stage.delete_pod({"metadata": {"name": "p"}}, grace=0)
            await stage.quiet(1)
        finalizers = (await owner_of(stage, "p"))[1]
        assert (FINALIZER in finalizers) is kept
        assert "example.org/other" in finalizers

    play(scene)


def test_a_pod_of_a_finished_job_loses_the_finalizer() -> None:
    async def scene(stage: Stage) -> None:
        await stage.job()
        (pod,) = await stage.until_live(1)
        await stage.end(pod, "Succeeded")
        await stage.until_condition("Complete")
        await stage.strategic(pod, {"metadata": {"finalizers": [FINALIZER]}})
        await stage.client.patch(JOBS, "j", {"metadata": {"annotations": {"a": "b"}}}, NS)
        await stage.quiet(1)
        assert await owner_of(stage, pod["metadata"]["name"]) == ("j", [])

    play(scene)


def test_a_pod_that_is_seen_when_its_job_has_ended_loses_the_finalizer() -> None:
    async def scene(stage: Stage) -> None:
        job = await stage.job()
        (pod,) = await stage.until_live(1)
        await stage.end(pod, "Succeeded")
        await stage.until_condition("Complete")
        late = a_pod(
            "late",
            finalizers=[FINALIZER],
            labels=job["spec"]["template"]["metadata"]["labels"],
            ownerReferences=pod["metadata"]["ownerReferences"],
        )
        await stage.client.create(PODS, late, NS)
        await stage.quiet(1)
        assert await owner_of(stage, "late") == ("j", [])
        await stage.strategic(pod, {"metadata": {"finalizers": [FINALIZER]}})
        await stage.quiet(1)
        assert await owner_of(stage, pod["metadata"]["name"]) == ("j", [])

    play(scene)


class TestManagedBy:
    def test_a_job_of_another_controller_is_left_alone(self) -> None:
        async def scene(stage: Stage) -> None:
            job = await stage.job(managedBy="example.org/theirs")
            await stage.client.create(
                PODS,
                a_pod(
                    "p",
                    finalizers=[FINALIZER],
                    labels=job["spec"]["template"]["metadata"]["labels"],
                    ownerReferences=[
                        {
                            "apiVersion": "batch/v1",
                            "kind": "Job",
                            "name": "j",
                            "uid": job["metadata"]["uid"],
                            "controller": True,
                        }
                    ],
                ),
                NS,
            )
            await stage.quiet()
            await stage.delete_pod({"metadata": {"name": "p"}}, grace=0)
            await stage.quiet()
            assert await stage.status() == {}
            assert await owner_of(stage, "p") == ("j", [FINALIZER])
            counted = stage.registry.counter("job_controller_jobs_by_external_controller_total", "")
            assert counted.value("example.org/theirs") == 1

        play(scene)

    def test_a_job_recreated_for_another_controller_is_left_alone(self) -> None:
        async def scene(stage: Stage) -> None:
            await stage.job()
            await stage.delete_job()
            await stage.job(managedBy="example.org/theirs")
            await stage.quiet()
            assert await stage.status() == {}
            assert await stage.live() == []

        play(scene)

    def test_the_reserved_name_is_its_own(self) -> None:
        async def scene(stage: Stage) -> None:
            await stage.job(managedBy="kubernetes.io/job-controller")
            await stage.until_live(1)

        play(scene)

    def test_an_outside_controller_takes_its_own_jobs_only(self) -> None:
        async def scene(stage: Stage) -> None:
            stage.managed_by = "longshore.dev/job-controller"
            await stage.start()
            await stage.job("theirs")
            await stage.job("reserved", managedBy="kubernetes.io/job-controller")
            await stage.job("ours", managedBy="longshore.dev/job-controller")
            (pod,) = await stage.until_live(1)
            await stage.quiet()
            assert pod["metadata"]["labels"]["job-name"] == "ours"
            assert await stage.status("theirs") == {}
            assert len(await stage.pods()) == 1

        play(scene, controller=False)


def test_a_pod_is_never_taken_by_a_job_that_is_going() -> None:
    async def scene(stage: Stage) -> None:
        await stage.job(completions=2, parallelism=0, meta={"finalizers": ["example.org/hold"]})
        job = await stage.client.get(JOBS, "j", NS)
        await stage.client.delete(JOBS, "j", NS, DeleteOptions(propagation="Background"))
        labels = job["spec"]["template"]["metadata"]["labels"]
        await stage.client.create(PODS, a_pod("p", labels=labels), NS)
        await stage.quiet()
        assert await owner_of(stage, "p") == (None, [])

    play(scene)


def test_a_job_with_an_unknown_mode_cannot_even_be_made() -> None:
    async def scene(stage: Stage) -> None:
        with pytest.raises(StatusError):
            await stage.job(completionMode="Sideways")

    play(scene)
