"""A cycle is data: deciding leaves it alone, and the same cycle leads to the same plan."""

from __future__ import annotations

from typing import Any

import pytest

from longshore.api.types import Obj, encode
from longshore.scheduler.fitting.pod_claims import Volumes
from longshore.scheduler.fitting.pod_shape import Shapes
from longshore.scheduler.gang.cycle import Cycle, Member, SeenGroup
from longshore.scheduler.gang.decide import decide
from longshore.scheduler.gang.model.sums import Sums
from longshore.scheduler.gang.model.task import PENDING, RUNNING
from longshore.scheduler.gang.plan import GangPlan
from longshore.scheduler.gang.settings import ACTIONS, DEFAULT_TIERS, ENQUEUE, Plugin, Settings
from longshore.scheduler.ledger import Ledger
from longshore.scheduler.view import SchedulerView

TIME = "2026-01-01T00:00:00Z"
NOW = 1767225600.0
SHAPES = Shapes()


def pod(name: str, cpu: str, priority: int = 0) -> Obj:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}
    meta = {"name": name, "namespace": "ns", "uid": name, "creationTimestamp": TIME}
    return {"metadata": meta, "spec": {"containers": [container], "priority": priority}}


def group(
    name: str,
    cpus: list[str],
    *,
    phase: str,
    running: str = "",
    priority: int = 0,
    least: str = "2",
    deadline: float | None = None,
) -> SeenGroup:
    meta = {"name": name, "namespace": "ns", "uid": name, "creationTimestamp": TIME}
    spec = {"queue": "q", "minMember": len(cpus) or 2, "minResources": {"cpu": least}}
    status = RUNNING if running else PENDING
    members = (
        Member(SHAPES.pod(pod(f"{name}-{n}", cpu, priority)), status, running) for n, cpu in enumerate(cpus)
    )
    return SeenGroup({"metadata": meta, "spec": spec}, {"phase": phase}, tuple(members), priority, deadline)


def cycle(*groups: SeenGroup, **settings: Any) -> Cycle:
    ledger = Ledger()
    give = {"cpu": "4", "memory": "8Gi", "pods": "10"}
    ledger.put_node({"metadata": {"name": "n1"}, "spec": {}, "status": {"allocatable": give}})
    for each in groups:
        for member in each.members:
            if member.node:
                ledger.assume(member.pod, member.node)
    none = Volumes(lambda *_: None, lambda *_: None, lambda *_: None)
    queue = {"metadata": {"name": "q", "creationTimestamp": TIME}, "spec": {"weight": 1}}
    seen = SchedulerView(ledger, none, lambda _: {})
    settled = {"q": Sums(1, 1, allocated={"cpu": 500}, request={"cpu": 500})}
    return Cycle(seen, groups, (queue,), Settings(**settings), "cycle", NOW, TIME, settled)


def held(seen: Cycle) -> Any:
    """All objects and amounts that a cycle sees, as they are now."""
    ledger = seen.view.ledger
    nodes = [(node.obj, node.used, sorted(node.pods), sorted(node.nominated)) for node in ledger]
    groups = [(each.obj, each.status, [member.pod.obj for member in each.members]) for each in seen.groups]
    return encode((nodes, groups, seen.queues, seen.settled))


def told(plan: GangPlan) -> Any:
    """All that a plan says, without the live pods it speaks of."""
    return (
        [(bind.task.pod.key, bind.node) for bind in plan.binds],
        [(evict.task.pod.key, evict.group.key, evict.action) for evict in plan.evictions],
        [(r.group.key, r.status, r.changed, r.waits, r.why) for r in plan.reports],
        [(task.task.pod.key, task.reason, task.message) for r in plan.reports for task in r.tasks],
        [(group.key, *event) for group, event in plan.refusals],
        plan.allocated,
        plan.why,
        plan.look_again,
    )


CYCLES = {
    "bound": cycle(group("g", ["1", "1"], phase="Inqueue")),
    "waits": cycle(group("g", ["3", "3"], phase="Inqueue"), group("h", ["1"], phase="Inqueue")),
    "at the gate": cycle(group("g", [], phase="Pending"), actions=(ENQUEUE,)),
    "preempts": cycle(
        group("old", ["2", "2"], phase="Running", running="n1"),
        group("new", ["2"], phase="Inqueue", priority=9),
        actions=ACTIONS,
    ),
    "late": cycle(
        group("g", ["9"], phase="Pending", least="9", deadline=NOW + 30),
        tiers=((Plugin("sla"),), *DEFAULT_TIERS),
    ),
}


@pytest.mark.parametrize("seen", CYCLES.values(), ids=CYCLES)
def test_deciding_leaves_what_it_sees_alone(seen: Cycle) -> None:
    before = held(seen)
    first = told(decide(seen))
    assert held(seen) == before
    assert told(decide(seen)) == first


def test_a_plan_says_in_numbers_what_the_cycle_does() -> None:
    assert [str(why) for why in decide(CYCLES["bound"]).why] == ["binds 2 pods"]
    waiting = decide(CYCLES["waits"])
    assert [(why.code, why.numbers) for why in waiting.why] == [
        ("PodsBound", {"pods": 1}),
        ("GangsWaiting", {"gangs": 1}),
    ]
    (needs,) = (why for why in waiting.reports[0].why if why.code == "GangWaits")
    told = {"needs": "2 × 3 cpu", "queue": "q", "left": "2.5 cpu"}
    assert needs.numbers == {"cpu": "6", "nodes": 1, "pods": 1, **told}
    assert [why.code for why in decide(CYCLES["preempts"]).why] == ["PodsEvicted", "GangsWaiting"]


def test_a_gang_that_may_wait_so_long_only_is_looked_at_again_then() -> None:
    assert decide(CYCLES["late"]).look_again == 30.0
    assert decide(CYCLES["waits"]).look_again is None
