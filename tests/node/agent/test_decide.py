"""What to do next is a pure function of what is remembered: a memory in, a plan out."""

from __future__ import annotations

from typing import Any

import msgspec

from longshore.node.pod import decide as deciding
from longshore.node.pod import recall
from longshore.node.pod.decide import outcome
from longshore.node.pod.memory import PodMemory, PodVerdict, PodView, Stopping, Waiting
from longshore.node.pod.plan import BeginStop, Fail, Hook, PodPlan, Prepare, Signal, Start, Wait
from longshore.node.runtime import ContainerState, Key
from support.node_world import a_pod


def memory(**spec: Any) -> PodMemory:
    pod = a_pod(**spec)
    pod["metadata"] |= {"uid": "u", "namespace": "ns", "resourceVersion": "1"}
    made = recall.new(pod, "127.64.0.1")
    made.prepared = True
    return made


def decide(made: PodMemory, now: float, wall: float) -> PodPlan:
    return deciding.decide(PodView(made, now, wall))


def runs(made: PodMemory, name: str = "main") -> None:
    record = next(r for r in made.records() if r.facts.name == name)
    record.state = ContainerState(Key("u", name, record.attempt), "running", started_at=100.0)
    record.started = record.ready = True


def ends(made: PodMemory, code: int = 0, name: str = "main", at: float = 100.0) -> None:
    record = next(r for r in made.records() if r.facts.name == name)
    record.state = ContainerState(Key("u", name, record.attempt), "exited", finished_at=at, exit_code=code)
    record.ended = {"exitCode": code}


def test_a_new_pod_is_prepared_before_anything_else() -> None:
    made = memory()
    made.prepared = False
    (action,) = decide(made, 0.0, 0.0).actions
    assert isinstance(action, Prepare)


def test_a_prepared_pod_starts_all_its_containers_and_says_so() -> None:
    plan = decide(memory(containers=[{"name": "a"}, {"name": "b"}]), 0.0, 0.0)
    assert [action.record.facts.name for action in plan.actions if isinstance(action, Start)] == ["a", "b"]
    assert [*map(str, plan.why)] == ["a is started", "b is started"]
    assert not plan.done


def test_a_pod_that_runs_needs_nothing() -> None:
    made = memory()
    runs(made)
    plan = decide(made, 0.0, 0.0)
    assert (plan.actions, plan.look_again, plan.done) == ((), None, False)


def test_a_container_that_the_engine_was_asked_for_is_not_asked_for_twice() -> None:
    made = memory()
    made.mains[0].starting = True
    assert decide(made, 0.0, 0.0).actions == ()


def test_a_crash_waits_for_its_back_off_and_the_plan_says_when_to_look_again() -> None:
    made = memory(restart="Always")
    ends(made, 1, at=100.0)
    made.mains[0].backoff, made.mains[0].backoff_set = 10.0, 99.0
    plan = decide(made, 0.0, 104.0)
    (action,) = plan.actions
    assert isinstance(action, Wait)
    assert action.waiting.reason == "CrashLoopBackOff"
    assert plan.look_again == 6.0
    (action,) = decide(made, 0.0, 110.0).actions
    assert isinstance(action, Start)
    assert action.again
    assert action.backoff == 20.0


def test_a_pod_whose_containers_have_ended_is_done() -> None:
    made = memory()
    ends(made)
    assert decide(made, 0.0, 0.0).done
    assert outcome(made) == "Succeeded"
    ends(made, 3)
    assert outcome(made) == "Failed"


def test_nothing_is_decided_for_an_outcome_while_a_container_may_run_again() -> None:
    made = memory(restart="OnFailure")
    ends(made, 3)
    assert outcome(made) == ""


def test_a_deleted_pod_first_asks_then_waits_then_kills() -> None:
    made = memory()
    runs(made)
    made.deleting, made.delete_grace = 0.0, 30.0
    (action,) = decide(made, 0.0, 0.0).actions
    assert isinstance(action, BeginStop)
    assert action.grace == 30.0
    going = made.mains[0].stopping = Stopping(0.0, 30.0, 30.0)
    (action,) = decide(made, 0.0, 0.0).actions
    assert action == Signal(made.mains[0], "stop")
    going.asked = 0.0
    plan = decide(made, 10.0, 0.0)
    assert plan.actions == ()
    assert plan.look_again == 20.0
    (action,) = decide(made, 30.0, 0.0).actions
    assert action == Signal(made.mains[0], "kill")


def test_a_pre_stop_hook_comes_before_the_stop_signal() -> None:
    hook = {"preStop": {"exec": {"command": ["x"]}}}
    made = memory(containers=[{"name": "main", "lifecycle": hook}])
    runs(made)
    made.deleting, made.delete_grace = 0.0, 30.0
    made.mains[0].stopping = Stopping(0.0, 30.0, 30.0)
    (action,) = decide(made, 0.0, 0.0).actions
    assert action == Hook(made.mains[0], "preStop")


def test_a_pod_that_waits_for_too_long_fails_with_what_it_waits_for() -> None:
    made = memory(annotations={"longshore.dev/fail-unstartable-after": "1m30s"})
    made.unstartable_since = 0.0
    made.mains[0].waiting, made.mains[0].retry_at = Waiting("RunContainerError", "no such file"), 1000.0
    assert decide(made, 89.0, 0.0).look_again == 1.0
    (action,) = decide(made, 90.0, 0.0).actions
    assert isinstance(action, Fail)
    assert action.verdict == PodVerdict(
        "RunContainerError", "The pod could not start within 1m30s: no such file"
    )


def test_a_node_that_stops_starts_nothing() -> None:
    made = memory()
    made.leaving = True
    assert decide(made, 0.0, 0.0).actions == ()


def test_deciding_changes_nothing() -> None:
    made = memory(restart="Always", initContainers=[{"name": "one"}])
    before = repr(made)
    first = decide(made, 0.0, 0.0)
    assert repr(made) == before
    assert decide(made, 0.0, 0.0) == first


def test_a_saved_view_gives_the_same_plan() -> None:
    crashed, stopping, new = memory(restart="Always"), memory(), memory()
    ends(crashed, 1, at=100.0)
    crashed.mains[0].backoff, crashed.mains[0].backoff_set = 10.0, 99.0
    runs(stopping)
    stopping.deleting, stopping.delete_grace = 50.0, 30.0
    stopping.mains[0].stopping = Stopping(50.0, 30.0, 30.0, asked=51.0)
    new.prepared, new.unprepared = False, Waiting("FailedMount", "no such secret")
    new.retry_at = 200.0
    for made in (crashed, stopping, new):
        seen = PodView(made, 60.0, 104.0)
        loaded = msgspec.json.decode(msgspec.json.encode(seen), type=PodView)
        assert loaded == seen
        assert deciding.decide(loaded) == deciding.decide(seen)
