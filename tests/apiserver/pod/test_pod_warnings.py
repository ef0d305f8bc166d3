"""Things that are allowed and probably not meant."""

from __future__ import annotations

from typing import Any

import pytest

from apiserver.pod.pod_scene import Pods, canonical
from longshore.api.types import Obj
from longshore.api.warnings.pod import pod_template_warnings

C = "spec.containers[0]"
NO_MATCH = "a null labelSelector results in matching no pod"


def container(**settings: Any) -> Obj:
    return {"containers": [{"name": "main", "image": "i:1", **settings}]}


def files(*paths: str) -> Obj:
    return {"name": "s", "items": [{"key": "k", "path": path} for path in paths]}


CASES: list[tuple[str, Obj, list[str]]] = [
    ("nothing odd", {}, []),
    (
        "old labels in affinity and spread",
        {
            "affinity": {
                "nodeAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": {
                        "nodeSelectorTerms": [
                            {"matchExpressions": [{"key": "beta.kubernetes.io/arch", "operator": "Exists"}]}
                        ]
                    }
                }
            },
            "topologySpreadConstraints": [
                {
                    "maxSkew": 1,
                    "topologyKey": "failure-domain.beta.kubernetes.io/zone",
                    "whenUnsatisfiable": "DoNotSchedule",
                    "labelSelector": {},
                }
            ],
        },
        [
            "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0]"
            ".matchExpressions[0].key: beta.kubernetes.io/arch is deprecated since v1.14; use "
            '"kubernetes.io/arch" instead',
            "spec.topologySpreadConstraints[0].topologyKey: failure-domain.beta.kubernetes.io/zone is "
            "deprecated "
            'since v1.17; use "topology.kubernetes.io/zone" instead',
        ],
    ),
    (
        "affinity to no pod",
        {
            "affinity": {
                "podAntiAffinity": {
                    "preferredDuringSchedulingIgnoredDuringExecution": [
                        {"weight": 1, "podAffinityTerm": {"topologyKey": "zone"}}
                    ]
                }
            }
        },
        [
            "spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].podAffinityTerm"
            f".labelSelector: {NO_MATCH}"
        ],
    ),
    (
        "retired volumes",
        {
            "volumes": [
                {"name": "a", "gitRepo": {"repository": "r"}},
                {"name": "b", "cephfs": {"monitors": ["m"]}},
            ]
        },
        [
            "spec.volumes[0].gitRepo: deprecated in v1.11, and disabled by default in v1.33+",
            "spec.volumes[1].cephfs: deprecated in v1.28, non-functional in v1.31+",
        ],
    ),
    (
        "files on top of each other",
        {"volumes": [{"name": "v", "configMap": files("a", "a/b")}]},
        ['volume "v" (ConfigMap "s"): overlapping paths: "a/b" with "a"'],
    ),
    (
        "projections on top of each other",
        {
            "volumes": [
                {
                    "name": "v",
                    "projected": {"sources": [{"secret": files("d")}, {"configMap": files("d/e")}, {}]},
                }
            ]
        },
        [
            'volume "v" (Projected): overlapping paths: "d/e" (ConfigMap "s") with "d" (Secret "s")',
            'volume "v" (Projected) has no sources provided',
        ],
    ),
    ("names that only begin alike", {"volumes": [{"name": "v", "configMap": files("a", "ab")}]}, []),
    (
        "twice the same address",
        {"hostAliases": [{"ip": "10.0.0.1"}, {"ip": "10.0.0.1"}]},
        ['spec.hostAliases[1].ip: duplicate ip "10.0.0.1"'],
    ),
    (
        "addresses of the future",
        {
            "dnsConfig": {"nameservers": ["010.1.1.1", "2001:DB8::1"]},
            "hostAliases": [{"ip": "::ffff:1.2.3.4"}],
        },
        [
            'spec.dnsConfig.nameservers[0]: non-standard IP address "010.1.1.1" will be considered invalid '
            "in a "
            'future Kubernetes release: use "10.1.1.1"',
            'spec.dnsConfig.nameservers[1]: IPv6 address "2001:DB8::1" should be in RFC 5952 canonical '
            "format "
            '("2001:db8::1")',
            'spec.hostAliases[0].ip: non-standard IP address "::ffff:1.2.3.4" will be considered invalid in '
            "a "
            'future Kubernetes release: use "1.2.3.4"',
        ],
    ),
    (
        "value built from the old one",
        container(env=[{"name": "P", "value": "a"}, {"name": "P", "value": "$(P):b"}]),
        [],
    ),
    (
        "value that is just the old one",
        container(env=[{"name": "P", "value": "a"}, {"name": "P", "value": "$(P)"}]),
        [f'{C}.env[1]: hides previous definition of "P", which may be dropped when using apply'],
    ),
    (
        "host address without host port",
        container(ports=[{"containerPort": 80, "hostIP": "10.0.0.1"}]),
        [
            f"{C}.ports[0]: hostIP set without hostPort: "
            "{Name: HostPort:0 ContainerPort:80 Protocol:TCP HostIP:10.0.0.1}"
        ],
    ),
    (
        "ports that overlap",
        container(ports=[{"containerPort": 80, "hostPort": 80}, {"containerPort": 80}]),
        [f"{C}.ports[1]: overlapping port definition with {C}.ports[0]"],
    ),
    (
        "ports nobody can tell apart",
        container(
            ports=[
                {"containerPort": 80, "hostPort": 80},
                {"containerPort": 80, "hostPort": 80, "hostIP": "10.0.0.1"},
            ]
        ),
        [f"{C}.ports[1]: dangerously ambiguous port definition with {C}.ports[0]"],
    ),
    (
        "one port name in two containers",
        {
            "containers": [
                {"name": n, "image": "i:1", "ports": [{"name": "web", "containerPort": p}]}
                for n, p in (("a", 1), ("b", 2))
            ]
        },
        [
            f'spec.containers[1].ports[0]: duplicate port name "web" with {C}.ports[0], services and probes '
            "that "
            f"select ports by name will use {C}.ports[0]"
        ],
    ),
]


@pytest.mark.parametrize(("spec", "wanted"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_a_new_pod_is_warned_of(pods: Pods, spec: Obj, wanted: list[str]) -> None:
    pods.create(
        {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "main", "image": "i:1"}], **spec}}
    )
    assert pods.warnings == wanted


def test_a_pod_name_should_be_a_host_name(pods: Pods) -> None:
    pods.create({"metadata": {"name": "a.b"}, "spec": {"containers": [{"name": "main", "image": "i:1"}]}})
    assert pods.warnings == [
        "metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; a DNS "
        "label "
        "is recommended: [must not contain dots]"
    ]


def test_annotations_without_effect_are_named(pods: Pods) -> None:
    key = "scheduler.alpha.kubernetes.io/critical-pod"
    pods.create(
        {
            "metadata": {"name": "p", "annotations": {key: ""}},
            "spec": {"containers": [{"name": "c", "image": "i:1"}]},
        }
    )
    text = 'non-functional in v1.16+; use the "priorityClassName" field instead'
    assert pods.warnings == [f"metadata.annotations[{key}]: {text}"]


def test_a_template_is_warned_of_under_its_path() -> None:
    body = {"spec": {"containers": [{"name": "c", "image": "i"}], "terminationGracePeriodSeconds": -1}}
    template = canonical(body, "core/v1.PodTemplateSpec")
    assert pod_template_warnings(template, None, "spec.template") == [
        "spec.template.spec.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and "
        "will be "
        "treated as 1"
    ]
