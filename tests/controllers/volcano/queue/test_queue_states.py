"""Queues that open and close, alone and with their relatives."""

from __future__ import annotations

import asyncio

import pytest

from longshore.api.types import Obj
from longshore.client import What
from longshore.controllers.volcano import queue
from longshore.controllers.volcano.queue import decide as deciding
from longshore.machinery.controller_context import ControllerContext
from longshore.testing.injected_faults import Fault, Faults, StruckClient
from support.volcano_scene import COMMANDS, POD_GROUPS, QUEUES, Scene, play

MARK = deciding.MARK


async def command(scene: Scene, queue: str, action: str) -> None:
    target = {"apiVersion": QUEUES[0], "kind": "Queue", "name": queue, "uid": "u"}
    body: Obj = {"metadata": {"generateName": f"{queue}-"}, "action": action, "target": target}
    await scene.client.create(COMMANDS, body, "default")


async def state(scene: Scene, name: str) -> str:
    queue = await scene.client.get(QUEUES, name)
    found: str = (queue.get("status") or {}).get("state", "")
    return found


async def mark(scene: Scene, name: str) -> str | None:
    queue = await scene.client.get(QUEUES, name)
    found: str | None = (queue["metadata"].get("annotations") or {}).get(MARK)
    return found


async def group(scene: Scene, queue: str) -> None:
    body: Obj = {"metadata": {"name": "g"}, "spec": {"minMember": 1, "queue": queue}}
    await scene.client.create(POD_GROUPS, body, "default")


def test_a_new_queue_opens_below_root() -> None:
    async def script(scene: Scene) -> None:
        await scene.queue("q")
        await scene.settle()
        queue = await scene.client.get(QUEUES, "q")
        assert (queue["status"], queue["spec"]["parent"]) == ({"state": "Open"}, "root")
        assert "parent" not in (await scene.client.get(QUEUES, "root"))["spec"]

    play(script, queue.run)


def test_an_empty_queue_closes_at_once_and_opens_again_by_command() -> None:
    async def script(scene: Scene) -> None:
        await scene.queue("q")
        await scene.settle()
        await command(scene, "q", "CloseQueue")
        await scene.settle()
        assert (await state(scene, "q"), await mark(scene, "q")) == ("Closed", None)
        await command(scene, "q", "OpenQueue")
        await scene.settle()
        assert (await state(scene, "q"), await mark(scene, "q")) == ("Open", "false")
        assert not (await scene.client.list(COMMANDS)).items
        said = await scene.events()
        assert ("Normal", "CloseQueue", "Close queue succeed") in said
        assert ("Normal", "OpenQueue", "Open queue succeed") in said
        assert (
            "Normal",
            "CommandIssued",
            "Start to execute command CloseQueue, and clean it up to make sure executed not more than once.",
        ) in said

    play(script, queue.run)


@pytest.mark.parametrize("kept_whole", [(), (POD_GROUPS,)])
def test_a_queue_with_a_pod_group_closes_when_the_last_one_is_gone(kept_whole: tuple[What, ...]) -> None:
    async def script(scene: Scene) -> None:
        await scene.queue("q")
        await scene.settle()
        await group(scene, "q")
        await scene.client.patch(POD_GROUPS, "g", {"status": {"phase": "Completed"}}, "default")
        await scene.settle()
        gauge = scene.registry.gauge("volcano_queue_pod_group_completed_count", "", ("queue_name",))
        assert gauge.value("q") == 1
        await command(scene, "q", "CloseQueue")
        await scene.settle()
        assert await state(scene, "q") == "Closing"
        await scene.client.delete(POD_GROUPS, "g", "default")
        await scene.settle()
        assert await state(scene, "q") == "Closed"
        assert gauge.value("q") == 0

    play(script, queue.run, kept_whole=kept_whole)


def test_other_parts_of_the_status_are_left_alone() -> None:
    async def script(scene: Scene) -> None:
        await scene.queue("q")
        await scene.settle()
        more = {"status": {"allocated": {"cpu": "1"}}}
        await scene.client.patch(QUEUES, "q", more, subresource="status")
        await command(scene, "q", "CloseQueue")
        await scene.settle()
        queue = await scene.client.get(QUEUES, "q")
        assert queue["status"] == {"state": "Closed", "allocated": {"cpu": "1"}}

    play(script, queue.run)


def test_children_close_and_open_with_their_parent_but_not_those_closed_by_hand() -> None:
    async def script(scene: Scene) -> None:
        await scene.queue("p")
        await scene.queue("a", parent="p")
        await scene.queue("b", parent="p")
        await scene.queue("deep", parent="a")
        await scene.settle()
        await command(scene, "b", "CloseQueue")
        await scene.settle()
        await command(scene, "p", "CloseQueue")
        await scene.settle()
        assert [await state(scene, name) for name in ("p", "a", "b", "deep")] == ["Closed"] * 4
        assert [await mark(scene, name) for name in ("p", "a", "b", "deep")] == [None, "true", None, "true"]
        await command(scene, "p", "OpenQueue")
        await scene.settle()
        states = [await state(scene, name) for name in ("p", "a", "b", "deep")]
        assert states == ["Open", "Open", "Closed", "Open"]
        assert [await mark(scene, name) for name in ("a", "deep")] == ["false", "false"]

    play(script, queue.run)


def test_a_child_cannot_open_before_its_parent_and_gives_up_after_a_while() -> None:
    async def script(scene: Scene) -> None:
        await scene.queue("p")
        await scene.queue("c", parent="p")
        await scene.settle()
        await command(scene, "p", "CloseQueue")
        await scene.settle()
        await command(scene, "c", "OpenQueue")
        await scene.settle(600)
        assert await state(scene, "c") == "Closed"
        assert (
            "Warning",
            "OpenQueue",
            "OpenQueue queue failed for Failed to open queue c because its parent queue p is closing or "
            "closed. Open the parent queue first.",
        ) in await scene.events()

    play(script, queue.run)


def test_a_queue_follows_the_parent_it_moves_to() -> None:
    async def script(scene: Scene) -> None:
        await scene.queue("shut")
        await scene.queue("q")
        await scene.settle()
        await command(scene, "shut", "CloseQueue")
        await scene.settle()
        await scene.client.patch(QUEUES, "q", {"spec": {"parent": "shut"}})
        await scene.settle()
        assert (await state(scene, "q"), await mark(scene, "q")) == ("Closed", "true")
        await scene.client.patch(QUEUES, "q", {"spec": {"parent": "root"}})
        await scene.settle()
        assert await state(scene, "q") == "Open"

    play(script, queue.run)


def test_root_is_never_closed_and_unknown_commands_change_nothing() -> None:
    async def script(scene: Scene) -> None:
        await command(scene, "root", "CloseQueue")
        await command(scene, "default", "Sing")
        await scene.settle()
        assert [await state(scene, name) for name in ("root", "default")] == ["Open", "Open"]

    play(script, queue.run)


def test_a_controller_that_starts_later_finishes_what_was_begun() -> None:
    async def script(scene: Scene) -> None:
        await scene.queue("q")
        await scene.client.patch(QUEUES, "q", {"status": {"state": "Closing"}}, subresource="status")
        running = queue.run(ControllerContext(scene.client, clock=scene.clock, rng=scene.clock.rng))
        task = asyncio.create_task(running)
        await scene.settle()
        task.cancel()
        assert await state(scene, "q") == "Closed"

    play(script)


def test_a_queue_closes_though_its_last_pod_group_went_before_it_was_seen_closing() -> None:
    async def script(scene: Scene) -> None:
        faults = Faults(scene.clock)
        client = StruckClient(scene.client, scene.clock, faults)
        task = asyncio.create_task(queue.run(scene.context(client)))
        await scene.queue("q")
        await scene.settle()
        await group(scene, "q")
        await scene.settle()
        faults.add(Fault("* queues/status", "controllers", None, delay=1.0, times=1))
        await command(scene, "q", "CloseQueue")
        await scene.settle()
        await scene.client.delete(POD_GROUPS, "g", "default")
        await scene.settle(60)
        task.cancel()
        assert await state(scene, "q") == "Closed"

    play(script)


def a_queue(name: str, state: str, parent: str = "root", mark: str = "") -> Obj:
    meta: Obj = {"name": name, "annotations": {MARK: mark} if mark else {}}
    return {"metadata": meta, "spec": {"parent": parent}, "status": {"state": state}}


def test_a_plan_says_why_with_numbers() -> None:
    view = deciding.QueueView(a_queue("q", "Open"), None, [a_queue("c", "Open", "q")], groups=3)
    (why,) = deciding.decide(view, deciding.CLOSE).why
    assert str(why) == "it is asked to close, and does when its 3 pod groups are gone"
    assert (why.code, why.numbers) == ("AskedToClose", {"children": 1, "podGroups": 3})


def test_a_queue_below_one_that_is_shut_cannot_open_and_writes_nothing() -> None:
    view = deciding.QueueView(a_queue("q", "Closed", "p"), a_queue("p", "Closing"), [], groups=0)
    plan = deciding.decide(view, deciding.OPEN)
    assert not plan.acts
    assert plan.is_refused
    assert plan.why[0].event.message == (
        "Failed to open queue q because its parent queue p is closing or closed. Open the parent queue first."
    )
    assert [reason.code for reason in plan.why] == ["ParentShut"]


def test_the_reasons_of_a_queue_are_remembered() -> None:
    async def script(scene: Scene) -> None:
        await scene.queue("q")
        await scene.settle()
        await command(scene, "q", "CloseQueue")
        await scene.settle()
        told = [str(why) for each in scene.explained["volcano-queue"].of("", "q") for why in each.why]
        assert told[:2] == ["is Open now", "has no parent: root becomes it"]
        assert told[-1] == "it is asked to close"

    play(script, queue.run)
