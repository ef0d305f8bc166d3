"""A cycle is data: deciding leaves it alone, and a saved one leads to the same plan."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from longshore.api.types import Obj
from longshore.machinery import views
from longshore.scheduler.fitting.pod_claims import Volumes
from longshore.scheduler.fitting.pod_shape import Shapes
from longshore.scheduler.gang.cycle import Cycle, Member, SavedCycle, SeenGroup, restored, saved
from longshore.scheduler.gang.decide import decide
from longshore.scheduler.gang.extender_answers import Answer
from longshore.scheduler.gang.model.sums import Sums
from longshore.scheduler.gang.model.task import PENDING, RUNNING
from longshore.scheduler.gang.plan import Plan
from longshore.scheduler.gang.settings import ACTIONS, DEFAULT_TIERS, ENQUEUE, Plugin, Settings
from longshore.scheduler.ledger import Ledger
from longshore.scheduler.view import View

TIME = "2026-01-01T00:00:00Z"
NOW = 1767225600.0
SHAPES = Shapes()
EXTENDER = {"extender.urlPrefix": "http://e", "extender.predicateVerb": "predicate"}
ASKING = (*DEFAULT_TIERS, (Plugin("extender", arguments=EXTENDER),))


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
    seen = View(ledger, none, lambda _: {})
    settled = {"q": Sums(1, 1, allocated={"cpu": 500}, request={"cpu": 500})}
    return Cycle(seen, groups, (queue,), Settings(**settings), "cycle", NOW, TIME, settled)


def told(plan: Plan) -> Any:
    """All that a plan says, without the live pods it speaks of."""
    return (
        [(bind.task.pod.key, bind.node) for bind in plan.binds],
        [(evict.task.pod.key, evict.group.key, evict.action) for evict in plan.evictions],
        [(r.group.key, r.status, r.changed, r.waits, r.why) for r in plan.reports],
        [(task.task.pod.key, task.reason, task.message) for r in plan.reports for task in r.tasks],
        [(event.group.key, *event[1:]) for event in plan.events],
        plan.allocated,
        plan.questions,
        plan.why,
        plan.look_again,
    )


def answered(*groups: SeenGroup) -> Cycle:
    """A cycle to whose questions an extender has answered, as often as it had any."""
    seen = cycle(*groups, tiers=ASKING)
    for _ in range(9):
        questions = decide(seen).questions
        seen = replace(seen, answers={**seen.answers, **dict.fromkeys(questions, Answer({"code": 1}))})
    return seen


CYCLES = {
    "asks": cycle(
        group("g", ["1", "1"], phase="Inqueue"),
        tiers=ASKING,
    ),
    "answered": answered(group("g", ["1", "1"], phase="Inqueue")),
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
    before = views.to_json(saved(seen))
    first = told(decide(seen))
    assert views.to_json(saved(seen)) == before
    assert told(decide(seen)) == first


@pytest.mark.parametrize("seen", CYCLES.values(), ids=CYCLES)
def test_a_saved_cycle_gives_the_same_plan(seen: Cycle) -> None:
    data = saved(seen)
    loaded = views.from_json(SavedCycle, views.to_json(data))
    assert loaded == data
    assert told(decide(restored(loaded, Shapes()))) == told(decide(seen))


def test_a_plan_asks_until_it_has_every_answer() -> None:
    asking = decide(CYCLES["asks"])
    (question,) = asking.questions
    assert question.url == "http://e/predicate"
    assert not asking.binds
    after = decide(CYCLES["answered"])
    assert not after.questions
    assert [bind.node for bind in after.binds] == ["n1", "n1"]
    assert len(CYCLES["answered"].answers) == 2, "for each task the node as it is then"


def test_a_plan_says_in_numbers_what_the_cycle_does() -> None:
    assert [str(why) for why in decide(CYCLES["bound"]).why] == ["binds 2 pods"]
    waiting = decide(CYCLES["waits"])
    assert [(why.code, why.numbers) for why in waiting.why] == [
        ("PodsBound", {"pods": 1}),
        ("GangsWaiting", {"gangs": 1}),
    ]
    (needs,) = (why for why in waiting.reports[0].why if why.code == "GangWaits")
    assert needs.numbers == {"cpu": "6", "nodes": 1, "pods": 1}
    assert [why.code for why in decide(CYCLES["preempts"]).why] == ["PodsEvicted", "GangsWaiting"]


def test_a_gang_that_may_wait_so_long_only_is_looked_at_again_then() -> None:
    assert decide(CYCLES["late"]).look_again == 30.0
    assert decide(CYCLES["waits"]).look_again is None
