"""The default storage class of claims, and the one default priority class."""

from __future__ import annotations

import pytest

from longshore.api.errors import StatusError
from longshore.api.kinds import table
from longshore.api.types import Obj
from longshore.apiserver.admission import default_classes

PRIORITIES = next(r for r in table.RESOURCES if r.plural == "priorityclasses")


def a_class(name: str, created: str, default: str = "true") -> Obj:
    annotations = {"storageclass.kubernetes.io/is-default-class": default}
    return {"metadata": {"name": name, "creationTimestamp": created, "annotations": annotations}}


def test_a_claim_without_a_class_gets_the_newest_default() -> None:
    claim: Obj = {"metadata": {}, "spec": {}}
    classes = [
        a_class("a", "2021"),
        a_class("c", "2022"),
        a_class("b", "2022"),
        a_class("d", "2023", "false"),
    ]
    default_classes.set_default(claim, classes)
    assert claim["spec"]["storageClassName"] == "b"


@pytest.mark.parametrize("spec", [{"storageClassName": ""}, {"storageClassName": "x"}])
def test_a_claim_that_names_a_class_even_none_keeps_it(spec: Obj) -> None:
    claim: Obj = {"metadata": {}, "spec": dict(spec)}
    default_classes.set_default(claim, [a_class("a", "2021")])
    assert claim["spec"] == spec


def test_a_second_default_priority_class_is_refused() -> None:
    first: Obj = {"metadata": {"name": "first"}, "globalDefault": True}
    second: Obj = {"metadata": {"name": "second"}, "globalDefault": True}
    default_classes.check_only_default(PRIORITIES, first, [first])
    default_classes.check_only_default(PRIORITIES, {"metadata": {"name": "plain"}}, [first])
    with pytest.raises(StatusError) as caught:
        default_classes.check_only_default(PRIORITIES, second, [first])
    assert caught.value.message == (
        'priorityclasses.scheduling.k8s.io "second" is forbidden: '
        "PriorityClass first is already marked as default. Only one default can exist"
    )
