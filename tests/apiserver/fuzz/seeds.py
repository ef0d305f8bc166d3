"""Valid objects to begin with: one of every resource, and all that the recordings of Kubernetes hold."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final

from apiserver.crd import widgets
from longshore.api.kinds import table
from longshore.api.resources import Resource
from support.places import RECORDED

Obj = dict[str, Any]
NAMESPACE: Final = "default"
_CONTAINER: Final = {"name": "main", "image": "busybox:1.36", "command": ["sh", "-c", "true"]}
_TEMPLATE: Final = {
    "metadata": {"labels": {"app": "a"}},
    "spec": {
        "restartPolicy": "Never",
        "containers": [
            {
                **_CONTAINER,
                "env": [
                    {"name": "A", "value": "b"},
                    {"name": "N", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
                ],
                "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}, "limits": {"memory": "128Mi"}},
                "ports": [{"containerPort": 80, "name": "http"}],
                "volumeMounts": [{"name": "scratch", "mountPath": "/scratch"}],
                "readinessProbe": {"httpGet": {"path": "/", "port": "http"}},
            }
        ],
        "volumes": [{"name": "scratch", "emptyDir": {}}],
        "tolerations": [{"key": "a", "operator": "Exists", "effect": "NoSchedule"}],
        "nodeSelector": {"disk": "ssd"},
    },
}
_NEVER: Final = {"restartPolicy": "Never", "containers": [_CONTAINER]}
_RULES: Final = [{"apiGroups": ["batch"], "resources": ["jobs"], "verbs": ["get", "list"]}]
_ROLE: Final = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "r"}
_USER: Final = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "u"}

_BODIES: Final[dict[str, Obj]] = {
    "bindings": {"target": {"kind": "Node", "name": "n"}},
    "configmaps": {"data": {"a": "b", "c.txt": "d\ne"}, "binaryData": {"z": "AAEC"}},
    "endpoints": {
        "subsets": [{"addresses": [{"ip": "10.0.0.1"}], "ports": [{"port": 80, "protocol": "TCP"}]}]
    },
    "events": {
        "involvedObject": {"kind": "Pod", "name": "p", "namespace": NAMESPACE},
        "reason": "R",
        "message": "m",
        "type": "Normal",
    },
    "limitranges": {
        "spec": {"limits": [{"type": "Container", "max": {"cpu": "2"}, "default": {"cpu": "1"}}]}
    },
    "namespaces": {},
    "nodes": {"spec": {"podCIDR": "10.1.0.0/24", "taints": [{"key": "k", "effect": "NoSchedule"}]}},
    "persistentvolumeclaims": {
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    },
    "persistentvolumes": {
        "spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/x"}}
    },
    "pods": {"spec": _TEMPLATE["spec"]},
    "podtemplates": {"template": _TEMPLATE},
    "replicationcontrollers": {
        "spec": {
            "replicas": 1,
            "selector": {"a": "b"},
            "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [_CONTAINER]}},
        }
    },
    "resourcequotas": {"spec": {"hard": {"count/widgets.example.com": "100"}}},
    "secrets": {"type": "Opaque", "data": {"a": "aGVsbG8="}, "stringData": {"b": "c"}},
    "serviceaccounts": {"automountServiceAccountToken": True, "secrets": [{"name": "s"}]},
    "services": {
        "spec": {"selector": {"a": "b"}, "ports": [{"name": "h", "port": 80, "targetPort": "http"}]}
    },
    "selfsubjectreviews": {},
    "tokenreviews": {"spec": {"token": "abc"}},
    "localsubjectaccessreviews": {
        "spec": {
            "user": "u",
            "resourceAttributes": {"namespace": NAMESPACE, "verb": "get", "resource": "pods"},
        }
    },
    "selfsubjectaccessreviews": {"spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}}},
    "selfsubjectrulesreviews": {"spec": {"namespace": NAMESPACE}},
    "subjectaccessreviews": {"spec": {"user": "u", "nonResourceAttributes": {"path": "/x", "verb": "get"}}},
    "cronjobs": {
        "spec": {"schedule": "*/5 * * * *", "jobTemplate": {"spec": {"template": {"spec": _NEVER}}}}
    },
    "jobs": {
        "spec": {"completions": 3, "parallelism": 2, "completionMode": "Indexed", "template": _TEMPLATE}
    },
    "networkpolicies": {
        "spec": {
            "podSelector": {"matchLabels": {"a": "b"}},
            "ingress": [
                {"from": [{"ipBlock": {"cidr": "10.0.0.0/8"}}], "ports": [{"port": 80, "protocol": "TCP"}]}
            ],
        }
    },
    "poddisruptionbudgets": {"spec": {"minAvailable": "50%", "selector": {"matchLabels": {"a": "b"}}}},
    "clusterroles": {"rules": _RULES},
    "roles": {"rules": _RULES},
    "clusterrolebindings": {"roleRef": _ROLE, "subjects": [_USER]},
    "rolebindings": {"roleRef": _ROLE, "subjects": [_USER]},
    "storageclasses": {"provisioner": "example.com/p", "parameters": {"a": "b"}},
    "customresourcedefinitions": widgets.definition(
        widgets.version(
            spec={
                "type": "object",
                "properties": {
                    "size": {"type": "integer", "minimum": 1, "default": 3},
                    "names": {"type": "array", "items": {"type": "string"}},
                },
            },
            subresources={"status": {}},
        )
    ),
    "priorityclasses": {"value": 1000, "description": "d"},
    "runtimeclasses": {
        "handler": "podman",
        "overhead": {"podFixed": {"cpu": "10m"}},
        "scheduling": {"nodeSelector": {"a": "b"}, "tolerations": [{"key": "k", "operator": "Exists"}]},
    },
    "leases": {
        "spec": {
            "holderIdentity": "h",
            "leaseDurationSeconds": 15,
            "renewTime": "2024-01-02T03:04:05.678901Z",
        }
    },
    "batch.volcano.sh/cronjobs": {
        "spec": {
            "schedule": "@hourly",
            "jobTemplate": {
                "spec": {
                    "minAvailable": 1,
                    "tasks": [{"name": "t", "replicas": 1, "template": {"spec": _NEVER}}],
                }
            },
        }
    },
    "batch.volcano.sh/jobs": {
        "spec": {
            "minAvailable": 1,
            "queue": "default",
            "policies": [{"event": "PodEvicted", "action": "RestartJob"}],
            "tasks": [{"name": "t", "replicas": 2, "template": {"spec": _NEVER}}],
        }
    },
    "commands": {
        "action": "AbortJob",
        "target": {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "name": "j", "uid": "u"},
    },
    "jobflows": {"spec": {"flows": [{"name": "a"}, {"name": "b", "dependsOn": {"targets": ["a"]}}]}},
    "jobtemplates": {
        "spec": {"minAvailable": 1, "tasks": [{"name": "t", "replicas": 1, "template": {"spec": _NEVER}}]}
    },
    "hypernodes": {
        "spec": {"tier": 1, "members": [{"type": "Node", "selector": {"exactMatch": {"name": "n1"}}}]}
    },
    "podgroups": {"spec": {"minMember": 2, "queue": "default", "minResources": {"cpu": "2"}}},
    "queues": {"spec": {"weight": 1, "capability": {"cpu": "4"}, "reclaimable": True}},
}


@dataclass(frozen=True)
class Seed:
    """A valid object and the resource it is of."""

    resource: Resource
    obj: Obj


_GADGET_SPEC: Final = {
    "type": "object",
    "required": ["size"],
    "properties": {
        "size": {"type": "integer", "minimum": 1, "maximum": 100, "default": 3},
        "mode": {"type": "string", "enum": ["fast", "slow"], "default": "slow"},
        "label": {"type": "string", "pattern": "^[a-z]+$", "maxLength": 10, "nullable": True},
        "port": {"x-kubernetes-int-or-string": True},
        "when": {"type": "string", "format": "date-time"},
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "amounts": {"type": "object", "additionalProperties": {"type": "number"}},
        "parts": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
            "items": {
                "type": "object",
                "required": ["name"],
                "properties": {"name": {"type": "string"}, "count": {"type": "integer", "default": 1}},
            },
        },
        "tags": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
    },
}
GADGETS: Final = widgets.definition(
    widgets.version(
        spec=_GADGET_SPEC,
        subresources={"status": {}},
        additionalPrinterColumns=[{"name": "Size", "type": "integer", "jsonPath": ".spec.size"}],
    ),
    kind="Gadget",
    group="example.org",
)
"""A definition that no random request is about, so that there is always a kind of a user's own."""
GADGET: Final = {
    "apiVersion": "example.org/v1",
    "kind": "Gadget",
    "metadata": {"name": "seed", "labels": {"a": "b"}},
    "spec": {
        "size": 5,
        "label": "abc",
        "port": "http",
        "when": "2024-01-02T03:04:05Z",
        "free": {"a": {"b": [1, 2]}},
        "amounts": {"a": 1.5},
        "parts": [{"name": "p"}, {"name": "q", "count": 2}],
        "tags": ["x", "y"],
    },
    "status": {"phase": "there"},
}


def path_of(resource: Resource, name: str = "", subresource: str = "") -> str:
    """The URL path of a collection, an object or something below it, in the namespace of these tests."""
    parts = ["apis", resource.group, resource.version] if resource.group else ["api", resource.version]
    if resource.namespaced:
        parts += ["namespaces", NAMESPACE]
    return "/" + "/".join([*parts, resource.plural, *filter(None, (name, subresource))])


def own_seeds() -> list[Seed]:
    """One of every resource the server has from the start."""
    return [Seed(resource, _own(resource)) for resource in table.RESOURCES]


def seeds(more: list[Seed]) -> list[Seed]:
    """Those, `more`, and the recorded ones; not only pods and jobs, of which there are most recordings."""
    return [*own_seeds(), *more] * 5 + _recorded()


def _own(resource: Resource) -> Obj:
    body = _BODIES.get(f"{resource.group}/{resource.plural}") or _BODIES[resource.plural]
    if resource.group == "events.k8s.io":
        body = {
            "regarding": {"kind": "Pod", "name": "p", "namespace": NAMESPACE},
            "eventTime": "2024-01-02T03:04:05.678901Z",
            "reportingController": "c.example.com",
            "reportingInstance": "i",
            "action": "A",
            "reason": "R",
            "type": "Normal",
        }
    return {
        "apiVersion": resource.group_version,
        "kind": resource.kind,
        "metadata": {"name": "seed", "labels": {"a": "b"}, "annotations": {"x": "y"}},
        **body,
    }


def _recorded() -> list[Seed]:
    """What was sent to real Kubernetes, also what it refused."""
    rows = {(row.group_version, row.kind): row for row in table.RESOURCES}
    found: dict[str, Seed] = {}

    def take(obj: Obj) -> None:
        row = rows.get((obj.get("apiVersion", ""), obj.get("kind", "")))
        metadata = obj.get("metadata")
        if row is not None and isinstance(metadata, dict):
            plain = {**obj, "metadata": {k: v for k, v in metadata.items() if k != "namespace"}}
            found[json.dumps(plain)] = Seed(row, plain)

    files = sorted((RECORDED / "vectors/api").glob("*.json"))
    assert files, "the recorded exchanges are missing"
    for file in files:
        for exchange in json.loads(file.read_text()):
            body = exchange["request"].get("body")
            if isinstance(body, dict) and exchange["request"]["method"] == "POST":
                take(body)
    for line in (RECORDED / "protobuf/samples.jsonl").read_text().splitlines():
        take(json.loads(line)["json"])
    return list(found.values())
