"""Everyday kubectl commands that look: get, describe, watch, wait, events, explain, can-i."""

from __future__ import annotations

import json
import re

import pytest

from support.kubectl_binary import Kubectl
from support.longshore_process import RunningLongshore

pytestmark = pytest.mark.xdist_group("kubectl reading")


def rows(table: str) -> list[list[str]]:
    return [line.split() for line in table.splitlines()]


def test_a_watch_shows_changes_as_they_come(kubectl: Kubectl) -> None:
    kubectl.ok("create", "configmap", "before")
    watch = kubectl.start(
        "get",
        "cm",
        "-w",
        "--output-watch-events",
        "-o",
        "name",
        "--field-selector=metadata.name!=kube-root-ca.crt",
    )
    assert watch.stdout is not None
    try:
        # With the kind of event in front of the name it prints in two writes; both end the line.
        assert watch.stdout.readline().split()[-1] == "configmap/before"
        kubectl.ok("create", "configmap", "after")
        assert watch.stdout.readline().split()[-1] == "configmap/after"
        kubectl.ok("delete", "configmap", "before")
        assert watch.stdout.readline().split()[-1] == "configmap/before"
    finally:
        watch.kill()
        watch.communicate()


def test_wait_sees_a_condition_a_field_a_creation_and_a_deletion(kubectl: Kubectl) -> None:
    kubectl.ok("run", "p", "--image=busybox")
    kubectl.ok("wait", "--for=jsonpath={.status.phase}=Pending", "pod/p", "--timeout=60s")
    assert "timed out" in kubectl.refused("wait", "--for=condition=Ready", "pod/p", "--timeout=1s")
    ready = '{"status":{"conditions":[{"type":"Ready","status":"True"}]}}'
    waiting = kubectl.start("wait", "--for=condition=Ready", "pod/p", "--timeout=20s")
    kubectl.ok("patch", "pod", "p", "--subresource=status", "-p", ready)
    assert waiting.communicate(timeout=10)[0] == "pod/p condition met\n"
    waiting = kubectl.start("wait", "--for=delete", "pod/p", "--timeout=20s")
    kubectl.ok("delete", "pod", "p")
    assert waiting.communicate(timeout=10)[1] == ""
    assert waiting.returncode == 0


def test_events_are_sorted_and_shown_with_their_object(
    kubectl: Kubectl, longshore: RunningLongshore, namespace: str
) -> None:
    kubectl.ok("create", "configmap", "m")
    uid = kubectl.ok("get", "cm", "m", "-o", "jsonpath={.metadata.uid}")
    for name, when in (("later", "2021-06-01T10:05:00Z"), ("sooner", "2021-06-01T10:00:00Z")):
        event = {
            "metadata": {"name": name},
            "involvedObject": {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "name": "m",
                "namespace": namespace,
                "uid": uid,
            },
            "reason": name.capitalize(),
            "message": f"it was {name}",
            "type": "Warning",
            "source": {"component": "tester"},
            "firstTimestamp": when,
            "lastTimestamp": when,
            "count": 2,
        }
        longshore.made("POST", f"/api/v1/namespaces/{namespace}/events", event)
    reasons = [
        row[2] for row in rows(kubectl.ok("get", "events", "--sort-by=.lastTimestamp", "--no-headers"))
    ]
    assert reasons == ["Sooner", "Later"]
    assert [row[-1] for row in rows(kubectl.ok("events", "--for=cm/m", "--types=Warning"))] == [
        "MESSAGE",
        "sooner",
        "later",
    ]
    assert "it was later" in kubectl.ok("describe", "cm", "m")
    assert "Sooner" in kubectl.ok("get", "events.events.k8s.io")


def test_describe_knows_the_kinds(kubectl: Kubectl, namespace: str) -> None:
    kubectl.ok("create", "secret", "generic", "s", "--from-literal=password=abc")
    assert "password:  3 bytes" in kubectl.ok("describe", "secret", "s")
    kubectl.ok("create", "service", "clusterip", "web", "--tcp=80:8080")
    assert ["TargetPort:", "8080/TCP"] in rows(kubectl.ok("describe", "svc", "web"))
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "c"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    }
    kubectl.ok("create", "-f", "-", stdin=json.dumps(claim))
    assert "Status:        Pending" in kubectl.ok("describe", "pvc", "c")
    limits = {
        "apiVersion": "v1",
        "kind": "LimitRange",
        "metadata": {"name": "l"},
        "spec": {"limits": [{"type": "Container", "default": {"cpu": "1"}}]},
    }
    kubectl.ok("create", "-f", "-", stdin=json.dumps(limits))
    kubectl.ok("create", "quota", "q", "--hard=pods=2")
    described = kubectl.ok("describe", "ns", namespace)
    assert "Status:       Active" in described
    assert ["pods", "0", "2"] in rows(described)
    assert ["Container", "cpu", "-", "-", "1", "1", "-"] in rows(described)
    kubectl.ok("run", "p", "--image=busybox")
    described = kubectl.ok("describe", "pod", "p")
    assert re.search("QoS Class: +Burstable", described)


def test_a_long_list_comes_in_chunks_and_complete(kubectl: Kubectl) -> None:
    documents = "---\n".join(
        f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: m{i:02}, labels: {{odd: '{i % 2}'}}}}\n"
        for i in range(12)
    )
    kubectl.ok("create", "-f", "-", stdin=documents)
    names = kubectl.ok("get", "cm", "-l", "odd=1", "--chunk-size=2", "-o", "name").split()
    assert names == [f"configmap/m{i:02}" for i in range(1, 12, 2)]


def test_explain_walks_into_nested_fields(kubectl: Kubectl) -> None:
    assert "FIELD: image <string>" in kubectl.ok("explain", "job.spec.template.spec.containers.image")
    tree = kubectl.ok("explain", "cronjob.spec", "--recursive")
    assert "  schedule\t<string> -required-" in tree
    assert "podFailurePolicy" in tree


def test_auth_knows_who_asks_and_what_they_may_do(kubectl: Kubectl) -> None:
    assert kubectl.ok("auth", "can-i", "delete", "pods") == "yes\n"
    assert "longshore-admin" in kubectl.ok("auth", "whoami")
    mallory = "--as=mallory"
    result = kubectl("auth", "can-i", "delete", "pods", mallory)
    assert (result.exit, result.stdout) == (1, "no\n")
    refusal = kubectl.refused("get", "pods", mallory)
    assert refusal.startswith("Error from server (Forbidden): pods is forbidden: ")
    assert 'User "mallory" cannot list resource "pods" in API group ""' in refusal


def test_a_token_made_by_kubectl_logs_in_as_the_account(kubectl: Kubectl, namespace: str) -> None:
    kubectl.ok("create", "serviceaccount", "robot")
    token = kubectl.ok("create", "token", "robot").strip()
    who = kubectl.ok("auth", "whoami", "-o", "json", "--token", token)
    assert json.loads(who)["status"]["userInfo"]["username"] == f"system:serviceaccount:{namespace}:robot"


def test_what_the_server_has_not_is_said_clearly(kubectl: Kubectl) -> None:
    assert kubectl.refused("top", "pods") == "error: Metrics API not available\n"
    assert (
        kubectl.refused("get", "deployments")
        == 'error: the server doesn\'t have a resource type "deployments"\n'
    )
    assert "the server could not find the requested resource" in kubectl.refused(
        "create", "deployment", "d", "--image=i"
    )


def test_cluster_info_names_the_server(kubectl: Kubectl, longshore: RunningLongshore) -> None:
    assert longshore.server in kubectl.ok("cluster-info")
    assert kubectl.ok("get", "--raw", "/readyz") == "ok"
    assert json.loads(kubectl.ok("version", "-o", "json"))["serverVersion"]["gitVersion"].startswith("v1.36.")


def test_events_are_followed(kubectl: Kubectl, longshore: RunningLongshore, namespace: str) -> None:
    following = kubectl.start("events", "-w", "-o", "name")
    assert following.stdout is not None
    try:
        event = {
            "metadata": {"name": "first"},
            "involvedObject": {"kind": "ConfigMap", "name": "m", "namespace": namespace},
            "reason": "Tested",
        }
        longshore.made("POST", f"/api/v1/namespaces/{namespace}/events", event)
        assert following.stdout.readline() == "event/first\n"
    finally:
        following.kill()
        following.communicate()


def test_runtime_classes_are_listed_with_their_handlers(kubectl: Kubectl) -> None:
    assert [
        line.split()[:2] for line in kubectl.ok("get", "runtimeclasses", "--no-headers").splitlines()
    ] == [
        ["podman", "podman"],
        ["process", "process"],
    ]
    assert "handler" in kubectl.ok("explain", "runtimeclass")
