"""What may change in a Job that exists, and what may not."""

from __future__ import annotations

from typing import Any

import pytest

from longshore.api.errors import StatusError
from support.hooks import Registry

REQUIREMENT = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "Exists"}]}]}
NODE_AFFINITY = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": REQUIREMENT}}
NEAR_TERM = {"labelSelector": {"matchLabels": {"a": "b"}}, "topologyKey": "zone"}
POD_AFFINITY = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [NEAR_TERM]}}
STARTED = "2026-01-01T00:00:00Z"


def registry(
    pod: dict[str, Any] | None = None, status: dict[str, Any] | None = None, **spec: Any
) -> Registry:
    containers = [{"name": "main", "image": "a:1"}, {"name": "side", "image": "b:1"}]
    template = {"spec": {"restartPolicy": "Never", "containers": containers, **(pod or {})}}
    out = Registry("jobs", "batch")
    out.create({"metadata": {"name": "j"}, "spec": {"template": template, **spec}})
    out.stored["j"]["status"] = status or {}
    return out


def problems(jobs: Registry, patch: dict[str, Any]) -> list[str]:
    """Fields and texts of the refusal; empty when the patch is accepted."""
    try:
        jobs.patch("j", patch)
    except StatusError as refused:
        return [
            f"{c['field']}: {c['message'].rpartition(': ')[2]}" for c in (refused.details or {})["causes"]
        ]
    return []


def template(**pod: Any) -> dict[str, Any]:
    return {"spec": {"template": {"spec": pod}}}


def containers(**changes: Any) -> list[dict[str, Any]]:
    return [{"name": "main", "image": "a:1", **changes}, {"name": "side", "image": "b:1"}]


OPEN_CHANGES = [
    {"spec": {"template": {"metadata": {"labels": {"new": "1"}, "annotations": {"x": "y"}}}}},
    template(nodeSelector={"disk": "ssd"}),
    template(tolerations=[{"key": "k", "operator": "Exists"}]),
    template(schedulingGates=[{"name": "example.com/gate"}]),
    template(affinity=NODE_AFFINITY),
    template(containers=containers(resources={"limits": {"cpu": "1"}})),
]


@pytest.mark.parametrize("change", OPEN_CHANGES)
def test_a_suspended_job_that_never_started_may_be_placed_anew(change: dict[str, Any]) -> None:
    assert problems(registry(suspend=True), change) == []


@pytest.mark.parametrize("change", OPEN_CHANGES)
def test_a_running_job_has_a_fixed_template(change: dict[str, Any]) -> None:
    assert problems(registry(), change) == ["spec.template: field is immutable"]


@pytest.mark.parametrize(
    "change",
    [
        template(containers=containers(image="a:2")),
        template(containers=list(reversed(containers()))),
        template(containers=containers()[:1]),
        template(containers=[*containers(), {"name": "more", "image": "c"}]),
        template(priorityClassName="high"),
        template(affinity=POD_AFFINITY),
        template(terminationGracePeriodSeconds=5),
    ],
)
def test_even_an_open_template_keeps_what_runs(change: dict[str, Any]) -> None:
    assert problems(registry(suspend=True), change) == ["spec.template.spec: field is immutable"]


def test_affinity_may_vanish_if_it_spoke_of_nodes_alone() -> None:
    gone = template(affinity=None)
    assert problems(registry({"affinity": NODE_AFFINITY}, suspend=True), gone) == []
    both = {**NODE_AFFINITY, **POD_AFFINITY}
    assert problems(registry({"affinity": both}, suspend=True), gone) == [
        "spec.template.spec: field is immutable"
    ]


@pytest.mark.parametrize(
    ("status", "is_open"),
    [
        ({}, True),
        ({"active": 1}, False),
        ({"startTime": STARTED}, False),
        ({"startTime": STARTED, "conditions": [{"type": "Suspended", "status": "True"}]}, True),
        ({"startTime": STARTED, "conditions": [{"type": "Suspended", "status": "False"}]}, False),
        ({"active": 1, "conditions": [{"type": "Suspended", "status": "True"}]}, False),
    ],
)
def test_a_template_is_open_while_suspension_has_taken_effect(status: dict[str, Any], is_open: bool) -> None:
    found = problems(registry(status=status, suspend=True), template(nodeSelector={"a": "b"}))
    assert found == ([] if is_open else ["spec.template: field is immutable"])


def test_one_write_may_change_the_template_and_resume() -> None:
    patch = {"spec": {"suspend": False, "template": {"spec": {"nodeSelector": {"a": "b"}}}}}
    jobs = registry(suspend=True)
    assert problems(jobs, patch) == []
    assert problems(jobs, template(nodeSelector={"a": "c"})) == ["spec.template: field is immutable"]


def test_completions_of_an_indexed_job_move_with_parallelism() -> None:
    jobs = registry(completionMode="Indexed", completions=3, parallelism=3)
    assert problems(jobs, {"spec": {"completions": 5, "parallelism": 5}}) == []
    assert problems(jobs, {"spec": {"completions": 4}}) == [
        "spec.completions: can only be modified in tandem with spec.parallelism"
    ]
    assert problems(jobs, {"spec": {"parallelism": 1}}) == []


def test_a_spec_that_is_wrong_in_itself_is_reported_twice() -> None:
    text = "spec.backoffLimit: must be greater than or equal to 0"
    assert problems(registry(), {"spec": {"backoffLimit": -1}}) == [text, text]


@pytest.mark.parametrize(
    "change",
    [
        {"activeDeadlineSeconds": 5},
        {"ttlSecondsAfterFinished": 0},
        {"backoffLimit": 0},
        {"suspend": True},
        {"podReplacementPolicy": "Failed"},
        {"parallelism": 0},
        {"manualSelector": True},
    ],
)
def test_the_rest_of_the_spec_may_change_and_counts_as_a_generation(change: dict[str, Any]) -> None:
    jobs = registry()
    assert problems(jobs, {"spec": change}) == []
    assert jobs.stored["j"]["metadata"]["generation"] == 2


def test_old_templates_need_only_the_labels_they_have() -> None:
    jobs = registry()
    old = jobs.stored["j"]
    legacy = {"controller-uid": old["metadata"]["uid"], "job-name": "j"}
    old["spec"]["template"]["metadata"]["labels"] = legacy
    old["spec"]["selector"] = {"matchLabels": {"controller-uid": old["metadata"]["uid"]}}
    assert problems(jobs, {"metadata": {"labels": {"a": "b"}}}) == []
