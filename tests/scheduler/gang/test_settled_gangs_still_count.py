"""Gangs that a cycle does not look at any more: what they have counts, and a change brings them back."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from longshore.scheduler.fitting.pod_shape import Shapes
from longshore.scheduler.gang.cycle import Member, SeenGroup
from longshore.scheduler.gang.model.group import Group
from longshore.scheduler.gang.model.sums import Sums
from longshore.scheduler.gang.model.task import BOUND, FAILED, RUNNING, SUCCEEDED
from longshore.scheduler.gang.settled import Settled
from support.scheduling_scene import QUEUES, Scene, play, pod

SHAPES = Shapes()
STATUSES = (BOUND, RUNNING, SUCCEEDED, FAILED)
PHASES = ("Inqueue", "Running", "Completed", "Unknown")


def group(name: str, queue: str, phase: str, members: list[tuple[str, str]]) -> Group:
    """With members by what they ask and how they are."""
    tasks = []
    for number, (cpu, status) in enumerate(members):
        made = pod(f"{name}-{number}", {"cpu": cpu})
        made["metadata"] |= {"uid": f"{name}-{number}", "creationTimestamp": "2026-01-01T00:00:00Z"}
        tasks.append(Member(SHAPES.pod(made), status, "n1"))
    meta = {"name": name, "namespace": "default", "uid": name, "creationTimestamp": "2026-01-01T00:00:00Z"}
    spec = {"queue": queue, "minMember": 2, "minResources": {"cpu": "2", "pods": "2"}}
    return Group(SeenGroup({"metadata": meta, "spec": spec}, {"phase": phase}, tuple(tasks), 0))


members = st.lists(st.tuples(st.sampled_from(("1", "500m")), st.sampled_from(STATUSES)), max_size=3)
steps = st.lists(st.tuples(st.integers(0, 3), st.sampled_from("ab"), st.sampled_from(PHASES), members))


@given(steps, st.sets(st.integers(0, 3)))
def test_what_is_kept_and_dropped_again_leaves_the_sums_of_the_others(
    kept: list[tuple[int, str, str, list[tuple[str, str]]]], gone: set[int]
) -> None:
    settled, there = Settled(), dict[int, Group]()
    for number, queue, phase, parts in kept:
        there[number] = group(f"g{number}", queue, phase, parts)
        settled.keep(there[number], {"phase": phase})
    for number in gone:
        settled.drop(("default", f"g{number}"))
        there.pop(number, None)
    wanted: dict[str, Sums] = {}
    for each in there.values():
        wanted.setdefault(each.queue, Sums()).add(each)
    assert settled.sums == wanted


def test_a_gang_without_a_spec_is_known_again() -> None:
    settled, kept = Settled(), group("g", "default", "Running", [])
    del kept.obj["spec"]
    settled.keep(kept, {"phase": "Running"})
    seen = {**kept.obj, "status": {"phase": "Running"}}
    assert settled.is_like(seen)
    assert not settled.is_like({**seen, "spec": {"minMember": 1}})


def test_room_of_a_running_gang_is_given_to_nobody_else_and_free_when_it_ends() -> None:
    async def story(scene: Scene) -> None:
        await scene.node(give={"cpu": "2"})
        await scene.gang("first", 2, 2, {"cpu": "1"})
        await scene.settle(5)
        assert await scene.phase("first") == "Running"
        await scene.gang("second", 1, 1, {"cpu": "1"})
        await scene.settle(3)
        assert await scene.phase("second") == "Pending"
        allocated = (await scene.client.get(QUEUES, "default"))["status"]["allocated"]
        assert allocated == {"cpu": "2", "memory": "0", "pods": "2"}
        for name in await scene.bound("first"):
            await scene.finish(name)
        await scene.settle(0.1)
        assert await scene.phase("second") == "Inqueue"
        await scene.settle(2)
        assert await scene.bound("second")
        assert await scene.phase("first") == "Completed"

    play(story)


def test_a_gang_that_lost_a_member_long_after_its_start_is_told_so() -> None:
    async def story(scene: Scene) -> None:
        await scene.node(give={"cpu": "8"})
        await scene.gang("g", 2, 2, {"cpu": "1"})
        await scene.settle(5)
        assert await scene.phase("g") == "Running"
        await scene.delete((await scene.bound("g"))[0])
        await scene.settle(5)
        assert await scene.phase("g") != "Running"

    play(story)
