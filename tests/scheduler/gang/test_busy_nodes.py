"""Plugins that look at measured use: `usage` keeps tasks off busy nodes, `rescheduling` moves them away.

And `cdp`, by which pods that have just started stay where they are.
"""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest

from longshore.api.time import rfc3339
from longshore.client.local import LocalClient
from longshore.client.protocol import Request, Response
from longshore.scheduler.gang.conf.scheduler_conf import BadConf
from longshore.scheduler.gang.settings import DEFAULT_ACTIONS
from support.scheduler_settings import FIRST, SECOND, settings, swapped
from support.scheduling_scene import PODS, Scene, play

NOBODY_REMOVED = ", ".join(DEFAULT_ACTIONS)
SHUFFLING = f"{NOBODY_REMOVED}, shuffle"
LIMITS = {"thresholds": {"cpu": 20, "memory": 20}, "targetThresholds": {"cpu": 50, "memory": 50}}
MOVES = {
    "name": "rescheduling",
    "arguments": {"interval": "1m", "strategies": [{"name": "lowNodeUtilization", "params": LIMITS}]},
}


class Measured(LocalClient):
    """A server with figures of nodes: cpu in cores and memory in Gi."""

    scene: Scene
    used: dict[str, tuple[float, float]]
    age = 0.0
    code = 200

    async def _answer(self, request: Request) -> Response:
        assert request.path == "/apis/metrics.k8s.io/v1beta1/nodes"
        at = rfc3339.from_seconds(self.scene.clock.now().timestamp() - self.age)
        items = [
            {
                "metadata": {"name": name},
                "timestamp": at,
                "usage": {"cpu": f"{int(cpu * 1000)}m", "memory": f"{int(memory * 1024)}Mi"},
            }
            for name, (cpu, memory) in self.used.items()
        ]
        return Response(self.code, {}, json.dumps({"items": items}).encode())


async def measured(scene: Scene, **used: tuple[float, float]) -> Measured:
    """Schedulers that look at a server with these figures."""
    await scene.stop()
    client = scene.client = Measured(scene.client.api)
    client.scene, client.used = scene, used
    return client


def conf(*plugins: Any, actions: str = NOBODY_REMOVED) -> dict[str, Any]:
    """Nodes are alike for all plugins but those given."""
    second = tuple(each for each in SECOND if each not in ("nodeorder", "binpack"))
    return {"gangs": settings(FIRST, (*second, *plugins), actions=actions)}


async def ask(scene: Scene, *names: str, cpu: str = "4") -> None:
    for name in names:
        await scene.node(name, give={"cpu": cpu, "memory": "4Gi"})
    scene.start()
    await scene.settle()


# ---- usage


@pytest.mark.parametrize(("used", "said"), [((3.5, 0.1), "CPU"), ((0.1, 3.5), "memory")])
def test_a_node_above_its_threshold_takes_no_more_tasks(used: tuple[float, float], said: str) -> None:
    async def story(scene: Scene) -> None:
        await measured(scene, busy=used)
        await ask(scene, "busy")
        await scene.gang("g", 1, 1, {"cpu": "1"})
        await scene.settle(2)
        assert await scene.bound("g") == []
        assert (
            f"the {said} load of the node exceeds the upper limit."
            in (await scene.condition("g-0"))["message"]
        )

    play(story, **conf("usage"))


def test_a_node_that_calms_down_takes_tasks_again() -> None:
    async def story(scene: Scene) -> None:
        server = await measured(scene, busy=(3.5, 0.1))
        await ask(scene, "busy")
        await scene.gang("g", 1, 1, {"cpu": "1"})
        await scene.settle(2)
        server.used["busy"] = (0.1, 0.1)
        await scene.settle(120)  # the mean of five minutes is what counts
        assert await scene.bound("g") == ["g-0"]

    play(story, **conf("usage"))


@pytest.mark.parametrize("idle", ["a", "b"])
def test_the_idlest_node_is_taken(idle: str) -> None:
    async def story(scene: Scene) -> None:
        await measured(scene, **{name: (0.5 if name == idle else 2.5, 1.0) for name in ("a", "b")})
        await ask(scene, "a", "b")
        await scene.gang("g", 1, 1, {"cpu": "1"})
        await scene.settle(2)
        assert await scene.node_of("g-0") == idle

    play(story, **conf("usage"))


def test_thresholds_may_be_set_and_the_filter_turned_off() -> None:
    async def story(scene: Scene) -> None:
        await measured(scene, busy=(3.5, 0.1))
        await ask(scene, "busy")
        await scene.gang("g", 1, 1, {"cpu": "1"})
        await scene.settle(2)
        assert await scene.bound("g") == ["g-0"]

    play(story, **conf({"name": "usage", "arguments": {"thresholds": {"cpu": 90}}}))
    play(story, **conf({"name": "usage", "enablePredicate": False}))


def test_old_figures_say_nothing() -> None:
    async def story(scene: Scene) -> None:
        (await measured(scene, busy=(3.9, 3.9))).age = 400.0
        await ask(scene, "busy")
        await scene.gang("g", 1, 1, {"cpu": "1"})
        await scene.settle(2)
        assert await scene.bound("g") == ["g-0"]

    play(story, **conf("usage"))


def test_a_server_without_figures_is_told_of_once_and_keeps_nobody_waiting(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def story(scene: Scene) -> None:
        (await measured(scene)).code = 404
        await ask(scene, "n")
        await scene.gang("g", 1, 1, {"cpu": "1"})
        await scene.settle(100)
        assert await scene.bound("g") == ["g-0"]

    with caplog.at_level(logging.WARNING, "longshore.scheduler.gang.node_figures"):
        play(story, **conf("usage"))
    told = [each.message for each in caplog.records if each.name == "longshore.scheduler.gang.node_figures"]
    assert len(told) == 1
    assert "answered with 404" in told[0]


# ---- rescheduling


async def running(scene: Scene, name: str, count: int, **spec: Any) -> None:
    """A gang whose pods all run."""
    await scene.gang(name, 1, count, {"cpu": "1"}, minResources={}, **spec)
    await scene.settle(2)
    for pod in await scene.bound(name):
        await scene.finish(pod, "Running")


async def left(scene: Scene, name: str) -> list[str]:
    """The pods of a gang that nobody removes."""
    found = (await scene.client.list(PODS, "default")).items
    names = {each["metadata"]["name"] for each in found if "deletionTimestamp" not in each["metadata"]}
    return sorted(each for each in names if each.startswith(f"{name}-"))


async def busy_and_idle(scene: Scene, busy: float = 3.0, idle: float = 0.2) -> Measured:
    """Node `busy` with four running pods, and then a node `idle`."""
    server = await measured(scene, busy=(0.1, 0.1))
    await ask(scene, "busy")
    await running(scene, "g", 4)
    server.used |= {"busy": (busy, 0.5), "idle": (idle, 0.1)}
    await scene.restart()  # it remembers no calmer times
    await scene.node("idle", give={"cpu": "4", "memory": "4Gi"})
    await scene.settle(40)
    return server


def test_tasks_leave_a_busy_node_until_it_is_busy_no_more() -> None:
    async def story(scene: Scene) -> None:
        await busy_and_idle(scene)
        assert len(await left(scene, "g")) == 3  # 75 % less 25 is not above 50
        await scene.settle(60)
        assert len(await left(scene, "g")) == 2  # it is still measured to be busy, a minute later

    play(story, **conf(MOVES, actions=SHUFFLING))


@pytest.mark.parametrize(
    ("busy", "idle"), [(1.9, 0.2), (3.0, 1.0), (0.1, 0.1)], ids=["none busy", "none idle", "all idle"]
)
def test_nothing_is_moved_where_no_node_is_busy_or_none_is_idle(busy: float, idle: float) -> None:
    async def story(scene: Scene) -> None:
        await busy_and_idle(scene, busy, idle)
        assert len(await left(scene, "g")) == 4

    play(story, **conf(MOVES, actions=SHUFFLING))


def test_no_more_is_moved_than_idle_nodes_have_room_for() -> None:
    async def story(scene: Scene) -> None:
        server = await measured(scene, busy=(0.1, 0.1))
        await ask(scene, "busy", cpu="8")
        await running(scene, "g", 8)
        server.used |= {"busy": (8.0, 0.5), "idle": (0.0, 0.1)}
        await scene.restart()
        await scene.node("idle", give={"cpu": "3", "memory": "4Gi"})  # half of it: one and a half tasks
        await scene.settle(20)
        assert len(await left(scene, "g")) == 6

    play(story, **conf(MOVES, actions=SHUFFLING))


def test_the_least_important_leave_first_and_system_pods_stay() -> None:
    async def story(scene: Scene) -> None:
        await scene.priority("hi", 1000)
        await scene.priority("system-cluster-critical", 2000000000)
        server = await measured(scene, busy=(0.1, 0.1))
        await ask(scene, "busy")
        await running(scene, "vital", 1, pod={"priorityClassName": "system-cluster-critical"})
        await running(scene, "high", 1, pod={"priorityClassName": "hi"})
        await running(scene, "low", 1)
        server.used |= {"busy": (2.5, 0.5), "idle": (0.1, 0.1)}
        await scene.restart()
        await scene.node("idle", give={"cpu": "4", "memory": "4Gi"})
        await scene.settle(20)
        assert [len(await left(scene, name)) for name in ("vital", "high", "low")] == [1, 1, 0]

    play(story, **conf(MOVES, actions=SHUFFLING))


def test_without_the_action_nobody_is_moved() -> None:
    async def story(scene: Scene) -> None:
        await busy_and_idle(scene)
        assert len(await left(scene, "g")) == 4

    play(story, **conf(MOVES))


def test_an_unknown_strategy_is_named() -> None:
    with pytest.raises(BadConf, match=r'strategies\]\[0\].name: Unsupported value: "other"'):
        conf({"name": "rescheduling", "arguments": {"strategies": [{"name": "other"}]}})


# ---- cdp


@pytest.mark.parametrize(("kind", "time", "stays"), [
    ("labels", "1h", True), ("annotations", "1h", True), ("labels", "1s", False), ("labels", "soon", False),
])  # fmt: skip
def test_a_pod_that_has_just_started_does_not_make_way(kind: str, time: str, stays: bool) -> None:
    async def story(scene: Scene) -> None:
        await scene.priority("hi", 1000)
        await scene.node(give={"cpu": "1"})
        await scene.gang("low", 1, 1, {"cpu": "1"}, minResources={})
        await scene.settle()
        note = {"metadata": {kind: {"volcano.sh/cooldown-time": time}}}
        await scene.client.patch(PODS, "low-0", note, "default")
        await scene.finish("low-0", "Running")
        await scene.settle(5)
        await scene.gang("high", 1, 1, {"cpu": "1"}, minResources={}, priorityClassName="hi")
        await scene.settle(2)
        assert len(await left(scene, "low")) == stays

    first = (*swapped(FIRST, "conformance", "conformance", "cdp"),)
    play(story, gangs=settings(first, SECOND))
