"""What a pod needs, all in all, and its class of service."""

from __future__ import annotations

from typing import Any

import pytest

from longshore.api.facts import pod_state
from longshore.api.pod_resources import pod_limits, pod_requests, qos_class
from longshore.api.types import Obj


def c(*, sidecar: bool = False, limits: Obj | None = None, **requests: Any) -> Obj:
    container: Obj = {"resources": {"requests": requests, "limits": limits or {}}}
    return {**container, "restartPolicy": "Always"} if sidecar else container


def test_containers_add_up() -> None:
    spec = {"containers": [c(cpu="100m", memory="1Gi"), c(cpu="1"), c()]}
    assert pod_requests(spec) == {"cpu": "1100m", "memory": "1Gi"}


def test_init_containers_count_by_the_largest() -> None:
    spec = {"containers": [c(cpu="1", memory="1Gi")], "initContainers": [c(cpu="2"), c(memory="512Mi")]}
    assert pod_requests(spec) == {"cpu": "2", "memory": "1Gi"}


def test_sidecars_count_beside_what_runs_after_them() -> None:
    spec = {"containers": [c(cpu="1")], "initContainers": [c(cpu="3"), c(sidecar=True, cpu="1"), c(cpu="4")]}
    assert pod_requests(spec) == {"cpu": "5"}


def test_the_pods_own_requests_replace_those_of_its_containers() -> None:
    spec = {"containers": [c(cpu="1", memory="1Gi")], "resources": {"requests": {"cpu": "4"}}}
    assert pod_requests(spec) == {"cpu": "4", "memory": "1Gi"}


def test_overhead_adds_to_requests_and_to_limits_that_exist() -> None:
    spec = {"containers": [c(limits={"cpu": "1"}, cpu="1")], "overhead": {"cpu": "250m", "memory": "1Mi"}}
    assert pod_requests(spec) == {"cpu": "1250m", "memory": "1Mi"}
    assert pod_limits(spec) == {"cpu": "1250m"}


GPU: dict[str, Any] = {"example.com/gpu": "1"}
FULL: dict[str, Any] = {"cpu": "1", "memory": "1Gi"}


@pytest.mark.parametrize(
    ("spec", "wanted"),
    [
        ({"containers": [c()]}, "BestEffort"),
        ({"containers": [c(**GPU, limits=GPU)]}, "BestEffort"),
        ({"containers": [c(**FULL, limits=FULL)]}, "Guaranteed"),
        ({"containers": [c(cpu="1000m", memory="1024Mi", limits=FULL)]}, "Guaranteed"),
        ({"containers": [c(**FULL, limits=FULL), c()]}, "Burstable"),
        ({"containers": [c(**FULL, limits=FULL)], "initContainers": [c(cpu="1")]}, "Burstable"),
        ({"containers": [c(cpu="1", limits={"cpu": "1"})]}, "Burstable"),
        ({"containers": [c()], "resources": {"requests": FULL, "limits": FULL}}, "Guaranteed"),
    ],
)
def test_the_class_of_service_follows_from_requests_and_limits(spec: Obj, wanted: str) -> None:
    assert qos_class(spec) == wanted


def test_a_pod_is_over_when_it_succeeded_or_failed() -> None:
    assert pod_state.has_ended({"status": {"phase": "Succeeded"}})
    assert pod_state.has_ended({"status": {"phase": "Failed"}})
    assert not pod_state.has_ended({"status": {"phase": "Running"}})
    assert not pod_state.has_ended({})
