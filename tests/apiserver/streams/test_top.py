"""`kubectl top`: what pods and nodes use, while there is a node to measure it."""

from __future__ import annotations

import json

import pytest

from apiserver.streams.conftest import PODS, Kubectl, Stage
from longshore.api.usage import Used
from support.local_door import NODE

pytestmark = pytest.mark.anyio


async def _use(stage: Stage, name: str, **used: Used) -> None:
    pod = await stage.longshore.client.get(PODS, name, "default")
    stage.door.used[pod["metadata"]["uid"]] = used


async def test_top_pod_shows_what_pods_use(stage: Stage, kubectl: Kubectl) -> None:
    await stage.pod("one", "a", "b")
    await stage.pod("idle")
    await _use(stage, "one", a=Used(0.25, 10 << 20), b=Used(0.005, 1 << 20))
    lines = (await kubectl.ok("top", "pod")).decode().splitlines()
    assert [line.split() for line in lines] == [
        ["NAME", "CPU(cores)", "MEMORY(bytes)"],
        ["one", "255m", "11Mi"],
    ]
    lines = (await kubectl.ok("top", "pod", "one", "--containers", "--no-headers")).decode().splitlines()
    assert [line.split() for line in lines] == [["one", "a", "250m", "10Mi"], ["one", "b", "5m", "1Mi"]]
    assert (await kubectl("top", "pod", "idle")).exit == 1
    assert (await kubectl("top", "pod", "-l", "no=such")).stdout == b""


async def test_top_node_shows_the_machine(stage: Stage, kubectl: Kubectl) -> None:
    client = stage.longshore.client
    node = await client.get(("v1", "Node"), NODE)
    amounts = {"cpu": "3", "memory": "1Gi"}
    await client.update_status(
        ("v1", "Node"), {**node, "status": {"capacity": amounts, "allocatable": amounts}}
    )
    lines = (await kubectl.ok("top", "node", "--no-headers")).decode().split()
    assert lines == [NODE, "750m", "25%", "512Mi", "50%"]


async def test_one_pod_is_measured_by_name(stage: Stage, kubectl: Kubectl) -> None:
    await stage.pod("one")
    await _use(stage, "one", main=Used(1.5, 2048))
    path = "/apis/metrics.k8s.io/v1beta1/namespaces/default/pods"
    found = json.loads(await kubectl.ok("get", "--raw", f"{path}/one"))
    assert found["kind"] == "PodMetrics"
    assert found["containers"] == [{"name": "main", "usage": {"cpu": "1500000000n", "memory": "2Ki"}}]
    assert (found["timestamp"], found["window"]) == ("2027-01-15T08:00:00Z", "15.25s")
    refused = await kubectl("get", "--raw", f"{path}/none")
    assert b'podmetrics.metrics.k8s.io "default/none" not found' in refused.stderr.replace(b'"', b'"')


async def test_without_a_node_there_are_no_measurements(stage: Stage, kubectl: Kubectl) -> None:
    stage.longshore.api.use_node(None)
    assert b"metrics.k8s.io" not in await kubectl.ok("api-versions")
    assert b"Metrics API not available" in (await kubectl("top", "pod")).stderr
