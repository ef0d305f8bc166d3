"""Pod Security Standards beyond what was recorded: several containers, versions, labels, our own level."""

from __future__ import annotations

from typing import Any

import pytest

from longshore.api.pod_security import levels
from longshore.api.pod_security.levels import Level
from longshore.api.types import Obj


def pod(*contexts: Obj, annotations: Obj | None = None, **spec: Any) -> Obj:
    """A pod with a container for each securityContext: a, b, …"""
    named = [{"name": "abcd"[i], "securityContext": each} for i, each in enumerate(contexts)]
    return {"metadata": {"annotations": annotations or {}}, "spec": {"containers": named, **spec}}


def said(level: str, obj: Obj, version: str = "latest") -> str:
    return levels.listed(levels.violations(Level(level, version), obj))


GOOD: Obj = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
SAFE: Obj = {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
SE_LINUX = "set forbidden securityContext.seLinuxOptions"


@pytest.mark.parametrize(
    ("obj", "text"),
    [
        (
            pod({"privileged": True}, {"privileged": True}),
            'privileged (containers "a", "b" must not set securityContext.privileged=true)',
        ),
        (
            pod(
                {"seccompProfile": {"type": "Unconfined"}}, securityContext={"seccompProfile": {"type": "x"}}
            ),
            'seccompProfile (pod and container "a" must not set securityContext.seccompProfile.type to '
            '"Unconfined", "x")',
        ),
        (
            pod({"procMount": "Unmasked"}),
            'procMount (container "a" must not set securityContext.procMount to "Unmasked")',
        ),
        (
            pod({"seLinuxOptions": {"role": "r"}}, {"seLinuxOptions": {"type": "container_engine_t"}}),
            f'seLinuxOptions (container "a" {SE_LINUX}: role may not be set)',
        ),
        (
            pod({}, annotations={"container.apparmor.security.beta.kubernetes.io/a": "unconfined"}),
            "forbidden AppArmor profile (annotation must not set AppArmor profile type to "
            '"container.apparmor.security.beta.kubernetes.io/a="unconfined"")',
        ),
        (
            pod({"windowsOptions": {"hostProcess": True}}, hostNetwork=True),
            "host namespaces (hostNetwork=true), "
            'hostProcess (container "a" must not set securityContext.windowsOptions.hostProcess=true)',
        ),
    ],
)
def test_baseline_says_who_asks_for_what(obj: Obj, text: str) -> None:
    assert said("baseline", obj) == text
    assert said("privileged", obj) == ""


def test_ports_and_hosts_of_probes_are_listed_once() -> None:
    probe = {"httpGet": {"host": "h"}}
    containers = [
        {"name": "a", "ports": [{"hostPort": 9}, {"hostPort": 80}], "livenessProbe": probe},
        {"name": "b", "ports": [{"hostPort": 9}], "lifecycle": {"preStop": {"tcpSocket": {"host": "h"}}}},
    ]
    ports = 'hostPort (containers "a", "b" use hostPorts 80, 9)'
    hosts = 'probe or lifecycle host (containers "a", "b" use probe or lifecycle host "h")'
    assert said("baseline", {"spec": {"containers": containers}}) == f"{ports}, {hosts}"
    assert said("baseline", {"spec": {"containers": containers}}, "v1.33") == ports


@pytest.mark.parametrize(
    ("obj", "version", "text"),
    [
        (pod({}, securityContext={"sysctls": [{"name": "net.ipv4.tcp_rmem"}]}), "v1.32", ""),
        (
            pod({}, securityContext={"sysctls": [{"name": "net.ipv4.tcp_rmem"}]}),
            "v1.31",
            "forbidden sysctls (net.ipv4.tcp_rmem)",
        ),
        (
            pod({}, annotations={"seccomp.security.alpha.kubernetes.io/pod": "unconfined"}),
            "v1.18",
            'seccompProfile (forbidden annotation seccomp.security.alpha.kubernetes.io/pod="unconfined")',
        ),
        (pod({"procMount": "Unmasked"}, hostUsers=False), "v1.35", ""),
        (
            pod({"procMount": "Unmasked"}, hostUsers=False),
            "v1.34",
            'procMount (container "a" must not set securityContext.procMount to "Unmasked")',
        ),
    ],
)
def test_checks_are_those_of_the_version(obj: Obj, version: str, text: str) -> None:
    assert said("baseline", obj, version) == text


@pytest.mark.parametrize(
    ("obj", "version", "text"),
    [
        (pod(GOOD, securityContext=SAFE), "latest", ""),
        (
            pod({}),
            "v1.7",
            'runAsNonRoot != true (pod or container "a" must set securityContext.runAsNonRoot=true)',
        ),
        (
            pod({**GOOD, "runAsNonRoot": False}, securityContext=SAFE),
            "latest",
            'runAsNonRoot != true (container "a" must not set securityContext.runAsNonRoot=false)',
        ),
        (
            pod(GOOD, securityContext=SAFE, volumes=[{"name": "h", "hostPath": {}}, {"name": "i", "fc": {}}]),
            "latest",
            'restricted volume types (volumes "h", "i" use restricted volume types "fc", "hostPath")',
        ),
        (pod({**GOOD, "runAsUser": 0}, securityContext=SAFE, hostUsers=False), "latest", ""),
        (pod({"capabilities": {"add": ["X"]}}, os={"name": "windows"}, securityContext=SAFE), "v1.36", ""),
        (
            pod({**GOOD, "procMount": "Unmasked"}, securityContext=SAFE, hostUsers=False),
            "latest",
            'procMount (container "a" must not set securityContext.procMount to "Unmasked")',
        ),
    ],
)
def test_restricted_asks_for_more(obj: Obj, version: str, text: str) -> None:
    assert said("restricted", obj, version) == text


def test_what_is_enforced_is_warned_of_unless_the_labels_say_otherwise() -> None:
    prefix = levels.PREFIX
    enforced = {f"{prefix}enforce": "restricted", f"{prefix}enforce-version": "v1.30"}
    assert levels.policy(enforced)[0].warn == Level("restricted", "v1.30")
    assert levels.policy({**enforced, f"{prefix}warn-version": "v1.29"})[0].warn == Level(
        "restricted", "v1.29"
    )
    assert levels.policy({**enforced, f"{prefix}warn": "baseline"})[0].warn == Level("baseline")
    assert levels.policy({})[0] == levels.Policy()


def test_labels_that_cannot_be_read_enforce_the_strictest_level() -> None:
    labels = {
        f"{levels.PREFIX}enforce": "odd",
        f"{levels.PREFIX}warn": "odd",
        f"{levels.PREFIX}audit-version": "1",
    }
    policy, problems = levels.policy(labels)
    assert (policy.enforce, policy.warn) == (Level("restricted"), Level("privileged"))
    assert len(problems) == 3


@pytest.mark.parametrize(("asked", "usual", "is_weaker"), [
    ("none", "full", True), ("process", "full", True), ("full", "full", False), ("none", "none", False),
    ("full", "process", False), ("odd", "full", False),
])  # fmt: skip
def test_a_level_of_isolation_is_weaker_than_the_usual_one(asked: str, usual: str, is_weaker: bool) -> None:
    found = levels.isolation_violations(pod({}, annotations={"longshore.dev/isolation": asked}), usual)
    assert [each.reason for each in found] == (["isolation"] if is_weaker else [])


def test_isolated_closes_what_opens_disks_here() -> None:
    found = levels.isolation_violations(pod({"capabilities": {"add": ["MKNOD", "CHOWN"]}}), "full")
    assert levels.listed(found) == (
        'non-default capabilities (container "a" must not include "MKNOD" in '
        "securityContext.capabilities.add)"
    )


def test_templates_of_custom_kinds_may_hold_anything() -> None:
    for odd in ({}, {"metadata": 1, "spec": []}, {"spec": {"containers": ["x", {"securityContext": "y"}]}}):
        levels.isolation_violations(odd, "full")
        said("restricted", odd)
