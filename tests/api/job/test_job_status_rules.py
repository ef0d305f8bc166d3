"""Which status of a Job may follow which."""

from __future__ import annotations

from typing import Any

import pytest

from longshore.api.validation import job_status

START, END = "2026-01-01T00:00:00Z", "2026-01-01T01:00:00Z"
META = {"name": "j", "namespace": "ns", "uid": "u"}
INDEXED = {"completionMode": "Indexed", "completions": 5, "parallelism": 2, "backoffLimitPerIndex": 1}


def conditions(*true: str, **other: str) -> list[dict[str, str]]:
    return [{"type": t, "status": "True"} for t in true] + [
        {"type": t, "status": s} for t, s in other.items()
    ]


COMPLETE = {
    "startTime": START,
    "completionTime": END,
    "conditions": conditions("SuccessCriteriaMet", "Complete"),
}
FAILED = {"startTime": START, "conditions": conditions("FailureTarget", "Failed")}


def problems(new: dict[str, Any], old: dict[str, Any] | None = None, **spec: Any) -> list[str]:
    spec = {"completionMode": "NonIndexed", "completions": 1, "parallelism": 1, "template": {}, **spec}
    found = job_status.validate_job_status(
        {"metadata": META, "spec": spec, "status": new}, {"metadata": META, "spec": spec, "status": old or {}}
    )
    return [f"{p.field.removeprefix('status.')}: {p.detail}" for p in found]


@pytest.mark.parametrize("status", [{}, COMPLETE, FAILED, {"active": 3, "ready": 3, "terminating": 1}])
def test_a_sound_status_passes(status: dict[str, Any]) -> None:
    assert problems(status) == []


@pytest.mark.parametrize(
    ("new", "old", "spec", "expected"),
    [
        ({"failed": 1}, {"failed": 2}, {}, ["failed: cannot decrease the failed counter"]),
        ({"succeeded": 1}, {"succeeded": 2}, {}, ["succeeded: cannot decrease the succeeded counter"]),
        ({"succeeded": 1}, {"succeeded": 2}, INDEXED, ["succeeded: cannot decrease the succeeded counter"]),
        ({"succeeded": 1}, {"succeeded": 2}, {**INDEXED, "parallelism": 5}, []),
        (
            {**COMPLETE, "conditions": conditions("SuccessCriteriaMet", Complete="False")},
            COMPLETE,
            {},
            [
                "completionTime: cannot set completionTime when there is no Complete=True condition",
                "conditions: cannot disable the terminal Complete=True condition",
            ],
        ),
        (
            {"startTime": START, "conditions": conditions("Failed")},
            FAILED,
            {},
            ["conditions: cannot disable the terminal FailureTarget=True condition"],
        ),
        (
            {},
            {"conditions": conditions("SuccessCriteriaMet")},
            {},
            ["conditions: cannot disable the SuccessCriteriaMet=True condition"],
        ),
        (
            COMPLETE,
            {**COMPLETE, "conditions": conditions("Complete")},
            {},
            ["conditions: cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions"],
        ),
        (
            {**COMPLETE, "conditions": conditions("Complete")},
            {"startTime": START},
            {"successPolicy": {"rules": []}},
            [
                "conditions: cannot set Complete=True condition without the SuccessCriteriaMet=true "
                "condition",
                "conditions: cannot set Complete=True for Job with SuccessPolicy unless "
                "SuccessCriteriaMet=True",
            ],
        ),
        (
            {**COMPLETE, "completionTime": "2026-01-01T02:00:00Z"},
            COMPLETE,
            {},
            ["completionTime: field is immutable"],
        ),
        (
            {**FAILED, "active": 1},
            {"startTime": START, "active": 1},
            {},
            ["active: active>0 is invalid for finished job"],
        ),
        (
            {"conditions": conditions("FailureTarget", "Failed")},
            {},
            {},
            ["startTime: startTime is required for finished job"],
        ),
        (
            {"completionTime": END, "conditions": conditions("SuccessCriteriaMet", "Complete")},
            {},
            {"suspend": True, "completions": 0},
            [],
        ),
        (
            {**FAILED, "uncountedTerminatedPods": {"failed": ["u"]}},
            {},
            {},
            ["uncountedTerminatedPods: must be empty for finished job"],
        ),
        ({**FAILED, "uncountedTerminatedPods": {}}, {}, {}, []),
        ({"active": 1, "ready": 2}, {}, {}, ["ready: cannot set more ready pods than active"]),
        (
            {"failedIndexes": ""},
            {},
            {},
            ["failedIndexes: cannot set non-null failedIndexes when backoffLimitPerIndex is null"],
        ),
        (
            {"completedIndexes": "0-2", "failedIndexes": "2,4"},
            {},
            INDEXED,
            ["failedIndexes: failedIndexes and completedIndexes overlap at index: 2"],
        ),
        (
            {"completedIndexes": "9,2", "failedIndexes": "2"},
            {},
            INDEXED,
            [
                'completedIndexes: error parsing completedIndexes: too large index: "9"',
                "failedIndexes: failedIndexes and completedIndexes overlap at index: 2",
            ],
        ),
    ],
)
def test_a_status_that_may_not_follow_is_refused_with_the_reason(
    new: dict[str, Any], old: dict[str, Any], spec: dict[str, Any], expected: list[str]
) -> None:
    assert problems(new, old, **spec) == expected


def test_what_was_wrong_before_does_not_block_other_changes() -> None:
    scaled_down = {"completedIndexes": "0-9", "active": 0}
    assert problems({**scaled_down, "active": 1}, scaled_down, **INDEXED) == []
    odd = {"active": 1, "ready": 2}
    assert problems({**odd, "failed": 1}, odd) == []


def test_the_start_time_stays_once_a_job_runs() -> None:
    text = ["startTime: field is immutable for unsuspended job once set"]
    assert problems({"startTime": END}, {"startTime": START}) == text
    assert problems({}, {"startTime": START}) == text
    assert problems({}, {"startTime": START}, suspend=True) == []
    assert problems({"startTime": START}, {}) == []


def test_resuming_sets_a_new_start_time() -> None:
    before = {"startTime": START, "conditions": conditions("Suspended")}
    assert problems({"startTime": END, "conditions": conditions(Suspended="False")}, before) == []
    assert problems({"startTime": END, "conditions": conditions("Suspended")}, before) != []


def test_conditions_of_other_types_are_nobody_s_business() -> None:
    assert problems({"conditions": conditions("Mine", Other="Whatever")}) == []
