"""What happens to a Job on its way in: generated labels and selector, defaults, warnings."""

from __future__ import annotations

from typing import Any

import pytest

from longshore.api.errors import StatusError
from support.hooks import Registry

POD = {"restartPolicy": "Never", "containers": [{"name": "main", "image": "busybox:1.36"}]}


def job(
    name: str = "j", labels: dict[str, str] | None = None, pod: dict[str, str] | None = None, **spec: Any
) -> dict[str, Any]:
    template = {"metadata": {"labels": pod}, "spec": POD}
    return {"metadata": {"name": name, "labels": labels}, "spec": {"template": template, **spec}}


def created(**given: Any) -> dict[str, Any]:
    return Registry("jobs", "batch").create(job(**given))


def warnings(**given: Any) -> list[str]:
    jobs = Registry("jobs", "batch")
    jobs.create(job(**given))
    return jobs.warnings


def problems(**given: Any) -> list[str]:
    with pytest.raises(StatusError) as refused:
        created(**given)
    return [f"{c['field']}: {c['message']}" for c in (refused.value.details or {})["causes"]]


def test_the_template_is_labelled_and_selected_by_uid() -> None:
    made = created()
    uid = made["metadata"]["uid"]
    assert made["spec"]["template"]["metadata"]["labels"] == {
        "batch.kubernetes.io/controller-uid": uid,
        "batch.kubernetes.io/job-name": "j",
        "controller-uid": uid,
        "job-name": "j",
    }
    assert made["spec"]["selector"] == {"matchLabels": {"batch.kubernetes.io/controller-uid": uid}}


def test_a_job_without_labels_shows_those_of_its_template_generated_ones_included() -> None:
    for made in (created(), created(pod={"app": "x"})):
        assert made["metadata"]["labels"] == made["spec"]["template"]["metadata"]["labels"]


def test_a_job_with_a_label_of_its_own_keeps_to_itself() -> None:
    assert created(labels={"app": "x"}, pod={"app": "x"})["metadata"]["labels"] == {"app": "x"}


def test_a_manual_selector_is_left_alone() -> None:
    made = created(pod={"a": "b"}, manualSelector=True, selector={"matchLabels": {"a": "b"}})
    assert made["spec"]["template"]["metadata"]["labels"] == {"a": "b"}
    assert made["spec"]["selector"] == {"matchLabels": {"a": "b"}}


def test_generated_labels_are_not_overwritten_but_must_be_right() -> None:
    assert problems(pod={"job-name": "other"})[0].startswith(
        "spec.template.metadata.labels[job-name]: Invalid"
    )


def test_generated_label_values_are_blamed_on_the_template_alone() -> None:
    fields = {p.partition(":")[0] for p in problems(name="x" * 64)}
    assert fields == {"spec.template.labels"}


def test_a_selector_that_cannot_be_read_is_not_asked_whether_it_matches() -> None:
    broken = {"matchExpressions": [{"key": "a", "operator": "In"}]}
    found = problems(pod={"a": "b"}, manualSelector=True, selector=broken)
    assert found == [
        "spec.selector.matchExpressions[0].values: Required value: must be specified when `operator` is 'In' "
        "or 'NotIn'"
    ]


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({}, {"parallelism": 1, "completions": 1, "backoffLimit": 6}),
        ({"parallelism": 2}, {"parallelism": 2, "backoffLimit": 6}),
        ({"completions": 2}, {"parallelism": 1, "completions": 2, "backoffLimit": 6}),
        (
            {"completionMode": "Indexed", "completions": 2, "backoffLimitPerIndex": 1},
            {"parallelism": 1, "completions": 2, "backoffLimit": 2_147_483_647},
        ),
    ],
)
def test_counts_depend_on_which_are_given(spec: dict[str, Any], expected: dict[str, int]) -> None:
    made = created(**spec)["spec"]
    keys = ("parallelism", "completions", "backoffLimit")
    assert {k: made[k] for k in keys if k in made} == expected


def test_indexed_jobs_of_enormous_width_are_warned_about() -> None:
    text = (
        "spec: In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than "
        "10^4, Kubernetes might not be able to track completedIndexes when a big number of indexes fail"
    )
    assert warnings(completionMode="Indexed", completions=100_001, parallelism=10_001) == [text]
    assert warnings(completionMode="Indexed", completions=100_000, parallelism=10_001) == []


def test_a_name_that_is_no_dns_label_is_warned_about_and_may_not_be_indexed() -> None:
    assert warnings(name="a.b") == [
        "metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; "
        "a DNS label is recommended: [must not contain dots]"
    ]
    assert problems(name="a.b", completionMode="Indexed", completions=3) == [
        'metadata.name: Invalid value: "a.b": will not able to create pod with invalid DNS label: a.b-2'
    ]


def test_a_policy_without_rules_is_fine_for_failures_and_not_for_success() -> None:
    created(podFailurePolicy={"rules": []})
    indexed = {"completionMode": "Indexed", "completions": 1}
    assert problems(successPolicy={"rules": []}, **indexed) == [
        "spec.successPolicy.rules: Required value: at least one rules must be specified when the "
        "successPolicy is specified"
    ]


def test_exit_codes_may_be_negative_and_zero_if_excluded() -> None:
    rule = {"action": "Ignore", "onExitCodes": {"operator": "NotIn", "values": [-1, 0, 3]}}
    created(podFailurePolicy={"rules": [rule]})


def test_a_success_rule_on_an_indexed_job_without_completions_is_an_answer_not_a_crash() -> None:
    found = problems(
        parallelism=2, completionMode="Indexed", successPolicy={"rules": [{"succeededCount": 0}]}
    )
    assert found == ["spec.completions: Required value: when completion mode is Indexed"]
