"""Levels of namespaces, as a real API server answered; and where shortcuts may not be taken."""

from __future__ import annotations

import json
from typing import Any

import pytest

from longshore.api.errors import StatusError
from longshore.apiserver.admission import pod_security
from support.api_in_memory import Server
from support.places import RECORDED

pytestmark = pytest.mark.anyio
PREFIX = "pod-security.kubernetes.io/"
EXCHANGES = json.loads((RECORDED / "vectors/api/pod-security.json").read_text().replace("<ns>", "ns"))
JOBS, NAMESPACES, PODS = ("batch/v1", "Job"), ("v1", "Namespace"), ("v1", "Pod")


async def test_levels_are_answered_as_recorded(server: Server) -> None:
    for each in EXCHANGES:
        for step in [*each.get("setup", ()), each["request"]]:
            if "method" not in step:
                continue
            kind = (step.get("headers") or {}).get("Content-Type", "application/json")
            answer = await server.send(
                step["method"], step["path"], step.get("body"), type=kind, **(step.get("query") or {})
            )
        expected = each["response"]
        warnings = expected["headers"].get("Warning", [""])
        assert (answer.code, answer.warning) == (expected["status"], warnings[-1]), each["name"]
        if answer.code >= 400:
            assert answer.body == expected["body"], each["name"]


def _pod(name: str, **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "i"}], **spec}}


async def test_a_spec_that_passed_in_another_namespace_is_judged_again(server: Server) -> None:
    labels = {f"{PREFIX}enforce": "baseline"}
    await server.client.create(NAMESPACES, {"metadata": {"name": "held", "labels": labels}})
    for name in ("a", "b"):
        await server.client.create(PODS, _pod(name, hostPID=True), "default")
    with pytest.raises(StatusError, match="violates PodSecurity"):
        await server.client.create(PODS, _pod("c", hostPID=True), "held")
    change = {"metadata": {"labels": labels}}
    await server.client.patch(NAMESPACES, "default", change)
    with pytest.raises(StatusError, match="violates PodSecurity"):
        await server.client.create(PODS, _pod("d", hostPID=True), "default")


async def test_existing_pods_are_counted_by_what_they_violate(server: Server) -> None:
    paths = [{"name": "v", "hostPath": {"path": "/"}}]
    pods = [_pod(name, hostPID=True) for name in ("p3", "p1", "p2")]
    pods.append(_pod("q", hostIPC=True, volumes=paths))
    new = {"metadata": {"name": "n", "labels": {f"{PREFIX}enforce": "baseline"}}}
    resource = server.api.catalog.find("", "v1", "namespaces")
    assert resource is not None
    assert pod_security.judge_namespace(resource, new, {"metadata": {}}, lambda *_: pods) == [
        'existing pods in namespace "n" violate the new PodSecurity enforce level "baseline:latest"',
        "p1 (and 2 other pods): host namespaces",
        "q: host namespaces, hostPath volumes",
    ]
    many = [_pod(f"p{number}", hostPID=True) for number in range(501)]
    first, *_ = pod_security.judge_namespace(resource, new, {"metadata": {}}, lambda *_: many)
    assert first == "new PodSecurity enforce level only checked against the first 500 of 501 existing pods"


async def test_our_own_level_has_two_values(server: Server) -> None:
    labels = {"pod-security.longshore.dev/enforce": "odd"}
    with pytest.raises(StatusError, match="must be one of privileged, isolated"):
        await server.client.create(NAMESPACES, {"metadata": {"name": "n", "labels": labels}})
