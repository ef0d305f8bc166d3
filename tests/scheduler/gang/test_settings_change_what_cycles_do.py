"""The plugins of a scheduler's settings, their switches and arguments: each changes what a cycle decides."""

from __future__ import annotations

from longshore.scheduler.gang.settings import DEFAULT_ACTIONS
from support.scheduler_settings import FIRST, SECOND, settings, swapped
from support.scheduling_scene import PODGROUPS, QUEUES, Scene, play

NOBODY_REMOVED = ", ".join(DEFAULT_ACTIONS)


def only(*tiers: tuple[object, ...]) -> dict[str, object]:
    return {"gangs": settings(*tiers, actions=NOBODY_REMOVED)}


def test_the_overcommit_factor_says_how_much_is_promised() -> None:
    async def story(scene: Scene) -> None:
        await scene.node(give={"cpu": "2"})
        for name in ("one", "two", "three"):
            await scene.gang(name, 2, 0, {"cpu": "1"})
        await scene.settle()
        phases = [await scene.phase(name) for name in ("one", "two", "three")]
        assert phases.count("Inqueue") == 2

    doubled = {"name": "overcommit", "arguments": {"overcommit-factor": 2}}
    without_shares = swapped(SECOND, "proportion")
    play(story, **only(FIRST, swapped(without_shares, "overcommit", doubled)))


def test_a_factor_below_one_is_taken_for_volcanos_own() -> None:
    async def story(scene: Scene) -> None:
        await scene.node(give={"cpu": "2"})
        await scene.gang("g", 1, 0, {"cpu": "2200m"})
        await scene.settle()
        assert await scene.phase("g") == "Inqueue"

    little = {"name": "overcommit", "arguments": {"overcommit-factor": 0.5}}
    play(story, **only(FIRST, swapped(swapped(SECOND, "proportion"), "overcommit", little)))


def test_without_overcommit_everybody_is_let_in() -> None:
    async def story(scene: Scene) -> None:
        await scene.node(give={"cpu": "2"})
        await scene.gang("g", 1, 0, {"cpu": "20"})
        await scene.settle()
        assert await scene.phase("g") == "Inqueue"

    play(story, **only(FIRST, swapped(swapped(SECOND, "proportion"), "overcommit")))


def test_a_permit_of_an_earlier_tier_ends_the_vote() -> None:
    async def story(scene: Scene) -> None:
        await scene.node(give={"cpu": "2"})
        await scene.queue("q", capability={"cpu": "1"})
        await scene.gang("g", 1, 0, {"cpu": "2"}, queue="q")
        await scene.settle()
        assert await scene.phase("g") == "Inqueue"  # though the queue would refuse

    play(story, **only((*FIRST, "overcommit"), swapped(SECOND, "overcommit")))


def test_plugins_of_one_tier_must_agree() -> None:
    async def story(scene: Scene) -> None:
        await scene.node(give={"cpu": "2"})
        await scene.queue("q", capability={"cpu": "1"})
        await scene.gang("g", 1, 0, {"cpu": "2"}, queue="q")
        await scene.settle()
        assert await scene.phase("g") == "Pending"

    play(story, **only(FIRST, SECOND))


def test_a_plugin_may_be_silenced_at_one_point() -> None:
    async def story(scene: Scene) -> None:
        await scene.node(give={"cpu": "2"})
        await scene.queue("q", capability={"cpu": "1"})
        await scene.gang("g", 1, 1, {"cpu": "2"}, queue="q")
        await scene.settle(2)
        assert (await scene.phase("g"), await scene.bound("g")) == ("Inqueue", [])  # no vote, but a limit

    silent = {"name": "proportion", "enableJobEnqueued": False}
    play(story, **only(FIRST, swapped(SECOND, "proportion", silent)))


def test_all_gangs_may_have_one_waiting_time() -> None:
    async def story(scene: Scene) -> None:
        await scene.node()
        await scene.gang("g", 5, 0, {"cpu": "1"})
        own = {"name": "patient", "annotations": {"volcano.sh/sla-waiting-time": "1h"}}
        spec = {"minMember": 5, "minResources": {"cpu": "5"}}
        await scene.client.create(PODGROUPS, {"metadata": own, "spec": spec}, "default")
        await scene.settle(2)
        assert await scene.phase("g") == "Pending"
        await scene.settle(3)
        assert (await scene.phase("g"), await scene.phase("patient")) == ("Inqueue", "Pending")

    sla = {"name": "sla", "arguments": {"sla-waiting-time": "3s"}}
    play(story, **only((sla,), FIRST, SECOND))


def test_beside_a_plugin_that_refuses_the_waiting_time_lets_nobody_in() -> None:
    async def story(scene: Scene) -> None:
        await scene.node()
        await scene.gang("g", 5, 0, {"cpu": "1"})
        await scene.settle(5)
        assert await scene.phase("g") == "Pending"

    sla = {"name": "sla", "arguments": {"sla-waiting-time": "3s"}}
    play(story, **only(FIRST, (*SECOND, sla)))


def test_a_gang_that_waited_too_long_keeps_the_room_it_found() -> None:
    async def story(scene: Scene) -> None:
        await scene.node(give={"cpu": "3"})
        await scene.gang("filler", 1, 1, {"cpu": "1"}, minResources={})
        await scene.settle()
        await scene.gang("wide", 3, 3, {"cpu": "1"}, minResources={})
        await scene.settle(5)
        await scene.gang("quick", 1, 1, {"cpu": "1"}, minResources={})
        await scene.settle(2)
        assert await scene.bound("quick") == []  # the two free cpus are kept
        await scene.finish("filler-0")
        await scene.settle(2)
        assert len(await scene.bound("wide")) == 3

    sla = {"name": "sla", "arguments": {"sla-waiting-time": "3s"}}
    play(story, **only((sla,), FIRST, SECOND))


def test_without_the_gang_plugin_pods_are_bound_one_by_one() -> None:
    async def story(scene: Scene) -> None:
        await scene.node(give={"cpu": "2"})
        await scene.gang("g", 3, 3, {"cpu": "1"}, minResources={})
        await scene.settle(2)
        assert len(await scene.bound("g")) == 2

    play(story, **only(swapped(FIRST, "gang"), SECOND))


def test_without_priority_the_older_gang_goes_first() -> None:
    async def story(scene: Scene) -> None:
        await scene.priority("hi", 1000)
        await scene.gang("older", 1, 1, {"cpu": "2"}, minResources={"cpu": "1"})
        await scene.settle(2)
        await scene.gang("high", 1, 1, {"cpu": "2"}, minResources={"cpu": "1"}, priorityClassName="hi")
        await scene.settle()
        await scene.node()
        await scene.settle(2)
        assert (await scene.bound("older"), await scene.bound("high")) == (["older-0"], [])

    play(story, **only(swapped(FIRST, "priority"), SECOND))


def test_without_queues_that_share_a_limit_means_nothing() -> None:
    async def story(scene: Scene) -> None:
        await scene.node(give={"cpu": "4"})
        await scene.queue("q", capability={"cpu": "1"})
        await scene.gang("g", 4, 4, {"cpu": "1"}, queue="q")
        await scene.settle(2)
        assert len(await scene.bound("g")) == 4

    play(story, **only(FIRST, swapped(SECOND, "proportion")))


def test_by_capacity_a_queue_borrows_up_to_its_capability() -> None:
    async def story(scene: Scene) -> None:
        await scene.node(give={"cpu": "8"})
        await scene.queue("q", deserved={"cpu": "1"}, capability={"cpu": "3"})
        await scene.gang("g", 1, 5, {"cpu": "1"}, queue="q")
        await scene.settle(3)
        assert len(await scene.bound("g")) == 3
        allocated = (await scene.client.get(QUEUES, "q"))["status"]["allocated"]
        assert allocated["cpu"] == "3"

    play(story, **only(FIRST, swapped(SECOND, "proportion", "capacity")))


def test_binpack_fills_a_node_and_its_absence_spreads() -> None:
    async def story(scene: Scene) -> None:
        for name in ("one", "two"):
            await scene.node(name, give={"cpu": "4"})
        for name in ("a", "b"):
            await scene.gang(name, 1, 1, {"cpu": "1"})
            await scene.settle(2)
        nodes.append({await scene.node_of("a-0"), await scene.node_of("b-0")})

    nodes: list[set[str]] = []
    packed = {"name": "binpack", "arguments": {"binpack.weight": 10}}
    play(story, **only(FIRST, swapped(SECOND, "binpack", packed)))
    play(story, **only(FIRST, swapped(SECOND, "binpack")))
    assert list(map(len, nodes)) == [1, 2]


def test_binpack_looks_at_the_resources_it_is_told() -> None:
    async def story(scene: Scene) -> None:
        disk = {"ephemeral-storage": "4Gi"}
        await scene.node("emptier", give={"cpu": "4", **disk})
        await scene.node("fuller", give={"cpu": "4", **disk})
        await scene.pod("filler", {"ephemeral-storage": "2Gi"}, nodeName="fuller")
        await scene.pod("other", {"cpu": "2"}, nodeName="emptier")
        await scene.gang("g", 1, 1, {"ephemeral-storage": "1Gi"})
        await scene.settle(2)
        nodes.append(await scene.node_of("g-0"))

    nodes: list[str] = []
    disk = {
        "binpack.weight": 10,
        "binpack.resources": "ephemeral-storage",
        "binpack.cpu": 0,
        "binpack.memory": 0,
    }
    nothing_else = swapped(SECOND, "nodeorder")
    play(story, **only(FIRST, swapped(nothing_else, "binpack", {"name": "binpack", "arguments": disk})))
    play(story, **only(FIRST, nothing_else))
    assert nodes == ["fuller", "emptier"]


def test_weights_of_nodeorder_decide_between_nodes() -> None:
    async def story(scene: Scene) -> None:
        await scene.node("plain", give={"cpu": "4"})
        await scene.node("liked", give={"cpu": "4"}, labels={"disk": "ssd"})
        await scene.pod("filler", {"cpu": "2"}, nodeName="liked")
        prefers = {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}]}
        wish = {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "preference": prefers}]}
        await scene.gang("g", 1, 1, {"cpu": "1"}, pod={"affinity": {"nodeAffinity": wish}})
        await scene.settle(2)
        nodes.append(await scene.node_of("g-0"))

    nodes: list[str] = []
    rest = swapped(SECOND, "binpack")
    for weight in (0, 10):
        order = {"name": "nodeorder", "arguments": {"nodeaffinity.weight": weight}}
        play(story, **only(FIRST, swapped(rest, "nodeorder", order)))
    assert nodes == ["plain", "liked"]


def test_a_filter_may_be_turned_off() -> None:
    async def story(scene: Scene) -> None:
        await scene.node(taints=[{"key": "k", "effect": "NoSchedule"}])
        await scene.gang("g", 1, 1, {"cpu": "1"})
        await scene.gang("picky", 1, 1, {"cpu": "1"}, pod={"nodeSelector": {"a": "b"}})
        await scene.settle(2)
        bound.append((len(await scene.bound("g")), len(await scene.bound("picky"))))

    bound: list[tuple[int, int]] = []
    play(story, **only(FIRST, SECOND))
    lax = {"name": "predicates", "arguments": {"predicate.TaintTolerationEnable": False}}
    play(story, **only(FIRST, swapped(SECOND, "predicates", lax)))
    play(story, **only(FIRST, swapped(SECOND, "predicates")))
    assert bound == [(0, 0), (1, 0), (1, 1)]
