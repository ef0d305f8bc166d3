"""Preemption: the least harm, and nobody takes the room that was made."""

from __future__ import annotations

from support.scheduling_scene import Scene, play

BUDGETS = ("policy/v1", "PodDisruptionBudget")


async def leaving(scene: Scene, *names: str) -> list[str]:
    """Those of the pods that are gone or on their way."""
    found = [(name, await scene.get(name)) for name in names]
    return [name for name, each in found if each is None or "deletionTimestamp" in each["metadata"]]


def test_the_fewest_and_least_important_pods_make_room() -> None:
    async def story(scene: Scene) -> None:
        await scene.priority("high", 1000)
        await scene.priority("mid", 10)
        await scene.node(give={"cpu": "3"})
        await scene.pod("low", {"cpu": "1"})
        await scene.pod("mid", {"cpu": "1"}, priorityClassName="mid")
        await scene.pod("low2", {"cpu": "1"})
        await scene.settle()
        high = await scene.pod("high", {"cpu": "1"}, priorityClassName="high")
        await scene.settle()
        gone = await leaving(scene, "low", "mid", "low2")
        assert len(gone) == 1
        assert gone != ["mid"]
        victim = gone[0]
        events = await scene.events(victim)
        assert ("Preempted", f"Preempted by pod {high['metadata']['uid']} on node n1") in events
        waits = await scene.condition("high")
        assert waits.get("message", "").startswith("0/1 nodes are available: 1 Insufficient cpu.")
        if await scene.get(victim) is not None:
            target = await scene.condition(victim, "DisruptionTarget")
            assert target["reason"] == "PreemptionByScheduler"
            text = "default-scheduler: preempting to accommodate a higher priority pod"
            assert target["message"] == text
            found = await scene.get("high")
            assert found is not None
            assert found["status"]["nominatedNodeName"] == "n1"
            await scene.delete(victim)
        await scene.settle()
        assert await scene.node_of("high") == "n1"

    play(story)


def test_the_room_that_was_made_is_kept_from_pods_of_less_priority() -> None:
    async def story(scene: Scene) -> None:
        await scene.priority("high", 1000)
        await scene.node(give={"cpu": "2"})
        await scene.pod("low", {"cpu": "2"})
        await scene.settle()
        await scene.pod("high", {"cpu": "2"}, priorityClassName="high")
        await scene.settle()
        await scene.pod("sneaky", {"cpu": "1"})
        if await scene.get("low") is not None:
            await scene.delete("low")
        await scene.settle()
        assert (await scene.node_of("high"), await scene.node_of("sneaky")) == ("n1", "")

    play(story)


def test_a_pod_that_never_preempts_waits() -> None:
    async def story(scene: Scene) -> None:
        await scene.priority("polite", 1000, preemptionPolicy="Never")
        await scene.node()
        await scene.pod("low", {"cpu": "2"})
        await scene.settle()
        await scene.pod("polite", {"cpu": "1"}, priorityClassName="polite")
        await scene.settle()
        assert await leaving(scene, "low") == []
        message = (await scene.condition("polite"))["message"]
        assert "preemption: not eligible due to preemptionPolicy=Never." in message

    play(story)


def test_pods_of_equal_priority_stay() -> None:
    async def story(scene: Scene) -> None:
        await scene.node()
        await scene.pod("one", {"cpu": "2"})
        await scene.settle()
        await scene.pod("two", {"cpu": "2"})
        await scene.settle()
        assert await leaving(scene, "one") == []
        assert "1 No preemption victims found for incoming pod." in (await scene.condition("two"))["message"]

    play(story)


def test_a_node_without_a_broken_budget_is_chosen() -> None:
    async def story(scene: Scene) -> None:
        await scene.priority("high", 1000)
        await scene.node("n1")
        await scene.node("n2")
        budget = {
            "metadata": {"name": "b"},
            "spec": {"selector": {"matchLabels": {"app": "kept"}}, "minAvailable": 1},
        }
        await scene.client.create(BUDGETS, budget, "default")
        await scene.pod("a", {"cpu": "2"}, labels={"app": "kept"})
        await scene.pod("b", {"cpu": "2"}, labels={"app": "other"})
        await scene.settle()
        await scene.pod("high", {"cpu": "2"}, priorityClassName="high")
        await scene.settle()
        assert await leaving(scene, "a", "b") == ["b"]

    play(story)
