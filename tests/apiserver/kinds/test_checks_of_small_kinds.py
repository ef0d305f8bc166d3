"""What the kinds that are not pods, Jobs or CronJobs refuse, and in which words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from longshore.api.kinds import table
from longshore.api.types import Obj

RBAC = "rbac.authorization.k8s.io"
RULE = {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}
TAINTS = [{"key": "a", "effect": "NoExecute"}, {"key": "a", "effect": "NoExecute"}]
CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
VOLUME = {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}, "hostPath": {"path": "/x"}}


@pytest.mark.parametrize(
    ("plural", "group", "body", "text"),
    [
        (
            "priorityclasses", "scheduling.k8s.io", {"value": 1_000_000_001},
            "value: Forbidden: maximum allowed value of a user defined priority is 1000000000",
        ),
        (
            "priorityclasses", "scheduling.k8s.io", {"metadata": {"name": "system-x"}, "value": 1},
            "metadata.name: Forbidden: priority class names with 'system-' prefix are reserved for system "
            "use only. error: system-x is not a known system priority class",
        ),
        (
            "priorityclasses", "scheduling.k8s.io", {"value": 1, "preemptionPolicy": "Maybe"},
            'preemptionPolicy: Unsupported value: "Maybe": supported values: "Never", "PreemptLowerPriority"',
        ),
        (
            "leases", "coordination.k8s.io", {"spec": {"leaseDurationSeconds": 0, "leaseTransitions": -1}},
            "[spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0, "
            "spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0]",
        ),
        (
            "leases", "coordination.k8s.io", {"spec": {"preferredHolder": "x"}},
            "spec.preferredHolder: Forbidden: may only be specified if `strategy` is defined",
        ),
        (
            "poddisruptionbudgets", "policy", {"spec": {"minAvailable": "101%"}},
            'spec.minAvailable: Invalid value: "101%": must not be greater than 100%',
        ),
        (
            "poddisruptionbudgets", "policy", {"spec": {"maxUnavailable": -1}},
            "spec.maxUnavailable: Invalid value: -1: must be greater than or equal to 0",
        ),
        (
            "poddisruptionbudgets", "policy", {"spec": {"minAvailable": 1, "maxUnavailable": 1}},
            'spec: Invalid value: {"MinAvailable":1,',
        ),
        (
            "networkpolicies", "networking.k8s.io", {"spec": {"ingress": [{"from": [{}]}]}},
            "spec.ingress[0].from[0]: Required value: must specify a peer",
        ),
        (
            "networkpolicies", "networking.k8s.io",
            {"spec": {"egress": [{"to": [{"ipBlock": {"cidr": "10.0.0.0/8", "except": ["11.0.0.0/9"]}}]}]}},
            'spec.egress[0].to[0].ipBlock.except[0]: Invalid value: "11.0.0.0/9": '
            "must be a strict subset of `cidr`",
        ),
        (
            "networkpolicies", "networking.k8s.io",
            {"spec": {"ingress": [{"ports": [{"port": 5, "endPort": 4}]}]}},
            "spec.ingress[0].ports[0].endPort: Invalid value: 4: must be greater than or equal to `port`",
        ),
        ("storageclasses", "storage.k8s.io", {}, "provisioner: Required value"),
        (
            "runtimeclasses", "node.k8s.io", {"handler": "No"},
            "handler: Invalid value: \"No\": a lowercase RFC 1123 label must consist of lower case "
            "alphanumeric characters or '-', and must start and end with an alphanumeric character "
            "(e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
        ),
        (
            "runtimeclasses", "node.k8s.io",
            {"handler": "podman", "scheduling": {"tolerations": [{"effect": "NoSchedule"}]}},
            "scheduling.tolerations[0].operator: Invalid value: \"\": operator must be Exists when `key` is "
            "empty, which means \"match all values and all keys\"",
        ),
        (
            "storageclasses", "storage.k8s.io", {"provisioner": "a.io/b", "reclaimPolicy": "Burn"},
            'reclaimPolicy: Unsupported value: "Burn": supported values: "Delete", "Retain"',
        ),
        ("roles", RBAC, {"rules": [{**RULE, "verbs": []}]}, "rules[0].verbs: Required value: verbs"),
        (
            "roles", RBAC, {"rules": [{"verbs": ["get"], "nonResourceURLs": ["/x"]}]},
            'rules[0].nonResourceURLs: Invalid value: ["/x"]: namespaced rules cannot apply',
        ),
        (
            "clusterrolebindings", RBAC, {"roleRef": {"kind": "Role", "name": "r"}},
            'roleRef.kind: Unsupported value: "Role": supported values: "ClusterRole"',
        ),
        (
            "clusterrolebindings", RBAC,
            {
                "roleRef": {"kind": "ClusterRole", "name": "r"},
                "subjects": [{"kind": "ServiceAccount", "name": "s"}],
            },
            "subjects[0].namespace: Required value",
        ),
        (
            "endpoints", "", {"subsets": [{"addresses": [{"ip": "169.254.1.1"}]}]},
            'subsets[0].addresses[0].ip: Invalid value: "169.254.1.1": may not be in the link-local range',
        ),
        ("endpoints", "", {"subsets": [{}]}, "subsets[0]: Required value: must specify `addresses` or"),
        (
            "nodes", "", {"spec": {"taints": TAINTS}},
            'metadata.taints[1]: Duplicate value: {"Key":"a","Value":"","Effect":"NoExecute",'
            '"TimeAdded":null}: taints must be unique by key and effect pair',
        ),
        (
            "nodes", "", {"spec": {"taints": [{"key": "a"}]}}, "metadata.taints[0].effect: Required value",
        ),
        (
            "nodes", "", {"status": {"capacity": {"pods": "1500m"}}},
            '[status.capacity.pods: Invalid value: "1500m": must be an integer',
        ),
        (
            "nodes", "", {"spec": {"podCIDRs": ["10.0.0.0/24", "10.1.0.0/24"]}},
            'spec.podCIDRs: Invalid value: ["10.0.0.0/24","10.1.0.0/24"]: '
            "may specify no more than one CIDR for each IP family",
        ),
        (
            "resourcequotas", "", {"spec": {"hard": {"jobs": "1"}}},
            '[spec.hard[jobs]: Invalid value: "jobs": must be a standard resource type or fully qualified, '
            'spec.hard[jobs]: Invalid value: "jobs": must be a standard resource for quota]',
        ),
        (
            "resourcequotas", "", {"spec": {"hard": {"count/jobs.batch": "1.5"}}},
            'spec.hard[count/jobs.batch]: Invalid value: "1500m": must be an integer',
        ),
        (
            "resourcequotas", "", {"spec": {"hard": {"secrets": "1"}, "scopes": ["BestEffort"]}},
            'spec.scopes: Invalid value: ["BestEffort"]: unsupported scope applied to resource',
        ),
        (
            "resourcequotas", "",
            {"spec": {"hard": {"pods": "1"}, "scopes": ["Terminating", "NotTerminating"]}},
            'spec.scopes: Invalid value: ["Terminating","NotTerminating"]: conflicting scopes',
        ),
        (
            "limitranges", "",
            {"spec": {"limits": [{"type": "Container", "min": {"cpu": "2"}, "max": {"cpu": "1"}}]}},
            '[spec.limits[0].min[cpu]: Invalid value: "2": min value 2 is greater than max value 1',
        ),
        (
            "limitranges", "", {"spec": {"limits": [{"type": "Pod", "default": {"cpu": "1"}}]}},
            "spec.limits[0].default: Forbidden: may not be specified when `type` is 'Pod'",
        ),
        (
            "limitranges", "",
            {"spec": {"limits": [{
                "type": "Pod", "min": {"cpu": "1"}, "max": {"cpu": "2"}, "maxLimitRequestRatio": {"cpu": "3"},
            }]}},
            'spec.limits[0].maxLimitRequestRatio[cpu]: Invalid value: "3": '
            "ratio 3 is greater than max/min = 2.000000",
        ),
        (
            "persistentvolumeclaims", "", {"spec": {}},
            "[spec.accessModes: Required value: at least 1 access mode is required, "
            "spec.resources[storage]: Required value]",
        ),
        (
            "persistentvolumes", "", {"spec": {**VOLUME, "nfs": {"server": "s", "path": "/x"}}},
            "spec.nfs: Forbidden: may not specify more than 1 volume type",
        ),
        (
            "persistentvolumes", "", {"spec": {**VOLUME, "hostPath": None}},
            "spec: Required value: must specify a volume type",
        ),
        (
            "persistentvolumes", "", {"spec": {**VOLUME, "hostPath": None, "local": {"path": "/x"}}},
            "spec.nodeAffinity: Required value: Local volume requires node affinity",
        ),
        (
            "replicationcontrollers", "", {"spec": {"replicas": -1}},
            "[spec.selector: Required value, spec.replicas: Invalid value: -1: "
            "must be greater than or equal to 0, spec.template: Required value]",
        ),
    ],
)  # fmt: skip
def test_new_objects_that_make_no_sense_are_refused(
    kind: Callable[..., Any], plural: str, group: str, body: Obj, text: str
) -> None:
    of = kind(plural, group)
    assert of.refusal(of.create, {"metadata": {"name": "x"}, **body}).startswith(text)


@pytest.mark.parametrize(
    ("plural", "group", "body", "change", "text"),
    [
        (
            "priorityclasses", "scheduling.k8s.io", {"value": 1}, {"value": 2},
            "value: Forbidden: may not be changed in an update.",
        ),
        (
            "priorityclasses", "scheduling.k8s.io", {"value": 1}, {"preemptionPolicy": "Never"},
            'preemptionPolicy: Invalid value: "Never": field is immutable',
        ),
        (
            "runtimeclasses", "node.k8s.io", {"handler": "podman"}, {"handler": "process"},
            'handler: Invalid value: "process": field is immutable',
        ),
        (
            "storageclasses", "storage.k8s.io", {"provisioner": "a.io/b"}, {"parameters": {"x": "y"}},
            "parameters: Forbidden: updates to parameters are forbidden.",
        ),
        (
            "rolebindings", RBAC, {"roleRef": {"kind": "Role", "name": "r"}},
            {"roleRef": {"kind": "Role", "name": "q"}},
            'roleRef: Invalid value: {"APIGroup":"rbac.authorization.k8s.io","Kind":"Role","Name":"q"}: '
            "cannot change roleRef",
        ),
        (
            "nodes", "", {"spec": {"podCIDR": "10.0.0.0/24"}}, {"spec": {"podCIDR": "10.0.1.0/24"}},
            'spec.podCIDRs: Forbidden: node updates may not change podCIDR except from "" to valid',
        ),
        (
            "resourcequotas", "", {"spec": {"hard": {"pods": "1"}, "scopes": ["BestEffort"]}},
            {"spec": {"hard": {"pods": "1"}}},
            "spec.scopes: Invalid value: []: field is immutable",
        ),
        (
            "persistentvolumeclaims", "",
            {"spec": CLAIM}, {"spec": {**CLAIM, "accessModes": ["ReadOnlyMany"]}},
            "spec: Forbidden: spec is immutable after creation except resources.requests and "
            "volumeAttributesClassName for bound claims\n@@ -",
        ),
        (
            "persistentvolumes", "", {"spec": VOLUME}, {"spec": {**VOLUME, "hostPath": {"path": "/y"}}},
            "spec.persistentvolumesource: Forbidden: "
            "spec.persistentvolumesource is immutable after creation\n@@ -",
        ),
    ],
)  # fmt: skip
def test_what_is_fixed_cannot_be_changed(
    kind: Callable[..., Any], plural: str, group: str, body: Obj, change: Obj, text: str
) -> None:
    of = kind(plural, group)
    old = of.create({"metadata": {"name": "x"}, **body})
    assert of.refusal(of.update, old, change).startswith(text)


def test_a_claim_learns_its_volume_once_and_a_bound_one_may_grow(kind: Callable[..., Any]) -> None:
    claims = kind("persistentvolumeclaims")
    old = claims.create({"metadata": {"name": "x"}, "spec": CLAIM})
    bound = claims.update(old, {"spec": {**old["spec"], "volumeName": "v"}})
    bound = claims.update(bound, {"status": {"phase": "Bound", "capacity": {"storage": "1Gi"}}}, "status")
    bigger = {**bound["spec"], "resources": {"requests": {"storage": "2Gi"}}}
    assert claims.update(bound, {"spec": bigger})["spec"]["resources"] == {"requests": {"storage": "2Gi"}}
    assert claims.refusal(claims.update, bound, {"spec": {**bound["spec"], "volumeName": "w"}})
    smaller = {**bound["spec"], "resources": {"requests": {"storage": "1Mi"}}}
    assert claims.refusal(claims.update, bound, {"spec": smaller}) == (
        "spec.resources.requests.storage: Forbidden: field can not be less than status.capacity"
    )


def test_a_volume_notes_when_its_phase_changed(kind: Callable[..., Any]) -> None:
    volumes = kind("persistentvolumes")
    old = volumes.create({"metadata": {"name": "x"}, "spec": VOLUME})
    old["status"]["lastPhaseTransitionTime"] = "2020-01-01T00:00:00Z"
    new = volumes.update(old, {"status": {**old["status"], "phase": "Available"}}, "status")
    assert new["status"] == {"phase": "Available", "lastPhaseTransitionTime": "2021-01-01T00:00:00Z"}


def test_a_service_account_keeps_nothing_but_names_of_secrets(kind: Callable[..., Any]) -> None:
    accounts = kind("serviceaccounts")
    made = accounts.create({"metadata": {"name": "x"}, "secrets": [{"name": "s", "namespace": "other"}]})
    assert made["secrets"] == [{"name": "s"}]


def test_rbac_names_may_hold_colons(kind: Callable[..., Any]) -> None:
    kind("roles", RBAC).create({"metadata": {"name": "system:x"}, "rules": [RULE]})


CREATES_ON_PUT = {
    "services", "events", "endpoints", "limitranges", "leases", "roles", "rolebindings", "clusterroles",
    "clusterrolebindings", "runtimeclasses",
}  # fmt: skip
NEEDS_VERSION = {"leases", "poddisruptionbudgets", "customresourcedefinitions", "runtimeclasses"}
COUNTS_GENERATION = {
    "pods", "jobs", "cronjobs", "podtemplates", "replicationcontrollers", "networkpolicies",
    "poddisruptionbudgets", "priorityclasses", "customresourcedefinitions",
}  # fmt: skip


def test_puts_and_generations_follow_kubernetes_kind_by_kind() -> None:
    stored = [r for r in table.RESOURCES if r.style == "builtin" and "list" in r.verbs]
    assert {r.plural for r in stored if r.strategy.create_on_update} == CREATES_ON_PUT
    assert {r.plural for r in stored if r.strategy.counts_generation} == COUNTS_GENERATION
    assert {r.plural for r in stored if not r.strategy.unconditional_update} == NEEDS_VERSION
