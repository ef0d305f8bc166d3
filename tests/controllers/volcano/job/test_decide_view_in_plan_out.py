"""What a sync decides: view in, plan out. Nothing here talks to a server."""

from __future__ import annotations

from typing import Any

import pytest

from controllers.volcano.job.job_views import (
    NOW,
    a_group,
    a_job,
    a_pod,
    a_task,
    about,
    codes,
    failed,
    in_order,
    through,
    view,
)
from longshore.api.errors import StatusError
from longshore.client import Unreachable
from longshore.controllers.volcano.job.decide import Decision, decide
from longshore.controllers.volcano.job.plan import Answers, End, WriteStatus
from longshore.controllers.volcano.job.view import Remembered
from longshore.controllers.volcano.job.waking import intents
from longshore.controllers.volcano.job.waking.delays import Delayed
from longshore.controllers.volcano.job.waking.job_requests import SYNC, JobRequest
from longshore.machinery.work_limits import WorkLimits

KNOWN = Remembered(known=True)
FORBIDDEN = StatusError(403, "Forbidden", "forbidden")
CONFLICT = StatusError(409, "Conflict", "the object has been modified")
MISSING = StatusError(404, "NotFound", "not found")


def when(event: str, action: str, **more: Any) -> dict[str, Any]:
    return {"event": event, "action": action, **more}


def test_a_new_job_gets_its_status_then_its_group_and_no_pods() -> None:
    seen = view(a_job(phase=""), group=None, requests=(SYNC,), remembered=KNOWN)
    plans, end = through(seen)
    assert in_order(plans) == [["status Pending"], ["create PodGroup j-u"]]
    assert codes(end) == ["Action", "GroupCreated", "GateClosed"]
    assert (end.left, end.problem, end.look_again) == ((), None, None)


def test_once_the_gate_is_open_all_pods_are_made_side_by_side_and_then_counted() -> None:
    plans, end = through(view(a_job(phase="Pending"), requests=(SYNC,)))
    assert in_order(plans) == [["create Pod j-w-0", "create Pod j-w-1"], ["status Pending"]]
    (written,) = plans[1].steps
    assert isinstance(written, WriteStatus)
    assert written.job["status"]["pending"] == 2
    (made,) = [reason for reason in end.why if reason.code == "PodsCreated"]
    assert made.numbers == {"task": "w", "pods": 2, "replicas": 2}


def test_of_thousands_of_millions_of_pods_a_sync_makes_a_thousand_and_asks_for_another() -> None:
    job = a_job(a_task("w", 2**31 - 1), a_task("v", 5), phase="Pending")
    names = ("01", "-1", "x", "9" * 5000)
    strange = [a_pod(0, task="w") | {"metadata": a_pod(0)["metadata"] | {"name": f"j-w-{n}"}} for n in names]
    plans, end = through(view(job, a_pod(1), a_pod(3), a_pod(2**31 - 2), *strange, requests=(SYNC,)))
    made = in_order(plans)[0]
    assert made[:3] == ["create Pod j-w-0", "create Pod j-w-2", "create Pod j-w-4"]
    assert (len(made), made[-1]) == (1000, "create Pod j-w-1001")
    assert sorted(in_order(plans)[1]) == sorted(f"delete Pod j-w-{name}" for name in names)
    assert (end.left, end.look_again) == ((SYNC,), 0.0)
    first, second = (reason for reason in end.why if reason.code == "PodsCreated")
    assert first.words == "task 'w' lacks 2147483644 of 2147483647 pods: creates 1000 of them now"
    assert second.numbers == {"task": "v", "pods": 0, "replicas": 5, "missing": 5}


def test_a_task_waits_for_pods_among_thousands_of_millions() -> None:
    first = a_task("w", 2**31 - 1, minAvailable=2)
    job = a_job(first, a_task("v", 1, dependsOn={"name": ["w"]}), phase="Pending")
    _, end = through(view(job, a_pod(0), a_pod(2**31 - 1), requests=(SYNC,)))
    (waits,) = (reason for reason in end.why if reason.code == "TaskWaits")
    assert waits.words == "task 'v' waits for task 'w' (1 of 2 pods ready)"


def test_a_sync_that_changes_the_phase_goes_on_at_once_unless_something_else_was_asked() -> None:
    seen = view(a_job(phase="Pending"), a_pod(0, "Succeeded"), a_pod(1, "Succeeded"), requests=(SYNC,))
    plans, end = through(seen)
    assert in_order(plans) == [
        ["status Running"],
        ["status Completed"],
        ["status Completed"],
        ["delete PodGroup j-u"],
    ]
    plans, end = through(seen, asked=True)
    assert in_order(plans) == [["status Running"]]
    assert (end.left, end.look_again) == ((SYNC,), 0.0)


def test_an_action_is_noted_before_pods_are_marked_and_marked_before_they_go() -> None:
    pods = (a_pod(0, "Failed"), a_pod(1))
    job = a_job(policies=[when("PodFailed", "RestartJob")])
    plans, end = through(view(job, *pods, requests=(SYNC, failed(pods[0]), SYNC)))
    assert in_order(plans) == [
        ["note volcano-action set"],
        ["patch Pod j-w-0", "patch Pod j-w-1"],
        ["delete Pod j-w-0", "delete Pod j-w-1"],
        ["status Restarting"],
        ["delete PodGroup j-u"],
        ["note volcano-action removed"],
    ]
    assert [event.message for event in plans[0].events] == ["Start to execute action RestartJob "]
    assert codes(end) == ["PolicyMatched", "Action", "PodsDeleted", "Restarted"]
    assert (end.left, end.look_again) == ((SYNC, SYNC, SYNC), 0.0)


def test_a_pod_that_could_not_be_marked_is_not_deleted() -> None:
    """Unmarked, its end would count as an eviction."""
    pods = (a_pod(0, "Failed"), a_pod(1), a_pod(2))
    job = a_job(
        a_task("w", 3), policies=[when("PodFailed", "RestartTask"), when("PodEvicted", "TerminateJob")]
    )
    request = failed(pods[0])
    refuse = {"patch Pod j-w-1": FORBIDDEN, "patch Pod j-w-2": MISSING}
    plans, end = through(view(job, *pods, requests=(request,)), refuse)
    assert in_order(plans) == [
        ["note volcano-action set"],
        ["patch Pod j-w-0", "patch Pod j-w-1", "patch Pod j-w-2"],
        ["delete Pod j-w-0", "delete Pod j-w-2"],
    ]
    assert str(end.problem) == "failed to kill 1 pods of 3"
    assert [event.message for event in end.events] == [
        "Error deleting pods: [failed to mark pod j-w-1, err: forbidden]"
    ]
    assert (end.left, end.remember.failures) == ((request,), 1)


def test_a_pod_that_is_marked_already_is_not_marked_again() -> None:
    pods = (a_pod(0, "Failed"), a_pod(1, mark=True))
    job = a_job(policies=[when("PodFailed", "AbortJob")])
    plans, _ = through(view(job, *pods, requests=(failed(pods[0]),)))
    assert in_order(plans)[1:3] == [["delete Pod j-w-1"], ["status Aborting"]]


def test_what_waits_for_a_time_is_only_remembered() -> None:
    pod = a_pod(0, "Failed")
    job = a_job(policies=[when("PodFailed", "RestartJob", timeout="90s")])
    plans, end = through(view(job, pod, a_pod(1), requests=(failed(pod),)))
    assert plans == []
    assert [event.message for event in end.events] == ["Execute action RestartJob after 1m30s"]
    assert end.remember.delays["j-w-0"].due == NOW + 90
    assert end.look_again == 90.0
    assert end.why[0].numbers.items() >= {"policy": 0, "delaySeconds": 90.0, "timeout": "90s"}.items()


def delayed(pod: Any, action: str, seconds: float = 0.0) -> Delayed:
    return Delayed(failed(pod), action, NOW + seconds)


def test_a_restarted_partition_cancels_the_other_delayed_restarts_of_that_partition_alone() -> None:
    pods = [a_pod(n, "Failed", partition=str(n // 2)) for n in range(4)]
    waiting = {pod["metadata"]["name"]: delayed(pod, "RestartPartition", 0.0 if n == 0 else 5.0)
               for n, pod in enumerate(pods)}  # fmt: skip
    job = a_job(a_task("w", 4, partitionPolicy={"totalPartitions": 2, "partitionSize": 2}))
    plans, end = through(view(job, *pods, remembered=Remembered(waiting, known=True)))
    assert in_order(plans)[2] == ["delete Pod j-w-0", "delete Pod j-w-1"]
    assert [*end.remember.delays] == ["j-w-2", "j-w-3"]


def test_a_delayed_action_that_is_refused_stays_due() -> None:
    pod = a_pod(0, "Failed")
    waiting = {"j-w-0": delayed(pod, "RestartTask")}
    seen = view(a_job(), pod, a_pod(1), remembered=Remembered(waiting, known=True), requests=(SYNC,))
    _, end = through(seen, {"delete Pod j-w-0": FORBIDDEN})
    assert end.remember.delays == waiting
    assert (str(end.problem), end.left) == ("failed to kill 1 pods of 2", (SYNC,))


def test_a_failure_is_forgotten_once_a_pod_of_the_name_runs() -> None:
    waiting = {"j-w-0": delayed(a_pod(0, "Failed"), "RestartJob")}
    seen = view(a_job(), a_pod(0), a_pod(1), remembered=Remembered(waiting, known=True))
    plans, end = through(seen)
    assert (plans, end.remember.delays, codes(end)) == ([], {}, ["DelayedActionCancelled"])


def test_a_command_is_taken_away_after_the_note_and_before_anything_is_done() -> None:
    request = JobRequest("CommandIssued", action="AbortJob", command="c")
    plans, _ = through(view(a_job(), a_pod(0), requests=(request,)))
    assert in_order(plans)[:3] == [["note volcano-action set"], ["delete Command c"], ["patch Pod j-w-0"]]


def test_a_command_that_somebody_took_is_not_executed() -> None:
    request = JobRequest("CommandIssued", action="AbortJob", command="c")
    plans, end = through(view(a_job(), a_pod(0), requests=(request,)), {"delete Command c": MISSING})
    assert in_order(plans) == [
        ["note volcano-action set"],
        ["delete Command c"],
        ["note volcano-action removed"],
    ]
    assert codes(end)[-1] == "CommandGone"


def test_a_command_for_an_earlier_job_of_the_name_is_deleted_and_not_executed() -> None:
    request = JobRequest("CommandIssued", uid="earlier", action="AbortJob", command="c")
    plans, end = through(view(a_job(), a_pod(0), requests=(request,)))
    assert in_order(plans) == [["delete Command c"]]
    assert codes(end)[-1] == "EarlierJob"


def test_an_action_that_was_begun_is_gone_on_with_and_its_request_answered_by_that() -> None:
    pod = a_pod(0, "Failed")
    job = a_job(policies=[when("PodFailed", "RestartTask")])
    intent = intents.intend(job, "RestartTask", failed(pod), a_group())
    job["metadata"]["annotations"] = {intents.ACTION: intents.annotation(intent)}
    plans, end = through(view(job, a_pod(1), requests=(failed(pod), SYNC)))
    assert in_order(plans) == [
        ["patch Pod j-w-1"],
        ["delete Pod j-w-1"],
        ["status Restarting"],
        ["note volcano-action removed"],
    ]
    assert end.left == (SYNC, SYNC)


@pytest.mark.parametrize(
    ("action", "left_to_do"),
    [
        ("RestartJob", [["delete PodGroup j-u"], ["note volcano-action removed"]]),
        ("RestartTask", [["note volcano-action removed"]]),
        ("RestartPod", [["note volcano-action removed"]]),
    ],
)
def test_of_an_action_whose_status_is_written_only_the_whole_jobs_group_is_left_to_go(
    action: str, left_to_do: list[list[str]]
) -> None:
    pod = a_pod(0, "Failed")
    intent = intents.intend(a_job(), action, failed(pod), a_group())
    job = a_job(phase="Restarting", status={"retryCount": 1})
    job["metadata"]["annotations"] = {intents.ACTION: intents.annotation(intent)}
    plans, end = through(view(job, a_pod(1)))
    assert in_order(plans) == left_to_do
    assert end.left == (SYNC,)


def test_a_job_whose_answers_are_lost_goes_on_from_the_phase_that_is_written() -> None:
    pod = a_pod(0, "Failed")
    intent = intents.intend(a_job(), "CompleteJob", failed(pod), a_group())
    job = a_job(phase="Completing", status={"version": 1})
    job["metadata"]["annotations"] = {intents.ACTION: intents.annotation(intent)}
    lost = {
        "delete PodGroup j-u": Unreachable("no answer"),
        "note volcano-action removed": Unreachable("no answer"),
    }
    for each in lost:
        _, end = through(view(job, pod), {each: lost[each]})
        assert SYNC in end.left


def test_a_refusal_is_tried_again_and_ever_later() -> None:
    seen = view(a_job(phase="Pending"), requests=(SYNC,), queue=None)
    for failures, after in ((0, 0.005), (1, 0.01), (14, 81.92)):
        plans, end = through(
            view(seen.job, requests=(SYNC,), queue=None, remembered=Remembered({}, True, failures))
        )
        assert plans == []
        assert str(end.problem) == 'queue.scheduling.volcano.sh "default" not found'
        assert (end.left, end.remember.failures, end.look_again) == ((SYNC,), failures + 1, after)


def test_what_is_refused_too_often_terminates_the_job() -> None:
    remembered = Remembered({}, known=True, failures=15)
    seen = view(a_job(phase="Pending"), a_pod(0), requests=(SYNC,), remembered=remembered)
    plans, end = through(seen, {"create Pod j-w-1": FORBIDDEN})
    assert "status Terminating" in [step for steps in in_order(plans) for step in steps]
    assert [event.message for event in plans[1].events][-1] == (
        "Job failed on action SyncJob for retry limit reached"
    )
    assert (end.problem, end.remember.failures, end.left) == (None, 0, (SYNC,))


def test_where_refusals_are_not_counted_the_job_goes_on_trying() -> None:
    remembered = Remembered({}, known=True, failures=99)
    seen = view(a_job(phase="Pending"), a_pod(0), requests=(SYNC,), remembered=remembered)
    patient = seen._replace(limits=WorkLimits(max_requeues=-1))
    plans, end = through(patient, {"create Pod j-w-1": FORBIDDEN})
    assert "status Terminating" not in [step for steps in in_order(plans) for step in steps]
    assert (end.remember.failures, end.left) == (100, (SYNC,))
    hasty = seen._replace(limits=WorkLimits(max_requeues=1), remembered=Remembered({}, True, failures=1))
    plans, _ = through(hasty, {"create Pod j-w-1": FORBIDDEN})
    assert "status Terminating" in [step for steps in in_order(plans) for step in steps]


def test_a_termination_that_fails_is_tried_again() -> None:
    remembered = Remembered({}, known=True, failures=15)
    seen = view(a_job(phase="Pending"), a_pod(0), requests=(SYNC,), remembered=remembered)
    _, end = through(seen, {"create Pod j-w-1": FORBIDDEN, "status Terminating": CONFLICT})
    assert (end.problem, end.remember.failures, end.left) == (CONFLICT, 16, (SYNC,))


@pytest.mark.parametrize("problem", [CONFLICT, Unreachable("nobody answers")])
def test_somebody_who_was_quicker_and_silence_are_no_refusals(problem: Exception) -> None:
    seen = view(a_job(), a_pod(0), a_pod(1), requests=(SYNC,))
    _, end = through(seen, {"status Running": problem})
    assert (end.problem, end.look_again) == (problem, None)
    assert (end.left, end.remember.failures, end.events) == ((SYNC,), 0, ())


def test_counters_alone_wait_while_there_is_more_urgent_work() -> None:
    plans, end = through(view(a_job(), a_pod(0), a_pod(1), requests=(SYNC,), busy=True))
    assert (plans, end.counters_later) == ([], True)
    plans, end = through(view(a_job(), a_pod(0), a_pod(1), busy=True, unwritten=True))
    assert (in_order(plans), end.counters_later) == ([["status Running"]], False)


def test_a_job_with_policies_has_no_counters_that_wait() -> None:
    job = a_job(policies=[when("PodEvicted", "RestartJob")])
    plans, end = through(view(job, a_pod(0), a_pod(1), requests=(SYNC,), busy=True))
    assert (in_order(plans), end.counters_later) == ([["status Running"]], False)


def test_a_pod_that_somebody_deletes_is_noted_before_the_sync_covers_it_up() -> None:
    leaving = a_pod(0)
    leaving["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    job = a_job(policies=[when("PodEvicted", "RestartJob")])
    plans, _ = through(view(job, leaving, a_pod(1), requests=(about(leaving, "OutOfSync"),)))
    assert in_order(plans)[0] == ["note volcano-leaving-pods set"]


def test_a_job_that_is_being_deleted_only_loses_its_commands() -> None:
    job = a_job()
    job["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    requests = (JobRequest("CommandIssued", action="AbortJob", command="c"), SYNC)
    plans, end = through(view(job, a_pod(0), requests=requests))
    assert (in_order(plans), end.left) == ([["delete Command c"]], ())
    _, end = through(view(job, a_pod(0), requests=requests), {"delete Command c": CONFLICT})
    assert end.left == requests


def test_a_failure_before_this_controllers_time_is_answered() -> None:
    job = a_job(policies=[when("PodFailed", "TerminateJob")])
    _, end = through(view(job, a_pod(0, "Failed"), a_pod(1), remembered=Remembered()))
    assert end.remember.known
    assert end.why[0].words == "PodFailed of j-w-0: policy 0 (event PodFailed) says TerminateJob"


def test_the_view_is_left_as_it_was() -> None:
    pod = a_pod(0, "Failed")
    waiting = {"j-w-1": delayed(a_pod(1), "RestartTask", 50.0)}
    job = a_job(policies=[when("PodFailed", "RestartTask", timeout="5s")])
    seen = view(job, pod, a_pod(1), requests=(failed(pod),), remembered=Remembered(waiting, known=True))
    before = repr(seen)
    through(seen)
    assert repr(seen) == before


def test_an_ended_sync_takes_no_answers() -> None:
    decision = Decision(view(a_job(), a_pod(0), a_pod(1)))
    assert isinstance(decision.plan, End)
    with pytest.raises(ValueError, match="the sync has ended"):
        decision.go_on(Answers(()))
    assert decide(view(a_job(), a_pod(0), a_pod(1))) == decision.plan
