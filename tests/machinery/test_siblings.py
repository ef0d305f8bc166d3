"""Ordinary events are made for the first pods of an owner, then for some in every second."""

from __future__ import annotations

from longshore.api.types import Obj
from longshore.machinery.events import siblings
from longshore.machinery.events.siblings import Siblings


def of(owner: str) -> Obj:
    refs = [{"kind": "Job", "name": owner, "uid": owner, "controller": True}] if owner else []
    return {"metadata": {"name": "p", "ownerReferences": refs}}


def told(source: Siblings, owner: str, pods: int, seconds: float) -> int:
    return sum(source.is_told_of(of(owner), seconds) for _ in range(pods))


def test_the_first_pods_of_each_owner_are_told_of_and_then_some_a_second() -> None:
    source = Siblings()
    assert told(source, "a", 1000, 0.0) == siblings.BURST
    assert told(source, "b", 10, 0.0) == 10
    assert told(source, "a", 1000, 2.0) == 2 * siblings.PER_SECOND


def test_a_pod_without_an_owner_is_always_told_of() -> None:
    assert told(Siblings(), "", 1000, 0.0) == 1000


def test_owners_met_long_ago_are_forgotten_and_begin_anew() -> None:
    source = Siblings()
    told(source, "first", 1000, 0.0)
    for number in range(2000):
        told(source, str(number), 1, 0.0)
    assert told(source, "first", 1, 0.0) == 1
