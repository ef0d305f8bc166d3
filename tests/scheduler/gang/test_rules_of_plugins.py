"""Plugins beyond the usual ones: nodegroup, tdm, pdb, resourcequota, task-topology, resource-strategy-fit."""

from __future__ import annotations

from typing import Any

import pytest

from longshore.scheduler.gang.conf.scheduler_conf import BadConf
from longshore.scheduler.gang.settings import DEFAULT_ACTIONS
from support.scheduler_settings import FIRST, SECOND, settings, swapped
from support.scheduling_scene import PODGROUPS, Scene, play

BUDGETS = ("policy/v1", "PodDisruptionBudget")
QUOTAS = ("v1", "ResourceQuota")
GROUP = "volcano.sh/nodegroup-name"
ZONE = "volcano.sh/revocable-zone"
NOBODY_REMOVED = ", ".join(DEFAULT_ACTIONS)


def with_plugin(*plugins: Any, actions: str = NOBODY_REMOVED) -> dict[str, Any]:
    return {"gangs": settings(FIRST, (*SECOND, *plugins), actions=actions)}


# ---- nodegroup


def affinity(kind: str, how: str, *groups: str) -> dict[str, Any]:
    return {"affinity": {kind: {f"{how}DuringSchedulingIgnoredDuringExecution": [*groups]}}}


def test_gangs_of_a_queue_go_to_the_group_of_nodes_it_requires() -> None:
    async def story(scene: Scene) -> None:
        await scene.node("plain", give={"cpu": "8"})
        await scene.node("gpu", give={"cpu": "1"}, labels={GROUP: "gpu"})
        await scene.queue("q", **affinity("nodeGroupAffinity", "required", "gpu"))
        await scene.gang("g", 1, 2, {"cpu": "1"}, queue="q")
        await scene.settle(2)
        assert [await scene.node_of(name) for name in await scene.bound("g")] == ["gpu"]

    play(story, **with_plugin("nodegroup"))


def test_gangs_of_a_queue_stay_off_the_group_it_must_avoid() -> None:
    async def story(scene: Scene) -> None:
        await scene.node("gpu", give={"cpu": "8"}, labels={GROUP: "gpu"})
        await scene.queue("q", **affinity("nodeGroupAntiAffinity", "required", "gpu"))
        await scene.gang("g", 1, 1, {"cpu": "1"}, queue="q")
        await scene.settle(2)
        assert await scene.bound("g") == []
        told = (await scene.condition("g-0"))["message"]
        assert "1 node(s) didn't match the queue's node group anti-affinity" in told

    play(story, **with_plugin("nodegroup"))


@pytest.mark.parametrize(
    ("kind", "node"), [("nodeGroupAffinity", "marked"), ("nodeGroupAntiAffinity", "plain")]
)
def test_a_preference_for_a_group_decides_between_nodes(kind: str, node: str) -> None:
    async def story(scene: Scene) -> None:
        await scene.node("plain", give={"cpu": "4"})
        await scene.node("marked", give={"cpu": "4"}, labels={GROUP: "m"})
        await scene.queue("q", **affinity(kind, "preferred", "m"))
        await scene.gang("g", 1, 1, {"cpu": "1"}, queue="q")
        await scene.settle(2)
        assert await scene.node_of("g-0") == node

    play(story, **with_plugin("nodegroup"))


def test_without_the_plugin_groups_of_nodes_mean_nothing() -> None:
    async def story(scene: Scene) -> None:
        await scene.node("plain", give={"cpu": "2"})
        await scene.queue("q", **affinity("nodeGroupAffinity", "required", "gpu"))
        await scene.gang("g", 1, 1, {"cpu": "1"}, queue="q")
        await scene.settle(2)
        assert await scene.bound("g") == ["g-0"]

    play(story, **with_plugin())


# ---- tdm


def zone(hours: str, **more: Any) -> dict[str, Any]:
    return {"name": "tdm", "arguments": {"tdm.revocable-zone.rz": hours, **more}}


GUEST = {"annotations": {ZONE: "*", "scheduling.k8s.io/group-name": "g", "volcano.sh/task-spec": "w"}}


async def guest(scene: Scene, count: int = 1, **notes: str) -> None:
    """A gang whose pods may be in a revocable zone."""
    meta = {"name": "g", "annotations": notes}
    await scene.client.create(
        PODGROUPS, {"metadata": meta, "spec": {"minMember": 1, "minResources": {}}}, "default"
    )
    for number in range(count):
        meta = {**GUEST, "labels": {"volcano.sh/task-index": str(number)}}
        await scene.pod(f"g-{number}", {"cpu": "1"}, schedulerName="volcano", meta=meta)


def hours_around(scene: Scene, begin: int, end: int) -> str:
    hour = scene.clock.now().hour
    return f"{(hour + begin) % 24:02}:00-{(hour + end) % 24:02}:00"


def test_while_its_hours_last_a_node_takes_guests_alone() -> None:
    async def story(scene: Scene) -> None:
        await scene.node("n", give={"cpu": "4"}, labels={ZONE: "rz"})
        await guest(scene)
        await scene.gang("other", 1, 1, {"cpu": "1"}, minResources={})
        await scene.settle(2)
        assert (await scene.bound("g"), await scene.bound("other")) == (["g-0"], [])
        assert "1 node(s) were in a revocable zone" in (await scene.condition("other-0"))["message"]

    play(story, **with_plugin(zone("00:00-23:59")))


def test_outside_its_hours_a_node_takes_nobody() -> None:
    async def story(scene: Scene) -> None:
        await scene.node("n", give={"cpu": "4"}, labels={ZONE: "rz"})
        await guest(scene)
        scene.schedulers.configure_gangs(with_plugin(zone(hours_around(scene, 2, 3)))["gangs"])
        await scene.settle(2)
        assert await scene.bound("g") == []
        await scene.settle(2 * 3600 + 60)
        assert await scene.bound("g") == ["g-0"]

    play(story, **with_plugin(zone("00:00-23:59")))


def test_when_the_hours_are_over_shuffle_removes_guests_bit_by_bit() -> None:
    async def story(scene: Scene) -> None:
        await scene.node("n", give={"cpu": "4"}, labels={ZONE: "rz"})
        await guest(scene, 3)
        await scene.settle(2)
        for number in range(3):
            await scene.finish(f"g-{number}", "Running")
        over = with_plugin(zone(hours_around(scene, -3, -2)), actions="enqueue, allocate, shuffle")
        scene.schedulers.configure_gangs(over["gangs"])
        await scene.settle(5)
        assert len(await scene.leaving("g", 3)) == 1
        await scene.settle(50)
        assert len(await scene.leaving("g", 3)) == 1  # once a minute
        await scene.settle(20)
        assert len(await scene.leaving("g", 3)) == 2

    play(story, **with_plugin(zone("00:00-23:59")))


@pytest.mark.parametrize(
    ("key", "budget", "gone"),
    [
        ("volcano.sh/jdb-min-available", "25%", 3),
        ("volcano.sh/jdb-max-unavailable", "30%", 2),  # rounded up
        ("volcano.sh/jdb-max-unavailable", "9" * 400 + "%", 4),  # more than a float can hold
    ],
)
def test_a_gangs_budget_says_how_many_go_at_a_time(key: str, budget: str, gone: int) -> None:
    async def story(scene: Scene) -> None:
        await scene.node("n", give={"cpu": "4"}, labels={ZONE: "rz"})
        await guest(scene, 4, **{key: budget})
        await scene.settle(2)
        for number in range(4):
            await scene.finish(f"g-{number}", "Running")
        over = with_plugin(zone(hours_around(scene, -3, -2)), actions="enqueue, allocate, shuffle")
        scene.schedulers.configure_gangs(over["gangs"])
        await scene.settle(5)
        assert len(await scene.leaving("g", 4)) == gone

    play(story, **with_plugin(zone("00:00-23:59")))


def test_hours_that_are_none_are_refused() -> None:
    with pytest.raises(BadConf, match='"late": must be hours such as 20:00-06:00'):
        with_plugin(zone("late"))


# ---- pdb


def test_a_disruption_budget_keeps_pods_from_making_way() -> None:
    async def story(scene: Scene) -> None:
        await scene.priority("hi", 1000)
        await scene.node(give={"cpu": "2"})
        await scene.gang("low", 1, 2, {"cpu": "1"}, minResources={})
        await scene.settle()
        budget = {
            "metadata": {"name": "b"},
            "spec": {"minAvailable": 2, "selector": {"matchLabels": {"gang": "low"}}},
        }
        await scene.client.create(BUDGETS, budget, "default")
        await scene.gang("high", 1, 1, {"cpu": "1"}, minResources={}, priorityClassName="hi")
        await scene.settle(2)
        assert len(await scene.leaving("low", 2)) == 0
        allowed = {
            "status": {"disruptionsAllowed": 1, "currentHealthy": 2, "desiredHealthy": 1, "expectedPods": 2}
        }
        await scene.client.patch(BUDGETS, "b", allowed, "default", subresource="status")
        await scene.gang("more", 1, 1, {"cpu": "1"}, minResources={}, priorityClassName="hi")
        await scene.settle(0.5)
        assert len(await scene.leaving("low", 2)) == 1

    first = (*FIRST, "pdb")
    play(story, gangs=settings(first, SECOND, actions="enqueue, allocate, preempt"))


@pytest.mark.parametrize(
    ("plugins", "selected"), [((), "low"), (("pdb",), "others")], ids=["no plugin", "budget of others"]
)
def test_pods_make_way_where_no_budget_speaks_for_them(plugins: tuple[str, ...], selected: str) -> None:
    async def story(scene: Scene) -> None:
        await scene.priority("hi", 1000)
        await scene.node(give={"cpu": "2"})
        await scene.gang("low", 1, 2, {"cpu": "1"}, minResources={})
        await scene.settle()
        spec = {"minAvailable": 2, "selector": {"matchLabels": {"gang": selected}}}
        await scene.client.create(BUDGETS, {"metadata": {"name": "b"}, "spec": spec}, "default")
        await scene.gang("high", 1, 1, {"cpu": "1"}, minResources={}, priorityClassName="hi")
        await scene.settle(0.5)
        assert len(await scene.leaving("low", 2)) == 1

    play(story, gangs=settings((*FIRST, *plugins), SECOND, actions="enqueue, allocate, preempt"))


# ---- resourcequota


async def quota(scene: Scene, **hard: str) -> None:
    await scene.client.create(QUOTAS, {"metadata": {"name": "q"}, "spec": {"hard": hard}}, "default")
    await scene.client.patch(
        QUOTAS, "q", {"status": {"hard": hard, "used": {}}}, "default", subresource="status"
    )


def test_a_gang_that_its_namespaces_quota_would_cut_short_is_not_let_in() -> None:
    async def story(scene: Scene) -> None:
        await scene.node(give={"cpu": "8"})
        await quota(scene, pods="3")
        await scene.gang("large", 4, 0, minResources={"pods": "4"})
        await scene.gang("one", 2, 0, minResources={"pods": "2"})
        await scene.gang("two", 2, 0, minResources={"pods": "2"})
        await scene.settle(2)
        phases = [await scene.phase(name) for name in ("large", "one", "two")]
        assert phases[0] == "Pending"
        assert sorted(phases[1:]) == ["Inqueue", "Pending"]
        told = ("Unschedulable", "resource quota insufficient: insufficient pods")
        assert told in await scene.events("large")

    play(story, **with_plugin("resourcequota"))


def test_without_the_plugin_a_quota_keeps_nobody_out() -> None:
    async def story(scene: Scene) -> None:
        await scene.node(give={"cpu": "8"})
        await quota(scene, pods="3")
        await scene.gang("large", 4, 0, minResources={"pods": "4"})
        await scene.settle(2)
        assert await scene.phase("large") == "Inqueue"

    play(story, **with_plugin())


# ---- task-topology


async def roles(scene: Scene, **notes: str) -> None:
    """A gang of two roles, `ps` and `w`, two pods each, on two large nodes."""
    for name in ("one", "two"):
        await scene.node(name, give={"cpu": "8"})
    meta = {
        "name": "g",
        "annotations": {f"volcano.sh/task-topology-{key}": text for key, text in notes.items()},
    }
    await scene.client.create(
        PODGROUPS, {"metadata": meta, "spec": {"minMember": 4, "minResources": {}}}, "default"
    )
    await scene.members("g", range(2), {"cpu": "1"}, role="ps")
    await scene.members("g", range(2), {"cpu": "1"})
    await scene.settle(2)


TOPOLOGY = {"name": "task-topology", "arguments": {"task-topology.weight": 100}}


def test_tasks_with_affinity_share_a_node_and_those_without_spread() -> None:
    async def story(scene: Scene) -> None:
        await roles(scene, affinity="ps,w", **{"anti-affinity": ""})
        assert len({await scene.node_of(name) for name in ("g-ps-0", "g-ps-1", "g-0", "g-1")}) == 1

    play(story, gangs=settings(FIRST, (*swapped(SECOND, "binpack"), TOPOLOGY), actions=NOBODY_REMOVED))


def test_tasks_with_anti_affinity_are_kept_apart() -> None:
    async def story(scene: Scene) -> None:
        await roles(scene, **{"anti-affinity": "ps"})
        assert await scene.node_of("g-ps-0") != await scene.node_of("g-ps-1")

    play(story, **with_plugin(TOPOLOGY))


def test_roles_are_placed_in_the_order_the_job_says() -> None:
    async def story(scene: Scene) -> None:
        await scene.node(give={"cpu": "2"})
        notes = {"volcano.sh/task-topology-task-order": "w,ps"}
        spec = {"minMember": 1, "minResources": {}}
        await scene.client.create(
            PODGROUPS, {"metadata": {"name": "g", "annotations": notes}, "spec": spec}, "default"
        )
        await scene.members("g", range(2), {"cpu": "1"}, role="ps")
        await scene.members("g", range(2), {"cpu": "1"})
        await scene.settle(2)
        assert await scene.bound("g") == ["g-0", "g-1"]

    play(story, **with_plugin(TOPOLOGY))


# ---- resource-strategy-fit


@pytest.mark.parametrize(("kind", "node"), [("MostAllocated", "fuller"), ("LeastAllocated", "emptier")])
def test_a_resource_fills_nodes_or_spreads_as_its_strategy_says(kind: str, node: str) -> None:
    async def story(scene: Scene) -> None:
        for name in ("emptier", "fuller"):
            await scene.node(name, give={"cpu": "4"})
        await scene.pod("filler", {"cpu": "2"}, nodeName="fuller")
        await scene.gang("g", 1, 1, {"cpu": "1"})
        await scene.settle(2)
        assert await scene.node_of("g-0") == node

    fit = {"name": "resource-strategy-fit", "arguments": {"resources": {"cpu": {"type": kind, "weight": 2}}}}
    play(story, **with_plugin(fit))


@pytest.mark.parametrize(("heavy", "node"), [("cpu", "cpu-full"), ("memory", "memory-full")])
def test_of_two_resources_the_one_of_more_weight_decides(heavy: str, node: str) -> None:
    async def story(scene: Scene) -> None:
        for name in ("cpu-full", "memory-full"):
            await scene.node(name, give={"cpu": "4", "memory": "4Gi"})
        await scene.pod("c", {"cpu": "2"}, nodeName="cpu-full")
        await scene.pod("m", {"memory": "2Gi"}, nodeName="memory-full")
        await scene.gang("g", 1, 1, {"cpu": "1", "memory": "1Gi"})
        await scene.settle(2)
        assert await scene.node_of("g-0") == node

    weights = {
        name: {"type": "MostAllocated", "weight": 5 if name == heavy else 1} for name in ("cpu", "memory")
    }
    play(story, **with_plugin({"name": "resource-strategy-fit", "arguments": {"resources": weights}}))
