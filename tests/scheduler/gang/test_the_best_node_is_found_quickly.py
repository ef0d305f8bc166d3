"""The best node of all is kept at hand while tasks come and go: the one that asking every node finds."""

from __future__ import annotations

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from longshore.api.types import Obj
from longshore.scheduler.fitting.pod_claims import Volumes
from longshore.scheduler.fitting.pod_shape import Shapes
from longshore.scheduler.gang.model.task import PENDING, Task
from longshore.scheduler.gang.settings import Settings
from longshore.scheduler.gang.trying.node_scores import NodeRules
from longshore.scheduler.gang.trying.rooms import Room, Rooms
from longshore.scheduler.ledger import Ledger
from longshore.scheduler.view import SchedulerView

STEPS = 40


def node(name: str, dice: random.Random) -> Obj:
    give = {"cpu": dice.choice(("1", "2", "3")), "memory": "4Gi", "pods": dice.choice(("2", "9"))}
    spec: Obj = {"taints": [{"key": "k", "effect": "PreferNoSchedule"}]} if dice.random() < 0.05 else {}
    return {"metadata": {"name": name}, "spec": spec, "status": {"allocatable": give}}


def pod(number: int, dice: random.Random) -> Obj:
    spec: Obj = {"containers": [{"resources": {"requests": {"cpu": dice.choice(("300m", "1", "1"))}}}]}
    if dice.random() < 0.1:
        spec["volumes"] = [{"name": "v", "emptyDir": {}}]
    if dice.random() < 0.1:
        spec["nodeSelector"] = {"kubernetes.io/os": "none"}
    return {"metadata": {"name": f"p{number}", "namespace": "n", "uid": str(number)}, "spec": spec}


def rooms_of(nodes: list[Obj]) -> Rooms:
    ledger = Ledger()
    for each in nodes:
        ledger.put_node(each)
    volumes = Volumes(lambda *_: None, lambda *_: None, lambda *_: None)
    how = Settings()
    return Rooms(SchedulerView(ledger, volumes, lambda _: {}), how, NodeRules())


def by_asking_all(rooms: Rooms, task: Task) -> Room | None:
    now, _, _ = rooms.candidates(task)
    return rooms.best(task, now) if now else None


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32))
def test_the_best_node_is_that_of_all_whatever_was_tried(seed: int) -> None:
    dice, shapes = random.Random(seed), Shapes()
    nodes = [node(f"n{number}", dice) for number in range(dice.randint(1, 8))]
    rooms, placed = rooms_of(nodes), list[Task]()
    for step in range(STEPS):
        task = Task(shapes.pod(pod(step, dice)), PENDING, "")
        best = by_asking_all(rooms, task)
        quick = rooms.best_now(task)
        assert quick is None or quick is best
        if best is not None and not nodes_are_tainted(nodes) and "volumes" not in task.pod.obj["spec"]:
            assert quick is best
        _, _, told = rooms.candidates(task)
        assert told == rooms_of_same(nodes, placed).candidates(task)[2]
        if best is not None and dice.random() < 0.8:
            rooms.add(task, best)
            task.node = best.node.name
            placed.append(task)
        elif placed:
            rooms.remove(placed.pop(dice.randrange(len(placed))))


def nodes_are_tainted(nodes: list[Obj]) -> bool:
    return any(each["spec"].get("taints") for each in nodes)


def rooms_of_same(nodes: list[Obj], placed: list[Task]) -> Rooms:
    """Rooms that remember nothing."""
    rooms = rooms_of(nodes)
    by_name = {room.node.name: room for room in rooms}
    for task in placed:
        rooms.add(task, by_name[task.node])
    return rooms
