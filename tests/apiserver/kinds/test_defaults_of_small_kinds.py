"""What is filled in for the kinds that are not pods, Jobs or CronJobs."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from longshore.api.types import Obj
from support.places import RECORDED

VECTORS = RECORDED / "vectors/api/defaults.json"
NAMESPACE = "team"


@pytest.mark.parametrize("name", ["configmap-minimal", "configmap-data", "namespace-minimal", "node-minimal"])
def test_recorded_objects_come_out_as_from_kubernetes(kind: Callable[..., Any], name: str) -> None:
    text = VECTORS.read_text().replace("<ns>", NAMESPACE)
    exchange = next(e for e in json.loads(text) if e["name"] == name)
    of = kind(exchange["request"]["path"].rpartition("/")[2])
    have = of.create(exchange["request"]["body"], NAMESPACE)
    wanted = {k: v for k, v in exchange["response"]["body"].items() if k not in ("kind", "apiVersion")}
    wanted["metadata"].pop("resourceVersion")
    have["metadata"].update(uid="<uid>", creationTimestamp="<time>")
    assert have == wanted


@pytest.mark.parametrize(
    ("plural", "group", "body", "filled"),
    [
        ("secrets", "", {"stringData": {"a": "1"}, "data": {"b": "Mg=="}}, {"type": "Opaque"}),
        ("secrets", "", {"stringData": {"a": "1"}, "data": {"a": "Mg=="}}, {"data": {"a": "MQ=="}}),
        ("persistentvolumes", "", _PV := {
            "spec": {
                "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/x"},
            }
        }, {"status": {"phase": "Pending", "lastPhaseTransitionTime": "2021-01-01T00:00:00Z"}}),
        ("persistentvolumes", "", _PV, {
            "spec": {
                "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"],
                "hostPath": {"path": "/x", "type": ""}, "persistentVolumeReclaimPolicy": "Retain",
                "volumeMode": "Filesystem",
            }
        }),
        ("persistentvolumeclaims", "", {
            "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
            "status": {"phase": "Bound"},
        }, {"status": {"phase": "Pending"}}),
        ("priorityclasses", "scheduling.k8s.io", {"value": 5}, {"preemptionPolicy": "PreemptLowerPriority"}),
        ("storageclasses", "storage.k8s.io", {"provisioner": "x.io/y"}, {
            "reclaimPolicy": "Delete", "volumeBindingMode": "Immediate",
        }),
        ("rolebindings", "rbac.authorization.k8s.io", {
            "roleRef": {"kind": "Role", "name": "r"}, "subjects": [{"kind": "User", "name": "u"}],
        }, {
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"},
            "subjects": [{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "u"}],
        }),
        ("resourcequotas", "", {"spec": {"hard": {"requests.cpu": "0.0001"}}, "status": {"used": {}}}, {
            "spec": {"hard": {"requests.cpu": "1m"}}, "status": {},
        }),
        ("poddisruptionbudgets", "policy", {"spec": {"minAvailable": 1}}, {
            "status": {"disruptionsAllowed": 0, "currentHealthy": 0, "desiredHealthy": 0, "expectedPods": 0},
        }),
        ("replicationcontrollers", "", {
            "spec": {"template": {
                "metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]},
            }},
        }, {"status": {"replicas": 0}}),
    ],
)  # fmt: skip
def test_what_is_left_out_is_filled_in(
    kind: Callable[..., Any], plural: str, group: str, body: Obj, filled: Obj
) -> None:
    have = kind(plural, group).create({"metadata": {"name": "x"}, **body})
    assert {key: have[key] for key in filled} == filled
    assert "stringData" not in have


@pytest.mark.parametrize(
    ("spec", "types"),
    [({}, ["Ingress"]), ({"egress": [{}]}, ["Ingress", "Egress"]), ({"policyTypes": ["Egress"]}, ["Egress"])],
)
def test_a_network_policy_is_about_what_it_has_rules_for(
    kind: Callable[..., Any], spec: Obj, types: list[str]
) -> None:
    policies = kind("networkpolicies", "networking.k8s.io")
    have = policies.create({"metadata": {"name": "x"}, "spec": {"podSelector": {}, **spec}})
    assert have["spec"]["policyTypes"] == types


def test_limits_of_containers_follow_from_each_other(kind: Callable[..., Any]) -> None:
    item = {
        "type": "Container",
        "max": {"cpu": "2", "memory": "2Gi"},
        "min": {"cpu": "1m", "ephemeral-storage": "1Mi"},
        "default": {"memory": "1Gi"},
    }
    have = kind("limitranges").create({"metadata": {"name": "x"}, "spec": {"limits": [item]}})
    (limits,) = have["spec"]["limits"]
    assert limits["default"] == {"cpu": "2", "memory": "1Gi"}
    assert limits["defaultRequest"] == {"cpu": "2", "memory": "1Gi", "ephemeral-storage": "1Mi"}


def test_a_replication_controller_takes_labels_and_selector_from_its_template(
    kind: Callable[..., Any],
) -> None:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    have = kind("replicationcontrollers").create({"metadata": {"name": "x"}, "spec": {"template": template}})
    assert have["spec"]["selector"] == have["metadata"]["labels"] == {"a": "b"}
    assert have["spec"]["replicas"] == 1


def test_a_node_brings_its_status_and_keeps_it_on_plain_updates(kind: Callable[..., Any]) -> None:
    nodes = kind("nodes")
    body = {
        "metadata": {"name": "n"},
        "spec": {"podCIDR": "10.0.0.0/24"},
        "status": {"capacity": {"cpu": "4", "memory": "1Gi"}},
    }
    old = nodes.create(body)
    assert old["status"]["allocatable"] == {"cpu": "4", "memory": "1Gi"}
    assert old["spec"]["podCIDRs"] == ["10.0.0.0/24"]
    new = nodes.update(old, {"status": {}, "spec": {**old["spec"], "unschedulable": True}})
    assert new["status"] == old["status"]
    assert new["spec"]["unschedulable"] is True
