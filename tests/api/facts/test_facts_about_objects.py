"""Questions that many rooms ask about pods, Jobs and owners."""

from __future__ import annotations

import pytest

from longshore.api import resources
from longshore.api.facts import conditions, job_state, kinds, owners, pod_state, volcano_job_state
from longshore.api.kinds import table


@pytest.mark.parametrize(
    ("phase", "ended"),
    [("Pending", False), ("Running", False), ("Unknown", False), ("Succeeded", True), ("Failed", True)],
)
def test_a_pod_has_ended_once_it_succeeded_or_failed(phase: str, ended: bool) -> None:
    assert pod_state.has_ended({"status": {"phase": phase}}) is ended


def test_a_pod_without_a_phase_is_pending() -> None:
    assert pod_state.phase_of({}) == pod_state.phase_of({"status": {}}) == "Pending"
    assert not pod_state.has_ended({})


def test_a_pod_is_ready_when_its_condition_says_true() -> None:
    assert pod_state.is_ready({"status": {"conditions": [{"type": "Ready", "status": "True"}]}})
    assert not pod_state.is_ready({"status": {"conditions": [{"type": "Ready", "status": "False"}]}})
    assert not pod_state.is_ready({"status": {"conditions": [{"type": "Initialized", "status": "True"}]}})
    assert not pod_state.is_ready({})


@pytest.mark.parametrize(("text", "index"), [("7", 7), ("+7", 7), ("foo", None), ("-1", None), ("", None)])
def test_a_pod_has_the_index_of_its_annotation_if_that_can_be_read(text: str, index: int | None) -> None:
    pod = {"metadata": {"annotations": {pod_state.COMPLETION_INDEX: text}}}
    assert pod_state.completion_index(pod) == index
    assert pod_state.completion_index({"metadata": {}}) is None


@pytest.mark.parametrize("type", ["Complete", "Failed"])
def test_a_job_has_ended_by_the_condition_that_says_so(type: str) -> None:
    waits = {"type": "FailureTarget", "status": "True"}
    end = {"type": type, "status": "True"}
    assert job_state.end_of({"status": {"conditions": [waits, end]}}) == end
    assert not job_state.has_ended({"status": {"conditions": [waits, {**end, "status": "False"}]}})
    assert not job_state.has_ended({})


def test_an_aborted_volcano_job_has_not_ended_because_it_may_be_resumed() -> None:
    assert volcano_job_state.has_ended({"status": {"state": {"phase": "Terminated"}}})
    assert not volcano_job_state.has_ended({"status": {"state": {"phase": "Aborted"}}})
    assert volcano_job_state.phase_of({"status": {"state": None}}) == ""


def test_a_condition_is_found_by_its_type() -> None:
    obj = {"status": {"conditions": [{"type": "A", "status": "False"}, {"type": "B", "status": "True"}]}}
    assert conditions.find(obj, "B") == {"type": "B", "status": "True"}
    assert conditions.find(obj, "C") is None
    assert (conditions.holds(obj, "A"), conditions.holds(obj, "B")) == (False, True)


def test_an_object_belongs_to_the_owner_that_controls_it_by_uid() -> None:
    owner = {"metadata": {"name": "j", "uid": "u"}}
    ref = owners.controller_ref(owner, kinds.JOBS)
    child = {"metadata": {"namespace": "ns", "ownerReferences": [{"uid": "other"}, ref]}}
    assert owners.controller_of(child) == ref
    assert owners.is_controlled_by(child, owner)
    assert not owners.is_controlled_by(child, {"metadata": {"name": "j", "uid": "later"}})
    assert owners.owner_index(child) == (owners.owner_key("ns", "Job", "j", "u"),)


@pytest.mark.parametrize("name", [name for name in vars(kinds) if name.isupper()])
def test_every_kind_named_is_one_that_is_served_or_belongs_to_others(name: str) -> None:
    version, kind = getattr(kinds, name)
    alpha = version == "scheduling.k8s.io/v1alpha2"  # custom resources, where a person turns them on
    foreign = version == "apps/v1" or alpha
    row: resources.Resource | None = table.by_kind(version, kind)
    assert (row is None) == foreign
