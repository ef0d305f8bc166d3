"""Random clusters, gangs and pods: no node over its capacity, no half gang, no queue over its limit."""

from __future__ import annotations

import random
from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from longshore.api import quantity
from longshore.scheduler.gang.settings import ACTIONS, Settings
from support.scheduling_scene import PODS, QUEUES, Scene, play

LIMIT = 2500
STEPS = 14


async def check(scene: Scene, gangs: dict[str, int], started: set[str]) -> None:
    """At any moment, whatever was written: capacity, capability, and gangs whole when they start."""
    nodes = {n["metadata"]["name"]: n for n in (await scene.client.list(("v1", "Node"))).items}
    used: Counter[str] = Counter()
    counts: Counter[str] = Counter()
    queue_used, bound_of = 0, Counter[str]()
    for pod in (await scene.client.list(PODS, "default")).items:
        node, group = pod["spec"].get("nodeName"), pod["metadata"].get("labels", {}).get("gang", "")
        if not node:
            continue
        bound_of[group] += 1
        if pod["status"]["phase"] in ("Succeeded", "Failed"):
            continue
        asked = pod["spec"]["containers"][0].get("resources", {}).get("requests", {}).get("cpu", "0")
        used[node] += quantity.milli_value(asked)
        counts[node] += 1
        if group.startswith("limited"):
            queue_used += quantity.milli_value(asked)
    for name, amount in used.items():
        assert amount <= quantity.milli_value(nodes[name]["status"]["allocatable"]["cpu"]), name
        assert counts[name] <= int(nodes[name]["status"]["allocatable"]["pods"]), name
    assert queue_used <= LIMIT
    for group, least in gangs.items():
        if bound_of[group]:
            if group not in started:
                assert bound_of[group] >= least, group
            started.add(group)


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 2**32), st.booleans())
def test_whatever_comes_and_goes(seed: int, everything: bool) -> None:
    async def story(scene: Scene) -> None:
        dice = random.Random(seed)
        gangs: dict[str, int] = {}
        started: set[str] = set()
        ended: set[str] = set()
        await scene.queue("limited", capability={"cpu": f"{LIMIT}m"})
        await scene.priority("hi", 100)
        await scene.node("n0", give={"pods": "12"})
        for step in range(STEPS):
            match dice.choice(("node", "gang", "gang", "pod", "pod", "end", "end")):
                case "node":
                    cpu = dice.choice(("1", "1500m", "3"))
                    await scene.node(f"n{step + 1}", give={"cpu": cpu, "pods": str(dice.randint(1, 6))})
                case "gang":
                    kind = dice.choice(("limited", "default"))
                    name, count = f"{kind}-g{step}", dice.randint(1, 5)
                    least = gangs[name] = dice.randint(1, count)
                    asks = {"cpu": dice.choice(("250m", "700m", "1"))}
                    more = {"priorityClassName": "hi"} if dice.random() < 0.3 else {}
                    await scene.gang(name, least, count, asks, queue=kind, **more)
                case "pod":
                    await scene.pod(f"p{step}", {"cpu": dice.choice(("100m", "600m", "2"))})
                case "end":
                    names = [name for name in await scene.bound("") if name not in ended]
                    for name in dice.sample(names, min(len(names), 3)):
                        phase = dice.choice(("Succeeded", "Failed", "Running"))
                        await scene.finish(name, phase)
                        if phase != "Running":
                            ended.add(name)
            await scene.settle(dice.choice((0.0, 0.005, 0.2, 1.5)))
            await check(scene, gangs, started)
        await scene.settle(5)
        await check(scene, gangs, started)
        state = (await scene.client.get(QUEUES, "limited"))["status"]
        amounts = state.get("allocated") or {}  # none if no gang ever used the queue
        assert quantity.milli_value(amounts.get("cpu", "0")) <= LIMIT

    play(story, gangs=Settings(actions=ACTIONS if everything else Settings().actions))
