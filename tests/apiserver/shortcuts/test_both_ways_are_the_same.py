"""Shortcuts answer the same bytes as the long way: random requests to two servers, one of which has none."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings

from apiserver.shortcuts.random_requests import stories
from apiserver.shortcuts.two_ways import Request, played
from longshore.api.facts import queue_gate

pytestmark = pytest.mark.long


@given(stories())
@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
def test_shortcuts_answer_store_and_tell_the_same_bytes(story: list[Request]) -> None:
    for short, long in zip(played(story, shortcuts=True), played(story, shortcuts=False), strict=True):
        assert short == long


def test_pods_that_a_queue_gates_have_each_its_own_time() -> None:
    meta = {"annotations": {queue_gate.KEY: "true"}}
    spec = {"schedulerName": "volcano", "restartPolicy": "Never", "containers": [{"name": "m", "image": "i"}]}
    pods = [Request("create", "pod", {"metadata": {"name": n, **meta}, "spec": spec}) for n in "abcdef"]
    assert played(pods, shortcuts=True) == played(pods, shortcuts=False)
