"""Queues share by weight, keep their limits, and take back what is theirs when asked to."""

from __future__ import annotations

from support.scheduler_settings import FIRST, SECOND, settings, swapped
from support.scheduling_scene import QUEUES, Scene, play


def test_two_queues_of_weight_three_and_one_share_a_full_node() -> None:
    async def story(scene: Scene) -> None:
        await scene.queue("a", weight=3)
        await scene.queue("b", weight=1)
        await scene.gang("a", 1, 8, {"cpu": "1"}, queue="a")
        await scene.gang("b", 1, 8, {"cpu": "1"}, queue="b")
        await scene.settle()
        await scene.node(give={"cpu": "8"})
        await scene.settle(2)
        assert (len(await scene.bound("a-")), len(await scene.bound("b-"))) == (6, 2)
        allocated = (await scene.client.get(QUEUES, "a"))["status"]["allocated"]
        assert allocated == {"cpu": "6", "memory": "0", "pods": "6"}

    play(story)


def test_gangs_that_come_one_after_the_other_are_seen_together() -> None:
    async def story(scene: Scene) -> None:
        await scene.node(give={"cpu": "8"})
        await scene.queue("a", weight=3)
        await scene.queue("b", weight=1)
        await scene.settle()
        await scene.gang("a", 1, 8, {"cpu": "1"}, queue="a")
        await scene.settle(0.15)
        await scene.gang("b", 1, 8, {"cpu": "1"}, queue="b")
        await scene.settle(0.4)
        assert (len(await scene.bound("a-")), len(await scene.bound("b-"))) == (6, 2)

    play(story)


def test_a_group_is_let_in_before_its_pods_are_gathered() -> None:
    async def story(scene: Scene) -> None:
        await scene.node()
        await scene.settle()
        await scene.gang("g", 2, 0, {"cpu": "1"})
        await scene.settle(0.05)
        assert await scene.phase("g") == "Inqueue"

    play(story)


def test_a_capability_is_never_exceeded() -> None:
    async def story(scene: Scene) -> None:
        await scene.node(give={"cpu": "8"})
        await scene.queue("q", capability={"cpu": "2"})
        await scene.gang("one", 2, 2, {"cpu": "750m"}, queue="q")
        await scene.settle()
        assert len(await scene.bound("one")) == 2
        await scene.gang("two", 1, 1, {"cpu": "750m"}, queue="q")
        await scene.settle(2)
        assert (await scene.phase("two"), await scene.bound("two")) == ("Pending", [])
        refused = ("Unschedulable", "queue resource quota insufficient: insufficient cpu")
        assert refused in await scene.events("two")
        *_, told = scene.schedulers.explain_group("default", "two")
        assert "needs 1 × 0.75 cpu, queue q has 0.5 cpu left, 1 node fits 8" in map(str, told.why)
        await scene.finish("one-0")
        await scene.settle(2)
        assert await scene.bound("two") == ["two-0"]

    play(story)


def test_queues_below_another_share_its_capability() -> None:
    async def story(scene: Scene) -> None:
        await scene.node(give={"cpu": "8"})
        await scene.queue("above", capability={"cpu": "3"})
        await scene.queue("left", parent="above")
        await scene.queue("right", parent="above")
        await scene.gang("l", 1, 4, {"cpu": "1"}, queue="left")
        await scene.gang("r", 1, 4, {"cpu": "1"}, queue="right")
        await scene.settle(3)
        assert len(await scene.bound("l-")) + len(await scene.bound("r-")) == 3

    play(story)


def test_a_guarantee_is_kept_free() -> None:
    async def story(scene: Scene) -> None:
        await scene.node(give={"cpu": "4"})
        await scene.queue("sure", deserved={"cpu": "2"}, guarantee={"resource": {"cpu": "2"}})
        await scene.gang("g", 3, 3, {"cpu": "1"})
        await scene.settle(2)
        assert await scene.phase("g") == "Pending"
        await scene.gang("s", 2, 2, {"cpu": "1"}, queue="sure")
        await scene.settle()
        assert len(await scene.bound("s-")) == 2

    play(story)


def test_a_closed_queue_takes_nobody_in() -> None:
    async def story(scene: Scene) -> None:
        await scene.node()
        await scene.queue("q")
        await scene.gang("g", 1, 0, {"cpu": "1"}, queue="q")
        await scene.client.patch(QUEUES, "q", {"status": {"state": "Closed"}}, subresource="status")
        await scene.gang("late", 1, 0, {"cpu": "1"}, queue="default")
        await scene.settle()
        assert await scene.phase("late") == "Inqueue"

    play(story)


def test_the_gang_of_more_priority_goes_first() -> None:
    async def story(scene: Scene) -> None:
        await scene.priority("hi", 1000)
        await scene.gang("low", 1, 1, {"cpu": "2"}, minResources={"cpu": "1"})
        await scene.gang("high", 1, 1, {"cpu": "2"}, minResources={"cpu": "1"}, priorityClassName="hi")
        await scene.settle()
        await scene.node()
        await scene.settle(2)
        assert (await scene.bound("high"), await scene.bound("low")) == (["high-0"], [])

    play(story)


def test_gangs_of_one_second_start_by_namespace_and_name() -> None:
    async def story(scene: Scene) -> None:
        names = ["d", "a", "c", "e", "b", "a-b"]
        for name in names:
            await scene.gang(name, 1, 1, {"cpu": "1"}, minResources={})
        assert len({(await scene.group(name))["metadata"]["creationTimestamp"] for name in names}) == 1
        await scene.settle(2)
        for count in range(1, len(names) + 1):
            await scene.node(f"n{count}", give={"cpu": "1"})
            await scene.settle(2)
            started = [name for name in names if await scene.bound(f"{name}-0")]
            assert sorted(started) == sorted(names, key=lambda name: f"default/{name}")[:count]

    play(story)


def test_without_the_action_nobody_is_removed() -> None:
    async def story(scene: Scene) -> None:
        await scene.priority("hi", 1000)
        await scene.node()
        await scene.gang("low", 1, 2, {"cpu": "1"}, minResources={})
        await scene.settle()
        await scene.gang("high", 2, 2, {"cpu": "1"}, minResources={}, priorityClassName="hi")
        await scene.settle(3)
        assert (len(await scene.bound("low")), len(await scene.bound("high"))) == (2, 0)

    play(story)


def test_preempt_removes_what_the_whole_gang_needs_and_no_more() -> None:
    async def story(scene: Scene) -> None:
        await scene.priority("hi", 1000)
        await scene.node(give={"cpu": "4"})
        await scene.gang("low", 1, 4, {"cpu": "1"}, minResources={})
        await scene.settle()
        await scene.gang("high", 2, 2, {"cpu": "1"}, minResources={}, priorityClassName="hi")
        await scene.settle()
        left = [
            n
            for n in range(4)
            if (p := await scene.get(f"low-{n}")) and "deletionTimestamp" not in p["metadata"]
        ]
        assert len(left) == 2
        gone = next(n for n in range(4) if n not in left)
        evicted = await scene.get(f"low-{gone}")
        if evicted is not None:  # a kubelet has not ended it yet
            target = await scene.condition(f"low-{gone}", "DisruptionTarget")
            assert target["reason"] == "PreemptionByScheduler"
            ready = await scene.condition(f"low-{gone}", "Ready")
            assert (ready["status"], ready["reason"]) == ("False", "Evict")
        assert ("Evict", "Pod is evicted, because of preempt") in await scene.events(f"low-{gone}")
        for n in range(4):
            if n not in left and await scene.get(f"low-{n}"):
                await scene.delete(f"low-{n}")
        await scene.settle(2)
        assert len(await scene.bound("high")) == 2

    play(story, gangs=settings())


def test_a_gang_of_equal_priority_removes_nobody() -> None:
    async def story(scene: Scene) -> None:
        await scene.node()
        await scene.gang("one", 1, 2, {"cpu": "1"}, minResources={})
        await scene.settle()
        await scene.gang("two", 1, 1, {"cpu": "1"}, minResources={})
        await scene.settle(3)
        assert len(await scene.bound("one")) == 2

    play(story, gangs=settings())


def test_reclaim_takes_back_what_another_queue_has_too_much_of() -> None:
    async def story(scene: Scene) -> None:
        await scene.node(give={"cpu": "4"})
        await scene.queue("a")
        await scene.queue("b")
        await scene.gang("a", 1, 4, {"cpu": "1"}, queue="a", minResources={})
        await scene.settle()
        assert len(await scene.bound("a-")) == 4
        await scene.gang("b", 2, 2, {"cpu": "1"}, queue="b", minResources={})
        await scene.settle()
        for n in range(4):
            found = await scene.get(f"a-{n}")
            if found and "deletionTimestamp" in found["metadata"]:
                assert ("Evict", "Pod is evicted, because of reclaim") in await scene.events(f"a-{n}")
                await scene.delete(f"a-{n}")
        await scene.settle(2)
        assert (len(await scene.bound("a-")), len(await scene.bound("b-"))) == (2, 2)

    play(story, gangs=settings())


def test_a_gang_that_waited_too_long_is_let_in_by_its_sla() -> None:
    async def story(scene: Scene) -> None:
        await scene.node()
        group = {
            "metadata": {"name": "g", "annotations": {"volcano.sh/sla-waiting-time": "3s"}},
            "spec": {"minMember": 5, "minResources": {"cpu": "5"}},
        }
        await scene.client.create(("scheduling.volcano.sh/v1beta1", "PodGroup"), group, "default")
        await scene.settle(2)
        assert await scene.phase("g") == "Pending"
        await scene.settle(3)
        assert await scene.phase("g") == "Inqueue"

    play(story, gangs=settings(("sla",), FIRST, SECOND))


def test_inside_a_gang_tasks_of_more_priority_take_the_room_of_others() -> None:
    async def story(scene: Scene) -> None:
        await scene.priority("hi", 1000)
        await scene.node()
        await scene.gang("g", 1, 2, {"cpu": "1"}, minResources={})
        await scene.settle()
        await scene.members("g", [0], {"cpu": "1"}, role="chief", priorityClassName="hi")
        await scene.settle()
        found = [await scene.get(f"g-{n}") for n in range(2)]
        leaving = [p for p in found if p is None or "deletionTimestamp" in p["metadata"]]
        assert len(leaving) == 1
        for each in leaving:
            if each is not None:
                await scene.delete(each["metadata"]["name"])
        await scene.settle(2)
        assert await scene.node_of("g-chief-0") == "n1"

    play(story, gangs=settings())


def test_gangs_can_be_protected_down_to_their_minimum() -> None:
    async def story(scene: Scene) -> None:
        await scene.priority("hi", 1000)
        await scene.node(give={"cpu": "3"})
        await scene.gang("low", 2, 3, {"cpu": "1"}, minResources={})
        await scene.settle()
        await scene.gang("high", 2, 2, {"cpu": "1"}, minResources={}, priorityClassName="hi")
        await scene.settle(2)
        found = [await scene.get(f"low-{n}") for n in range(3)]
        assert all(p is not None and "deletionTimestamp" not in p["metadata"] for p in found)
        await scene.gang("small", 1, 1, {"cpu": "1"}, minResources={}, priorityClassName="hi")
        await scene.settle(2)
        found = [await scene.get(f"low-{n}") for n in range(3)]
        assert sum(p is None or "deletionTimestamp" in p["metadata"] for p in found) == 1

    play(story, gangs=settings(swapped(FIRST, "gang", "gang"), SECOND))


def test_what_a_queue_deserves_may_be_said_in_numbers() -> None:
    async def story(scene: Scene) -> None:
        await scene.node(give={"cpu": "4"})
        await scene.queue("a", deserved={"cpu": "1"})
        await scene.queue("b", deserved={"cpu": "3"})
        await scene.gang("a", 1, 4, {"cpu": "1"}, queue="a", minResources={})
        await scene.settle()
        assert len(await scene.bound("a-")) == 4  # it may borrow what nobody uses
        await scene.gang("b", 3, 3, {"cpu": "1"}, queue="b", minResources={})
        await scene.settle()
        for n in range(4):
            found = await scene.get(f"a-{n}")
            if found and "deletionTimestamp" in found["metadata"]:
                await scene.delete(f"a-{n}")
        await scene.settle(2)
        assert (len(await scene.bound("a-")), len(await scene.bound("b-"))) == (1, 3)

    play(story, gangs=settings(FIRST, swapped(SECOND, "proportion", "capacity")))
