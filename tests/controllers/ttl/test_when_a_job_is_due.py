"""When a finished Job is due, decided from the Job and the time alone."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from longshore.api.facts import kinds
from longshore.api.time import instants
from longshore.api.types import Obj
from longshore.controllers.expiring.dialect import ExpiryPlan
from longshore.controllers.ttl import DIALECT, READS, wanted
from longshore.machinery.queues.try_again import TryAgain

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
SUCCESS, FAILURE = "longshore.dev/ttl-after-success", "longshore.dev/ttl-after-failure"


def decide(job: Obj, now: datetime) -> ExpiryPlan:
    return DIALECT.decide(job, instants.of(now))


def ended(how: str, seconds_ago: float = 0, **changes: Any) -> Obj:
    at = (NOW - timedelta(seconds=seconds_ago)).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {"type": how, "status": "True", "lastTransitionTime": at, **changes}


def job(*conditions: Obj, ttl: int | None = None, annotations: Obj | None = None, **meta: Any) -> Obj:
    metadata: Obj = {"name": "j", "namespace": "ns", "uid": "u", **meta}
    if annotations:
        metadata["annotations"] = annotations
    spec = {} if ttl is None else {"ttlSecondsAfterFinished": ttl}
    return {"metadata": metadata, "spec": spec, "status": {"conditions": [*conditions]}}


@pytest.mark.parametrize("how", ["Complete", "Failed"])
@pytest.mark.parametrize(("ago", "ttl", "left"), [(0, 10, 10), (10, 15, 5), (3, 3600, 3597)])
def test_a_job_is_due_its_ttl_after_it_finished(how: str, ago: int, ttl: int, left: int) -> None:
    plan = decide(job(ended(how, ago), ttl=ttl), NOW)
    assert not plan.delete
    assert plan.look_again == left


@pytest.mark.parametrize("how", ["Complete", "Failed"])
@pytest.mark.parametrize(("ago", "ttl", "late"), [(0, 0, 0), (10, 10, 0), (60, 20, 40)])
def test_a_job_whose_time_is_up_is_deleted(how: str, ago: int, ttl: int, late: int) -> None:
    plan = decide(job(ended(how, ago), ttl=ttl), NOW)
    assert plan.delete
    assert plan.late == late
    assert plan.look_again is None


@pytest.mark.parametrize(
    "kept",
    [
        job(ended("Complete", 99)),
        job(ttl=0),
        job(ended("SuccessCriteriaMet", 99), ttl=0),
        job(ended("FailureTarget", 99), ttl=0),
        job(ended("Complete", 99, status="False"), ttl=0),
        job(ended("Complete", 99), ttl=0, deletionTimestamp="2026-06-01T11:00:00Z"),
    ],
    ids=["no ttl", "not finished", "about to complete", "about to fail", "not complete", "being deleted"],
)
def test_a_job_that_is_not_eligible_is_kept_and_not_looked_at_again(kept: Obj) -> None:
    plan = decide(kept, NOW)
    assert not plan.delete
    assert plan.look_again is None
    assert not wanted(kept)


def test_the_first_ending_condition_counts_and_not_the_completion_time() -> None:
    first = job(ended("SuccessCriteriaMet", 50), ended("Complete", 20), ended("Failed", 2), ttl=30)
    first["status"]["completionTime"] = "2026-05-01T00:00:00Z"
    assert decide(first, NOW).look_again == 10


def test_a_job_that_finished_in_the_future_waits_longer_and_says_so() -> None:
    plan = decide(job(ended("Complete", -60), ttl=30), NOW)
    assert plan.look_again == 90
    assert plan.skew


def test_a_job_that_does_not_say_when_it_finished_is_an_error() -> None:
    with pytest.raises(TryAgain, match="unable to find the time when the Job ns/j finished"):
        decide(job(ended("Complete", lastTransitionTime=None), ttl=30), NOW)


@pytest.mark.parametrize(
    ("text", "seconds"), [("90", 90), ("0", 0), ("36h", 129600), ("1h30m", 5400), ("1.5s", 1.5)]
)
def test_annotations_say_how_long_a_job_stays_by_its_outcome(text: str, seconds: float) -> None:
    for key, how, other in ((SUCCESS, "Complete", "Failed"), (FAILURE, "Failed", "Complete")):
        plan = decide(job(ended(how), annotations={key: text}), NOW - timedelta(seconds=1))
        assert plan.look_again == seconds + 1
        assert decide(job(ended(other), annotations={key: text}), NOW).why[0].code == "NoTtl"


def test_an_annotation_beats_the_field_for_its_outcome_alone() -> None:
    annotations = {FAILURE: "72h"}
    assert decide(job(ended("Failed", 60), ttl=10, annotations=annotations), NOW).look_again == 72 * 3600 - 60
    assert decide(job(ended("Complete", 60), ttl=10, annotations=annotations), NOW).delete
    assert decide(job(ended("Complete", 60), ttl=9999, annotations={SUCCESS: "0"}), NOW).delete


@pytest.mark.parametrize("text", ["", "soon", "-5", "-5s", "3d", "1e3", "٣", "9" * 30, "9" * 5000])
def test_an_annotation_that_cannot_be_read_keeps_the_job(text: str) -> None:
    plan = decide(job(ended("Complete", 99999), ttl=0, annotations={SUCCESS: text}), NOW)
    assert not plan.delete
    assert plan.look_again is None
    assert plan.problem.startswith(f'annotation {SUCCESS}: "')
    assert plan.problem.endswith("the Job is kept")


def test_what_the_cache_keeps_decides_the_same() -> None:
    whole = job(ended("Failed", 5), ttl=10, annotations={FAILURE: "1m", "other": "x"}, labels={"a": "b"})
    whole["spec"]["template"] = {"spec": {"containers": []}}
    whole["status"]["uncountedTerminatedPods"] = {}
    small = READS[kinds.JOBS].of(whole)
    assert decide(small, NOW) == decide(whole, NOW)
    assert wanted(small)
    assert set(small["metadata"]) == {"name", "namespace", "uid", "annotations"}
    assert set(small["spec"]) == {"ttlSecondsAfterFinished"}
