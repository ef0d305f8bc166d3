"""Single pods get nodes, or learn why not."""

from __future__ import annotations

from longshore.client import PatchType
from longshore.scheduler.fitting import verdict
from support.scheduling_scene import PODS, Scene, play


def test_a_pod_is_bound_and_an_event_says_where() -> None:
    async def story(scene: Scene) -> None:
        await scene.node()
        await scene.pod("p", {"cpu": "1"})
        await scene.settle()
        assert await scene.node_of("p") == "n1"
        assert (await scene.condition("p"))["status"] == "True"
        assert ("Scheduled", "Successfully assigned default/p to n1") in await scene.events("p")

    play(story)


def test_a_node_is_never_given_away_twice_however_quickly_pods_come() -> None:
    async def story(scene: Scene) -> None:
        await scene.node()
        for n in range(10):
            await scene.pod(f"p{n}", {"cpu": "500m"})
        await scene.settle()
        assert sum([bool(await scene.node_of(f"p{n}")) for n in range(10)]) == 4
        await scene.finish("p0")
        await scene.delete("p1")
        await scene.settle()
        assert [await scene.node_of(f"p{n}") for n in (4, 5, 6)] == ["n1", "n1", ""]

    play(story)


def test_a_pod_that_waits_says_why_with_numbers() -> None:
    async def story(scene: Scene) -> None:
        await scene.node()
        await scene.pod("small", {"cpu": "500m"})
        await scene.settle()
        await scene.pod("big", {"cpu": "1800m"})
        await scene.pod("huge", {"cpu": "4"})
        await scene.settle()
        big = (
            "0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are available: "
            "1 No preemption victims found for incoming pod. (asks 1.8 cpu, node n1 has 1.5 of 2 left)"
        )
        condition = await scene.condition("big")
        assert (condition["status"], condition["reason"]) == ("False", "Unschedulable")
        assert condition["message"] == big
        assert ("FailedScheduling", big) in await scene.events("big")
        assert (await scene.condition("huge"))["message"] == (
            "0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are available: "
            "1 Preemption is not helpful for scheduling. (asks 4 cpu, node n1 has 1.5 of 2 left)"
        )

    play(story)


def test_without_nodes_a_pod_waits_for_one() -> None:
    async def story(scene: Scene) -> None:
        await scene.pod("p")
        await scene.settle()
        assert (await scene.condition("p"))["message"] == "no nodes available to schedule pods"
        await scene.node()
        await scene.settle(0.1)
        assert await scene.node_of("p") == "n1"

    play(story)


def test_a_gated_pod_waits_until_its_gates_are_gone() -> None:
    async def story(scene: Scene) -> None:
        await scene.node()
        await scene.pod("p", schedulingGates=[{"name": "example.com/later"}])
        await scene.settle()
        assert await scene.node_of("p") == ""
        assert (await scene.condition("p"))["reason"] == "SchedulingGated"
        (told,) = scene.schedulers.explain_pod("default", "p")
        assert [(why.code, str(why)) for why in told.why] == [
            ("SchedulingGated", "waits for its scheduling gates to be removed: example.com/later")
        ]
        await scene.client.patch(PODS, "p", {"spec": {"schedulingGates": None}}, "default")
        await scene.settle()
        assert await scene.node_of("p") == "n1"

    play(story)


def test_pods_of_other_schedulers_are_left_alone_but_counted() -> None:
    async def story(scene: Scene) -> None:
        await scene.node()
        await scene.pod("theirs", {"cpu": "1500m"}, nodeName="n1", schedulerName="other")
        await scene.pod("waiting", schedulerName="other")
        await scene.settle()
        await scene.pod("ours", {"cpu": "1"})
        await scene.settle()
        assert await scene.node_of("ours") == ""
        assert await scene.node_of("waiting") == ""
        await scene.finish("theirs", "Failed")
        await scene.settle()
        assert await scene.node_of("ours") == "n1"

    play(story)


def test_the_most_important_pod_goes_first() -> None:
    async def story(scene: Scene) -> None:
        await scene.priority("high", 1000)
        await scene.pod("low", {"cpu": "2"})
        await scene.pod("high", {"cpu": "2"}, priorityClassName="high")
        await scene.settle()
        await scene.node()
        await scene.settle()
        assert [await scene.node_of(name) for name in ("low", "high")] == ["", "n1"]

    play(story)


def test_why_tells_what_a_pod_waits_for_and_with_whom() -> None:
    async def story(scene: Scene) -> None:
        await scene.node()
        for n in range(3):
            await scene.pod(f"p{n}", {"cpu": "3"})
        await scene.settle()
        *_, last = scene.schedulers.explain_pod("default", "p1")
        why = {str(reason): reason.numbers for reason in last.why}
        asked = why["asks 3 cpu, node n1 has 2 of 2 left"]
        assert asked == {"resource": "cpu", "node": "n1", "asked": "3", "left": "2", "allocatable": "2"}
        assert why["2 other pods of the same shape wait with it"] == {"pods": 2}

    play(story)


def test_many_pods_that_wait_are_told_at_upstreams_rate() -> None:
    async def story(scene: Scene) -> None:
        await scene.node(give={"pods": "1"})
        for n in range(300):
            await scene.pod(f"p{n}")
        await scene.settle(1.0)

        async def told() -> int:
            found = await scene.client.list(PODS, "default")
            return sum("PodScheduled" in str(p["status"].get("conditions")) for p in found.items) - 1

        assert 100 <= await told() <= 150
        await scene.settle(10)
        assert await told() == 299

    play(story)


def test_once_a_pod_repels_others_pods_of_one_shape_are_told_apart_by_their_labels() -> None:
    async def story(scene: Scene) -> None:
        term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "db"}}}
        apart = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
        await scene.node()
        await scene.pod("first", labels={"app": "db"}, affinity=apart)
        await scene.settle()
        await scene.pod("second", labels={"app": "db"})
        await scene.pod("web", labels={"app": "web"})
        await scene.settle()
        assert [await scene.node_of(name) for name in ("first", "second", "web")] == ["n1", "", "n1"]
        assert "existing pods anti-affinity rules" in (await scene.condition("second"))["message"]
        await scene.node("n2")
        await scene.settle()
        assert await scene.node_of("second") == "n2"

    play(story)


def test_the_first_of_a_group_that_wants_to_be_together_goes_when_the_last_before_it_has_ended() -> None:
    async def story(scene: Scene) -> None:
        term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "db"}}}
        together = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
        await scene.node()
        await scene.pod("old", labels={"app": "db"})
        await scene.settle()
        await scene.client.patch(("v1", "Node"), "n1", {"spec": {"unschedulable": True}})
        await scene.node("n2")
        await scene.settle()
        await scene.pod("new", labels={"app": "db"}, affinity=together)
        await scene.settle()
        assert await scene.node_of("new") == ""
        over = {"status": {"phase": "Succeeded"}}
        await scene.client.patch(PODS, "old", over, "default", subresource="status")
        await scene.settle()
        assert await scene.node_of("new") == "n2"

    play(story)


def test_a_heartbeat_of_a_node_wakes_nobody_but_a_larger_one_does() -> None:
    async def story(scene: Scene) -> None:
        await scene.node()
        await scene.pod("p", {"cpu": "3"})
        await scene.settle()
        ready = {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}
        await scene.client.patch(("v1", "Node"), "n1", ready, subresource="status")
        await scene.settle()
        assert await scene.node_of("p") == ""
        larger = {"status": {"allocatable": {"cpu": "4"}}}
        await scene.client.patch(("v1", "Node"), "n1", larger, subresource="status")
        await scene.settle(0.1)
        assert await scene.node_of("p") == "n1"

    play(story)


def test_a_pod_resized_in_place_counts_with_what_it_asks_now() -> None:
    async def story(scene: Scene) -> None:
        await scene.node()
        await scene.pod("p", {"cpu": "2"})
        await scene.pod("q", {"cpu": "1"})
        await scene.settle()
        assert await scene.node_of("q") == ""
        smaller = {"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]}}
        await scene.client.patch(
            PODS, "p", smaller, "default", subresource="resize", type=PatchType.STRATEGIC
        )
        await scene.settle(0.1)
        assert await scene.node_of("q") == "n1"

    play(story)


def test_pods_that_wait_are_tried_every_five_minutes_and_nobody_else_wakes_the_scheduler() -> None:
    async def story(scene: Scene) -> None:
        await scene.node()
        await scene.settle(600)
        single = scene.schedulers.pods
        assert single is not None
        woken: list[float] = []
        wake = single.woken

        def noted(flags: int) -> None:
            if flags == verdict.EVERYTHING:
                woken.append(round(scene.clock.monotonic()))
            wake(flags)

        single.woken = noted  # type: ignore[method-assign]
        await scene.settle(3600)
        assert woken == []
        await scene.pod("huge", {"cpu": "4"})
        await scene.settle(1000)
        assert [at - woken[0] for at in woken] == [0, 300, 600]
        await scene.delete("huge")
        await scene.settle(600)
        woken.clear()
        await scene.settle(3600)
        assert woken == []

    play(story)
