"""JobFlows at work: Jobs one after the other, and a status that tells of them."""

from __future__ import annotations

import pytest

from controllers.volcano.flow.flows import FLOWS, JOBS, TEMPLATES, flow, jobs, move, template
from longshore.api.facts import kinds
from longshore.api.types import Obj
from longshore.controllers.volcano import flow as controller
from longshore.controllers.volcano.flow.decide import BY_FLOW, BY_TEMPLATE
from longshore.machinery.reasons import Reason
from support.volcano_manifests import task
from support.volcano_scene import Scene, play

CHAIN: dict[str, list[str]] = {"a": [], "b": ["a"], "c": ["a", "b"]}


async def status(scene: Scene) -> Obj:
    found: Obj = (await scene.client.get(FLOWS, "f", "default"))["status"]
    return found


async def phase(scene: Scene) -> str:
    found: str = (await status(scene))["state"]["phase"]
    return found


async def advance(scene: Scene, name: str, *phases: str) -> None:
    await move(scene.client, scene.clock, name, *phases)
    await scene.settle()


def test_a_job_starts_when_all_its_targets_have_completed() -> None:
    async def script(scene: Scene) -> None:
        await template(scene.client, "a", "b", "c")
        await flow(scene.client, CHAIN)
        await scene.settle()
        assert (await jobs(scene.client), await phase(scene)) == (["f-a"], "Pending")
        await advance(scene, "f-a", "Pending", "Running")
        assert await phase(scene) == "Running"
        await advance(scene, "f-a", "Completed")
        assert await jobs(scene.client) == ["f-a", "f-b"]
        await advance(scene, "f-b", "Pending", "Running", "Completed")
        await advance(scene, "f-c", "Pending", "Running", "Completed")
        assert await phase(scene) == "Succeed"
        assert (await status(scene))["completedJobs"] == ["f-a", "f-b", "f-c"]
        assert [event for event in await scene.events() if event[1] == "Created"] == [
            ("Normal", "Created", f"create a job named f-{name}!") for name in "abc"
        ]
        assert (
            b'volcano_jobflow_succeed_phase_count{jobflow_namespace="default"} 1.0' in scene.registry.text()
        )

    play(script, controller.run)


def test_a_job_carries_its_flow_and_template() -> None:
    async def script(scene: Scene) -> None:
        await template(scene.client, "a")
        await flow(scene.client, {"a": []})
        await scene.settle()
        meta = (await scene.client.get(JOBS, "f-a", "default"))["metadata"]
        marks = {"volcano.sh/createdByJobTemplate": "default.a", "volcano.sh/createdByJobFlow": "default.f"}
        assert (meta["labels"], meta["annotations"]) == (marks, marks)
        assert (meta["ownerReferences"][0]["kind"], meta["ownerReferences"][0]["controller"]) == (
            "JobFlow",
            True,
        )
        listed = await scene.client.get(TEMPLATES, "a", "default")
        assert listed["status"] == {"jobDependsOnList": ["f-a"]}

    play(script, controller.run)


def test_the_status_tells_how_each_job_got_where_it_is_even_if_it_was_quick() -> None:
    async def script(scene: Scene) -> None:
        await template(scene.client, "a")
        await flow(scene.client, {"a": []})
        await scene.settle()
        created = (await scene.client.get(JOBS, "f-a", "default"))["metadata"]["creationTimestamp"]
        await advance(scene, "f-a", "Pending", "Running")
        await scene.settle(30)
        await advance(scene, "f-a", "Completed")
        (listed,) = (await status(scene))["jobStatusList"]
        assert (listed["state"], listed["startTimestamp"]) == ("Completed", created)
        assert listed["endTimestamp"] > created
        runs = [(run["state"], "endTimestamp" in run) for run in listed["runningHistories"]]
        assert runs == [("Pending", True), ("Running", True), ("Completed", False)]
        condition = (await status(scene))["conditions"]["f-a"]
        assert condition == {"createTime": created, "phase": "Completed", "runningDuration": "1m5.5s"}

    play(script, controller.run)


@pytest.mark.parametrize("end", ["Failed", "Terminated"])
def test_a_flow_fails_with_its_first_job_and_stays_so(end: str) -> None:
    async def script(scene: Scene) -> None:
        await template(scene.client, "a", "b", "c")
        await flow(scene.client, CHAIN)
        await scene.settle()
        await advance(scene, "f-a", "Pending", "Running")
        await advance(scene, "f-a", end)
        assert await phase(scene) == "Failed"
        await advance(scene, "f-a", "Completed")
        assert (await phase(scene), await jobs(scene.client)) == ("Failed", ["f-a"])

    play(script, controller.run)


def test_jobs_in_odd_phases_are_unknown_and_those_on_their_way_out_unlisted() -> None:
    async def script(scene: Scene) -> None:
        await template(scene.client, "a", "b")
        await flow(scene.client, {"a": [], "b": []})
        await scene.settle()
        await advance(scene, "f-a", "Pending", "Running", "Aborted")
        await advance(scene, "f-b", "Pending", "Running", "Completing")
        found = await status(scene)
        lists = {key: value for key, value in found.items() if key.endswith("Jobs")}
        assert lists == {"unKnowJobs": ["f-a"]}

    play(script, controller.run)


def test_a_flow_that_keeps_no_jobs_deletes_them_once_it_has_succeeded() -> None:
    async def script(scene: Scene) -> None:
        await template(scene.client, "a")
        await flow(scene.client, {"a": []}, "delete")
        await scene.settle()
        await advance(scene, "f-a", "Pending", "Running", "Completed")
        assert (await jobs(scene.client), await phase(scene)) == ([], "Succeed")

    play(script, controller.run)


def test_jobs_of_other_namespaces_are_no_part_of_a_flow_or_template_whatever_they_say() -> None:
    async def script(scene: Scene) -> None:
        await scene.client.create(kinds.NAMESPACES, {"metadata": {"name": "elsewhere"}})
        await template(scene.client, "a")
        await flow(scene.client, {"a": []}, "delete")
        await scene.settle()
        bystander: Obj = {"metadata": {"name": "bystander"}, "spec": {"tasks": [task()]}}
        await scene.client.create(JOBS, bystander, "default")
        marks = {BY_FLOW: "default.f", BY_TEMPLATE: "default.a"}
        liar = {**bystander, "metadata": {"name": "bystander", "labels": marks}}
        await scene.client.create(JOBS, liar, "elsewhere")
        failed = {"status": {"state": {"phase": "Failed"}}}
        await scene.client.patch(JOBS, "bystander", failed, "elsewhere", subresource="status")
        await scene.settle()
        listed = await scene.client.get(TEMPLATES, "a", "default")
        assert (await phase(scene), listed["status"]["jobDependsOnList"]) == ("Pending", ["f-a"])
        await advance(scene, "f-a", "Pending", "Running", "Completed")
        assert await phase(scene) == "Succeed"
        left = {(job["metadata"]["namespace"], job["metadata"]["name"]) for job in await every_job(scene)}
        assert left == {("default", "bystander"), ("elsewhere", "bystander")}

    play(script, controller.run)


async def every_job(scene: Scene) -> list[Obj]:
    return (await scene.client.list(JOBS)).items


def test_a_job_that_is_deleted_on_the_way_is_made_again_but_not_after_the_end() -> None:
    async def script(scene: Scene) -> None:
        await template(scene.client, "a", "b")
        await flow(scene.client, {"a": [], "b": ["a"]})
        await scene.settle()
        await scene.client.delete(JOBS, "f-a", "default")
        await scene.settle()
        assert await jobs(scene.client) == ["f-a"]
        await advance(scene, "f-a", "Pending", "Running", "Completed")
        await advance(scene, "f-b", "Pending", "Running", "Completed")
        await scene.client.delete(JOBS, "f-a", "default")
        await scene.settle()
        assert (await jobs(scene.client), await phase(scene)) == (["f-b"], "Succeed")

    play(script, controller.run)


def test_a_flow_waits_for_its_template_and_says_so() -> None:
    async def script(scene: Scene) -> None:
        await flow(scene.client, {"a": []})
        await scene.settle(3600)
        said = [event for event in await scene.events() if event[0] == "Warning"]
        assert "status" not in await scene.client.get(kinds.JOB_FLOWS, "f", "default")
        assert said == [
            ("Warning", "SyncJobFlow",
             'SyncJobFlow JobFlow failed for getting JobTemplate "a" in ns "default": not found'),
        ]  # fmt: skip
        await template(scene.client, "a")
        await scene.settle()
        assert await jobs(scene.client) == ["f-a"]

    play(script, controller.run)


def test_entries_before_a_missing_template_are_started_and_those_after_it_wait() -> None:
    async def script(scene: Scene) -> None:
        for name in ("a", "c"):
            await template(scene.client, name)
        await flow(scene.client, {"a": [], "b": [], "c": []})
        await scene.settle()
        assert await jobs(scene.client) == ["f-a"]
        assert "status" not in await scene.client.get(kinds.JOB_FLOWS, "f", "default")
        await template(scene.client, "b")
        await scene.settle()
        assert await jobs(scene.client) == ["f-a", "f-b", "f-c"]
        assert "status" in await scene.client.get(kinds.JOB_FLOWS, "f", "default")

    play(script, controller.run)


def test_the_reasons_of_a_flow_are_remembered_with_what_is_in_its_way() -> None:
    async def script(scene: Scene) -> None:
        await template(scene.client, "a")
        await flow(scene.client, {"a": [], "z": []})
        await scene.settle()
        first, *_, last = scene.explained["volcano-jobflow"].of("default", "f")
        assert [(why.code, str(why)) for why in first.why if isinstance(why, Reason)] == [
            ("JobsDue", "starts f-a"),
            ("TemplateMissing", "needs JobTemplate z, which is not there"),
        ]
        assert last.problem == 'getting JobTemplate "z" in ns "default": not found'

    play(script, controller.run)
