"""Images that are not used are told once for each owner, and owners of long ago are forgotten."""

from __future__ import annotations

from longshore.api.types import Obj
from longshore.node.pod.facts import facts_of
from longshore.node.pod.starting import UnusedImages


def is_news(source: UnusedImages, owner: str) -> bool:
    refs = [{"kind": "Job", "name": owner, "uid": owner, "controller": True}]
    pod: Obj = {
        "metadata": {"name": "p", "namespace": "ns", "uid": "u", "ownerReferences": refs},
        "spec": {"containers": [{"name": "c", "image": "i"}], "restartPolicy": "Never"},
    }
    return source.is_news(pod, facts_of(pod))


def test_so_many_owners_are_remembered_and_those_of_long_ago_forgotten() -> None:
    source = UnusedImages()
    assert [is_news(source, owner) for owner in ("first", "first")] == [True, False]
    for number in range(1024):
        assert is_news(source, str(number))
    assert is_news(source, "first")
    assert not is_news(source, "1023")
