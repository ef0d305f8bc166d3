"""A pod for which there is a node at once is stored with it: one write less, and nothing else differs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from longshore.api.types import Obj
from longshore.machinery.time import virtual
from longshore.machinery.time.virtual import VirtualClock
from longshore.plane.plane import Plane
from longshore.store.errors import WriteFailed
from longshore.testing.world import World

PODS, NODES, EVENTS = ("v1", "Pod"), ("v1", "Node"), ("v1", "Event")
Story = Callable[[Plane, VirtualClock], Awaitable[None]]


def told(story: Story, *, shortcuts: bool = True, cpus: str = "2") -> None:
    """A plane with a scheduler and one node of so many processors that nobody runs."""

    async def play(clock: VirtualClock) -> None:
        plane = World(clock, controllers=(), shortcuts=shortcuts).plane
        await plane.prepare()
        async with plane.running():
            room = {"cpu": cpus, "memory": "4Gi", "pods": "10"}
            node = {"metadata": {"name": "n"}, "status": {"capacity": room, "allocatable": room}}
            await plane.client.create(NODES, node)
            await plane.client.patch(NODES, "n", {"spec": {"taints": None}})  # of a node that is not ready
            await clock.sleep(1)
            await story(plane, clock)

    virtual.run(play)


def a_pod(name: str, cpu: str = "1", **spec: Any) -> Obj:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}
    return {"metadata": {"name": name}, "spec": {"containers": [container], **spec}}


async def create(plane: Plane, pod: Obj) -> str:
    """The node in the answer."""
    made = await plane.client.create(PODS, pod, "default")
    node: str = made["spec"].get("nodeName", "")
    return node


async def node_of(plane: Plane, name: str) -> str:
    node: str = (await plane.client.get(PODS, name, "default"))["spec"].get("nodeName", "")
    return node


def test_the_answer_to_the_create_names_the_node_and_the_event_follows() -> None:
    async def story(plane: Plane, clock: VirtualClock) -> None:
        before = plane.api.store.revision
        made = await plane.client.create(PODS, a_pod("p"), "default")
        assert plane.api.store.revision == before + 1
        assert made["spec"]["nodeName"] == "n"
        (condition,) = made["status"]["conditions"]
        assert (condition["type"], condition["status"]) == ("PodScheduled", "True")
        await clock.sleep(2)
        (event,) = (await plane.client.list(EVENTS, "default")).items
        assert (event["reason"], event["message"]) == ("Scheduled", "Successfully assigned default/p to n")
        assert event["involvedObject"]["resourceVersion"] == made["metadata"]["resourceVersion"]

    told(story)


def test_a_pod_has_the_same_content_as_one_that_was_bound_later() -> None:
    found: list[Obj] = []

    async def story(plane: Plane, clock: VirtualClock) -> None:
        for name in ("p", "q"):  # the second is created from what was learned of the first
            await create(plane, a_pod(name))
            await clock.sleep(1)
            pod = await plane.client.get(PODS, name, "default")
            meta = {k: v for k, v in pod["metadata"].items() if k not in ("uid", "resourceVersion")}
            found.append({**pod, "metadata": meta})

    told(story)
    told(story, shortcuts=False)
    assert found[:2] == found[2:]


def test_without_shortcuts_pods_are_bound_after_they_were_stored() -> None:
    async def story(plane: Plane, clock: VirtualClock) -> None:
        assert await create(plane, a_pod("p")) == ""
        await clock.sleep(1)
        assert await node_of(plane, "p") == "n"

    told(story, shortcuts=False)


def test_pods_of_one_moment_never_get_more_than_there_is() -> None:
    async def story(plane: Plane, clock: VirtualClock) -> None:
        nodes = [await create(plane, a_pod(f"p{n}")) for n in range(4)]
        assert nodes == ["n", "n", "", ""]
        await clock.sleep(1)
        assert await node_of(plane, "p2") == ""

    told(story)


def test_nobody_is_overtaken_by_a_pod_that_asks_for_the_same() -> None:
    async def story(plane: Plane, clock: VirtualClock) -> None:
        assert await create(plane, a_pod("first", "2")) == "n"
        assert await create(plane, a_pod("second", "2")) == ""
        await clock.sleep(1)
        ended = {"status": {"phase": "Succeeded"}}
        await plane.client.patch(PODS, "first", ended, "default", subresource="status")
        assert await create(plane, a_pod("third", "2")) == ""
        await clock.sleep(1)
        assert [await node_of(plane, name) for name in ("second", "third")] == ["n", ""]

    told(story)


def test_gates_other_schedulers_and_chosen_nodes_are_respected() -> None:
    async def story(plane: Plane, clock: VirtualClock) -> None:
        gates = [{"name": "example.com/later"}]
        assert await create(plane, a_pod("gated", schedulingGates=gates)) == ""
        assert await create(plane, a_pod("foreign", schedulerName="somebody")) == ""
        assert await create(plane, a_pod("chosen", nodeName="elsewhere")) == "elsewhere"
        assert await create(plane, a_pod("picky", nodeSelector={"disk": "ssd"})) == ""

    told(story)


def test_the_room_of_a_pod_that_could_not_be_stored_is_given_back() -> None:
    async def story(plane: Plane, clock: VirtualClock) -> None:
        placed_pods = plane.api.placed_pods
        assert placed_pods is not None
        placer = placed_pods.placer
        lost = {**a_pod("lost", "2", schedulerName="default-scheduler"), "status": {}}
        lost["metadata"] |= {"namespace": "default", "uid": "u"}
        assert placer.place(lost) == "n"
        assert await create(plane, a_pod("p", "2")) == ""
        placer.stored(lost, WriteFailed("the disk is full"))
        await clock.sleep(1)
        assert await node_of(plane, "p") == "n"

    told(story)
