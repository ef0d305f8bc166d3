"""Gangs with a networkTopology are placed within one HyperNode, the nearest that has room."""

from __future__ import annotations

from typing import Any

import pytest

from longshore.api import errors
from longshore.api.errors import StatusError
from longshore.api.facts import kinds
from longshore.scheduler.gang.model.topology import Topology, wish_of
from longshore.testing.injected_faults import Fault, Faults, StruckClient, unavailable
from support.scheduling_scene import Scene, play


def member(name: str, kind: str = "Node") -> dict[str, Any]:
    return {"type": kind, "selector": {"exactMatch": {"name": name}}}


def hyper_node(name: str, tier: int, *members: dict[str, Any], **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": {"tier": tier, "members": [*members], **spec}}


async def tree(scene: Scene, cpus: tuple[str, ...] = ("2", "2", "2", "2")) -> None:
    """Nodes n0 to n3; s0 has n0 and n1, s1 has n2 and n3, top has both."""
    for number, cpu in enumerate(cpus):
        await scene.node(f"n{number}", give={"cpu": cpu})
    for each in (
        hyper_node("s0", 1, member("n0"), member("n1"), tierName="rack"),
        hyper_node("s1", 1, member("n2"), member("n3"), tierName="rack"),
        hyper_node("top", 2, member("s0", "HyperNode"), member("s1", "HyperNode"), tierName="hall"),
    ):
        await scene.client.create(kinds.HYPER_NODES, each)


async def nodes(scene: Scene, gang: str) -> set[str]:
    return {await scene.node_of(name) for name in await scene.bound(gang)}


def hard(**highest: Any) -> dict[str, Any]:
    return {"networkTopology": {"mode": "hard", **highest}}


def test_a_gang_is_placed_within_one_hyper_node() -> None:
    async def story(scene: Scene) -> None:
        await tree(scene)
        await scene.pod("filler", {"cpu": "1"}, nodeName="n0")
        await scene.gang("g", 3, 3, {"cpu": "1"}, **hard(highestTierAllowed=1))
        await scene.settle(2)
        assert len(await scene.bound("g")) == 3
        assert await nodes(scene, "g") == {"n0", "n1"}  # the fuller of both

    play(story)


def test_within_a_hyper_node_a_trifle_on_a_node_does_not_count() -> None:
    async def story(scene: Scene) -> None:
        await tree(scene, ("64", "64", "2", "2"))
        await scene.pod("trifle", {"cpu": "10m", "memory": "1Mi"}, nodeName="n0")
        await scene.gang("g", 1, 1, {"cpu": "4", "memory": "512Mi"}, **hard(highestTierAllowed=1))
        await scene.settle(2)
        assert await nodes(scene, "g") == {"n0"}  # as Volcano, which cuts scores of nodes to whole numbers

    play(story)


def test_a_gang_larger_than_any_hyper_node_of_its_highest_tier_waits() -> None:
    async def story(scene: Scene) -> None:
        await tree(scene)
        await scene.gang("g", 5, 5, {"cpu": "1"}, **hard(highestTierAllowed=1))
        await scene.settle(3)
        assert await scene.bound("g") == []
        *_, told = scene.schedulers.explain_group("default", "g")
        words = "no HyperNode of tier 1 or nearer has room for the whole gang"
        assert words in map(str, told.why)

    play(story)


@pytest.mark.parametrize("highest", [{"highestTierAllowed": 2}, {"highestTierName": "hall"}], ids=str)
def test_a_higher_tier_is_taken_when_the_lower_has_no_room(highest: dict[str, Any]) -> None:
    async def story(scene: Scene) -> None:
        await tree(scene)
        await scene.gang("g", 5, 5, {"cpu": "1"}, **hard(**highest))
        await scene.settle(2)
        assert len(await scene.bound("g")) == 5

    play(story)


def test_a_highest_tier_of_no_such_name_is_met_nowhere() -> None:
    async def story(scene: Scene) -> None:
        await tree(scene)
        await scene.gang("g", 1, 1, {"cpu": "1"}, **hard(highestTierName="city"))
        await scene.settle(3)
        assert await scene.bound("g") == []

    play(story)


def test_without_hyper_nodes_a_strict_gang_waits_until_there_are_some() -> None:
    async def story(scene: Scene) -> None:
        await scene.node("n0")
        await scene.gang("g", 1, 1, {"cpu": "1"}, **hard(highestTierAllowed=1))
        await scene.settle(3)
        assert await scene.bound("g") == []
        await scene.client.create(kinds.HYPER_NODES, hyper_node("s", 1, member("n0")))
        await scene.settle(2)
        assert await scene.bound("g") == ["g-0"]

    play(story)


def test_in_mode_soft_a_gang_goes_where_there_is_room_at_last() -> None:
    async def story(scene: Scene) -> None:
        await tree(scene)
        await scene.node("far", give={"cpu": "2"})
        await scene.gang("small", 2, 2, {"cpu": "2"}, networkTopology={"mode": "soft"})
        await scene.settle(2)
        assert await nodes(scene, "small") in ({"n0", "n1"}, {"n2", "n3"})
        await scene.gang("large", 3, 3, {"cpu": "2"}, networkTopology={"mode": "soft"})
        await scene.settle(2)
        assert len(await scene.bound("large")) == 3
        assert "far" in await nodes(scene, "large")

    play(story)


def test_hard_without_a_highest_tier_is_a_wish() -> None:
    async def story(scene: Scene) -> None:
        await scene.node("n0")
        await scene.gang("g", 1, 1, {"cpu": "1"}, **hard())
        await scene.settle(2)
        assert await scene.bound("g") == ["g-0"]

    play(story)


def test_pods_that_come_later_stay_with_the_others() -> None:
    async def story(scene: Scene) -> None:
        await tree(scene, ("1", "1", "4", "4"))
        await scene.pod("filler", {"cpu": "3"}, nodeName="n2")
        await scene.pod("filler2", {"cpu": "3"}, nodeName="n3")
        await scene.gang("g", 2, 2, {"cpu": "1"}, **hard(highestTierAllowed=1))
        await scene.settle(2)
        first = await nodes(scene, "g")
        await scene.members("g", [2], {"cpu": "1"})
        await scene.settle(2)
        assert len(await scene.bound("g")) == 2  # no room near them
        await scene.finish("filler")
        await scene.finish("filler2")
        await scene.settle(2)
        assert await nodes(scene, "g") <= ({"n2", "n3"} if "n2" in first else first)

    play(story)


def test_each_subgroup_stays_near_on_its_own() -> None:
    async def story(scene: Scene) -> None:
        await tree(scene)
        policy = {
            "name": "p",
            "subGroupSize": 2,
            "minSubGroups": 2,
            "labelSelector": {},
            "matchLabelKeys": ["part"],
            "networkTopology": {"mode": "hard", "highestTierAllowed": 1},
        }
        await scene.gang("g", 4, 0, {"cpu": "1500m"}, subGroupPolicy=[policy])
        for number in range(4):
            await scene.members("g", [number], {"cpu": "1500m"}, extra={"part": "a" if number < 2 else "b"})
        await scene.settle(2)
        where = [await scene.node_of(f"g-{number}") for number in range(4)]
        assert {*where[:2]} in ({"n0", "n1"}, {"n2", "n3"})
        assert {*where[2:]} in ({"n0", "n1"}, {"n2", "n3"})

    play(story)


def test_members_are_selected_by_name_pattern_and_label() -> None:
    odd = {"matchExpressions": [{"key": "r", "operator": "Like"}]}
    found = Topology(
        [
            hyper_node("a", 1, {"type": "Node", "selector": {"regexMatch": {"pattern": "^gpu-[0-9]+$"}}}),
            hyper_node("b", 1, {"type": "Node", "selector": {"labelMatch": {"matchLabels": {"r": "1"}}}}),
            hyper_node("c", 2, {"type": "HyperNode", "selector": {"regexMatch": {"pattern": "^[ab]$"}}}),
            hyper_node("loop", 3, member("loop", "HyperNode"), member("c", "HyperNode")),
            hyper_node("nobody", 1, member("gone")),
            hyper_node("odd", 1, {"type": "Node", "selector": {"labelMatch": odd}}),
        ],
        {"gpu-1": {}, "gpu-x": {}, "cpu": {"r": "1"}},
    ).hyper_nodes
    assert [(each.name, sorted(each.nodes)) for each in found] == [
        ("a", ["gpu-1"]),
        ("b", ["cpu"]),
        ("c", ["cpu", "gpu-1"]),
        ("loop", ["cpu", "gpu-1"]),
    ]


def test_the_default_mode_is_hard() -> None:
    strict = wish_of({"highestTierAllowed": 1})
    assert strict is not None
    assert strict.strict
    assert wish_of(None) is None


@pytest.mark.parametrize(
    ("selector", "problem"),
    [
        (
            {},
            '.selector: Invalid value: "object": Either ExactMatch or RegexMatch or LabelMatch must be',
        ),
        (
            {"exactMatch": {"name": "a"}, "regexMatch": {"pattern": "b"}},
            '.selector: Invalid value: "object": Only one of ExactMatch, RegexMatch, or LabelMatch can be',
        ),
        (
            {"regexMatch": {"pattern": "a("}},
            'admission webhook "validatehypernode.volcano.sh" denied the request: '
            'spec.members.selector.regexMatch.pattern: Invalid value: "a(": '
            "member regexMatch pattern is invalid: error parsing regexp: missing closing ): `a(`",
        ),
        ({"exactMatch": {"name": "A_b"}}, "spec.members[0].selector.exactMatch.name: Invalid value"),
    ],
)
def test_a_member_that_nobody_can_select_is_refused(selector: dict[str, Any], problem: str) -> None:
    async def story(scene: Scene) -> None:
        bad = hyper_node("s", 1, {"type": "Node", "selector": selector})
        with pytest.raises(StatusError) as caught:
            await scene.client.create(kinds.HYPER_NODES, bad)
        assert problem in caught.value.message

    play(story)


def test_a_hyper_node_needs_a_tier_and_members() -> None:
    async def story(scene: Scene) -> None:
        for spec in ({"members": [member("n")]}, {"tier": 1, "members": []}, {"tier": -1}):
            with pytest.raises(StatusError) as caught:
                await scene.client.create(kinds.HYPER_NODES, {"metadata": {"name": "s"}, "spec": spec})
            assert caught.value.code == 422

    play(story)


def test_a_hyper_node_without_members_is_refused() -> None:
    async def story(scene: Scene) -> None:
        denied = 'admission webhook "validatehypernode.volcano.sh" denied the request: '
        with pytest.raises(StatusError) as caught:
            await scene.client.create(kinds.HYPER_NODES, {"metadata": {"name": "s"}, "spec": {"tier": 1}})
        assert caught.value.message.startswith(f"{denied}spec.members")
        assert caught.value.message.endswith("member must have at least one member")
        await scene.client.create(kinds.HYPER_NODES, hyper_node("s", 1, member("n")))
        with pytest.raises(StatusError, match="member must have at least one member"):
            await scene.client.patch(kinds.HYPER_NODES, "s", {"spec": {"members": None}})

    play(story)


def test_gangs_are_placed_also_where_the_server_knows_no_hyper_nodes() -> None:
    async def story(scene: Scene) -> None:
        await scene.stop()
        faults = Faults(scene.clock)
        faults.add(Fault("GET hypernodes", "controllers", unavailable, times=1))
        faults.add(Fault("GET hypernodes", "controllers", lambda: errors.not_found("", "hypernodes", "")))
        scene.client = StruckClient(scene.client, scene.clock, faults)
        scene.start()
        await scene.node("n0")
        await scene.gang("g", 2, 2, {"cpu": "1"})
        await scene.settle(5)
        assert len(await scene.bound("g")) == 2

    play(story)
