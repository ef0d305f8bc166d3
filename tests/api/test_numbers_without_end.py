"""Texts with more digits than Python reads as a number are refused like other numbers that are too large."""

from __future__ import annotations

from longshore.api.field import FieldError
from longshore.api.kinds import poddisruptionbudget
from longshore.api.validation.pod import pod_annotations
from longshore.api.validation.volcano import pod

LONG = "9" * 5000


def test_a_percentage_of_a_disruption_budget() -> None:
    (found,) = poddisruptionbudget._amount(f"{LONG}%", "spec.minAvailable")
    assert str(found).endswith("must not be greater than 100%")


def test_the_cost_of_a_pods_deletion() -> None:
    found: list[FieldError] = []
    annotations = {"controller.kubernetes.io/pod-deletion-cost": LONG}
    pod_annotations.validate_annotations(annotations, {"containers": []}, "metadata.annotations", found)
    assert [str(each)[-len("must be a 32bit integer") :] for each in found] == ["must be a 32bit integer"]


def test_the_budget_of_volcanos_pods() -> None:
    for value in (LONG, f"{LONG}%", f"-{LONG}"):
        assert "value out of range" in pod.validate({"volcano.sh/jdb-min-available": value})
