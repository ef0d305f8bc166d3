"""What is wrong with a pod spec, in Kubernetes' words and order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from longshore.api.types import Obj

Find = Callable[[Obj], list[str]]
LABEL = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start "
    "and "
    "end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
SUBDOMAIN = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must "
    "start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    r"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
QUALIFIED = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
    "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)


def container(**settings: Any) -> Obj:
    return {"containers": [{"name": "main", "image": "i:1", **settings}]}


def volume(**source: Any) -> Obj:
    return {"volumes": [{"name": "v", **source}]}


def env(**value_from: Any) -> Obj:
    return container(env=[{"name": "A", "valueFrom": value_from}])


C, V, E = "spec.containers[0]", "spec.volumes[0]", "spec.containers[0].env[0].valueFrom"
CASES: list[tuple[str, Obj, list[str]]] = [
    ("name", container(name="A"), [f'{C}.name: Invalid value: "A": {LABEL}']),
    ("dotted name", container(name="a.b"), [f'{C}.name: Invalid value: "a.b": must not contain dots']),
    (
        "image with spaces",
        container(image=" i"),
        [f'{C}.image: Invalid value: " i": must not have leading or trailing whitespace'],
    ),
    (
        "unknown field path",
        env(fieldRef={"fieldPath": "spec.x"}),
        [
            f'{E}.fieldRef.fieldPath: Invalid value: "spec.x": error converting fieldPath: '
            "field label not supported: spec.x"
        ],
    ),
    (
        "field not for variables",
        env(fieldRef={"fieldPath": "metadata.labels"}),
        [
            f'{E}.fieldRef.fieldPath: Unsupported value: "metadata.labels": supported values: '
            '"metadata.name", '
            '"metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName", '
            '"status.hostIP", '
            '"status.hostIPs", "status.podIP", "status.podIPs"'
        ],
    ),
    ("old name of nodeName", env(fieldRef={"fieldPath": "spec.host"}), []),
    ("annotation by key", env(fieldRef={"fieldPath": "metadata.annotations['A.b/C']"}), []),
    (
        "divisor",
        env(resourceFieldRef={"resource": "limits.cpu", "divisor": "2"}),
        [
            f'{E}.resourceFieldRef.divisor: Invalid value: "limits.cpu": only divisor\'s values 1m and 1 are '
            "supported with the cpu resource"
        ],
    ),
    (
        "huge pages by prefix",
        env(resourceFieldRef={"resource": "limits.hugepages-2Mi", "divisor": "1Mi"}),
        [],
    ),
    (
        "file key without volume",
        env(fileKeyRef={"key": "A", "volumeName": "v", "path": "p"}),
        [f'{E}.fileKeyRef.volumeName: Not found: "v"'],
    ),
    (
        "file key from a secret",
        env(fileKeyRef={"key": "A", "volumeName": "v", "path": "p"}) | volume(secret={"secretName": "s"}),
        [f'{E}.fileKeyRef.volumeName: Invalid value: "v": referenced volume must be of type emptyDir'],
    ),
    ("key missing", env(secretKeyRef={"name": "s"}), [f"{E}.secretKeyRef.key: Required value"]),
    (
        "prefix",
        container(envFrom=[{"prefix": "=", "secretRef": {"name": "trailing-"}}]),
        [
            f'{C}.envFrom[0].prefix: Invalid value: "=": a valid environment variable name must consist only '
            "of "
            "printable ASCII characters other than '='"
        ],
    ),
    (
        "mount of nothing",
        container(volumeMounts=[{"name": "v", "mountPath": "/a"}]),
        [f'{C}.volumeMounts[0].name: Not found: "v"'],
    ),
    (
        "mount of a broken volume",
        container(volumeMounts=[{"name": "v", "mountPath": "/a"}]) | volume(hostPath={"path": ""}),
        [f"{V}.hostPath.path: Required value", f'{C}.volumeMounts[0].name: Not found: "v"'],
    ),
    (
        "absolute sub-path",
        container(volumeMounts=[{"name": "v", "mountPath": "/a", "subPath": "/b"}]) | volume(),
        [f'{C}.volumeMounts.subPath: Invalid value: "/b": must be a relative path'],
    ),
    (
        "device of a directory",
        container(volumeDevices=[{"name": "v", "devicePath": "/d"}]) | volume(),
        [
            f'{C}.volumeDevices[0].name: Invalid value: "v": can only use volume source type of '
            "PersistentVolumeClaim or Ephemeral for block mode"
        ],
    ),
    (
        "shared propagation",
        container(volumeMounts=[{"name": "v", "mountPath": "/a", "mountPropagation": "Bidirectional"}])
        | volume(),
        [
            f"{C}.volumeMounts.mountPropagation: Forbidden: Bidirectional mount propagation is available "
            "only "
            "to privileged containers"
        ],
    ),
    (
        "bad host path",
        volume(hostPath={"path": "/a/../b"}),
        [f"{V}.hostPath.path: Invalid value: \"/a/../b\": must not contain '..'"],
    ),
    (
        "items",
        volume(configMap={"name": "c", "items": [{"key": "", "path": "..x", "mode": 512}]}),
        [
            f"{V}.configMap.items[0].key: Required value",
            f"{V}.configMap.items[0].path: Invalid value: \"..x\": must not start with '..'",
            f"{V}.configMap.items[0].mode: Invalid value: 512: must be a number between 0 and 0777 (octal), "
            "both inclusive",
        ],
    ),
    (
        "two projections on one path",
        volume(
            projected={
                "sources": [
                    {"secret": {"name": "s", "items": [{"key": "a", "path": "p"}]}},
                    {"configMap": {"name": "c", "items": [{"key": "a", "path": "p"}]}},
                ]
            }
        ),
        [f'{V}.projected: Invalid value: "c": conflicting duplicate paths'],
    ),
    (
        "token without account",
        volume(projected={"sources": [{"serviceAccountToken": {"path": "t"}}]}),
        [
            f"{V}.projected.sources[0].serviceAccountToken: Forbidden: must not be specified when "
            "serviceAccountName is not set"
        ],
    ),
    (
        "downward file without source",
        volume(downwardAPI={"items": [{"path": "a"}]}),
        [f"{V}.downwardAPI: Required value: one of fieldRef and resourceFieldRef is required"],
    ),
    (
        "three sources",
        volume(emptyDir={}, cephfs={"monitors": ["m"]}, downwardAPI={}),
        [
            f"{V}.cephFS: Forbidden: may not specify more than 1 volume type",
            f"{V}.downwarAPI: Forbidden: may not specify more than 1 volume type",
        ],
    ),
    (
        "ephemeral claim",
        volume(ephemeral={"volumeClaimTemplate": {"metadata": {"name": "x"}, "spec": {}}}),
        [
            f"{V}.ephemeral.volumeClaimTemplate.metadata.name: Forbidden: cannot be set",
            f"{V}.ephemeral.volumeClaimTemplate.spec.accessModes: Required value: at least 1 access mode is "
            "required",
            f"{V}.ephemeral.volumeClaimTemplate.spec.resources[storage]: Required value",
        ],
    ),
    (
        "relative nfs",
        volume(nfs={"server": "s", "path": "x"}),
        [f'{V}.nfs.path: Invalid value: "x": must be an absolute path'],
    ),
    (
        "unknown resource",
        container(resources={"requests": {"gpu": "1"}}),
        [
            f'{C}.resources.requests[gpu]: Invalid value: "gpu": must be a standard resource type or fully '
            "qualified",
            f'{C}.resources.requests[gpu]: Invalid value: "gpu": must be a standard resource for containers',
        ],
    ),
    (
        "extended request without limit",
        container(resources={"requests": {"a.b/c": "1"}}),
        [f"{C}.resources.limits: Required value: Limit must be set for non overcommitable resources"],
    ),
    (
        "huge pages",
        container(resources={"requests": {"cpu": "1"}, "limits": {"hugepages-2Mi": "1Mi"}}),
        [
            f'{C}.resources.limits[hugepages-2Mi]: Invalid value: "1Mi": 1Mi is not positive integer '
            "multiple of "
            "hugepages-2Mi",
            f'{C}.resources.requests[hugepages-2Mi]: Invalid value: "1Mi": 1Mi is not positive integer '
            "multiple "
            "of hugepages-2Mi",
        ],
    ),
    (
        "huge pages alone",
        container(resources={"limits": {"hugepages-2Mi": "2Mi"}}),
        [f"{C}.resources: Forbidden: HugePages require cpu or memory"],
    ),
    (
        "claim of nothing",
        container(resources={"claims": [{"name": "x"}]}),
        [
            f'{C}.resources.claims[0]: Not found: "x": must be one of the names in pod.spec.resourceClaims '
            "which is empty"
        ],
    ),
    (
        "two handlers",
        container(livenessProbe={"exec": {"command": ["a"]}, "httpGet": {"port": 1}}),
        [f"{C}.livenessProbe.httpGet: Forbidden: may not specify more than 1 handler type"],
    ),
    (
        "probe numbers",
        container(
            readinessProbe={"tcpSocket": {"port": 1}, "periodSeconds": -1, "terminationGracePeriodSeconds": 5}
        ),
        [
            f"{C}.readinessProbe.periodSeconds: Invalid value: -1: must be greater than or equal to 0",
            f"{C}.readinessProbe.terminationGracePeriodSeconds: Invalid value: 5: must not be set for "
            "readinessProbes",
        ],
    ),
    (
        "long sleep",
        container(lifecycle={"preStop": {"sleep": {"seconds": 31}}}),
        [
            f"{C}.lifecycle.preStop.sleep: Invalid value: 31: must be non-negative and less than "
            "terminationGracePeriodSeconds (30)"
        ],
    ),
    (
        "rules without policy",
        container(restartPolicyRules=[{"action": "Restart", "exitCodes": {"operator": "In", "values": [1]}}]),
        [f"{C}.restartPolicy: Required value: must specify restartPolicy when restart rules are used"],
    ),
    (
        "bad rule",
        container(restartPolicy="Never", restartPolicyRules=[{"action": "Stop"}]),
        [
            f'{C}.restartPolicyRules[0].action: Unsupported value: "Stop": supported values: "Restart", '
            '"RestartAllContainers"',
            f"{C}.restartPolicyRules[0].exitCodes: Required value: must be specified",
        ],
    ),
    (
        "name of a regular container",
        {"initContainers": [{"name": "main", "image": "i"}]},
        ['spec.initContainers[0].name: Duplicate value: "main"'],
    ),
    (
        "sidecar with probe",
        {
            "initContainers": [
                {
                    "name": "s",
                    "image": "i",
                    "restartPolicy": "Always",
                    "readinessProbe": {"exec": {"command": ["a"]}},
                }
            ]
        },
        [],
    ),
    (
        "ephemeral container",
        {"ephemeralContainers": [{"name": "e", "image": "i"}]},
        ["spec.ephemeralContainers: Forbidden: cannot be set on create"],
    ),
    (
        "dns None",
        {"dnsPolicy": "None"},
        ["spec.dnsConfig: Required value: must provide `dnsConfig` when `dnsPolicy` is None"],
    ),
    ("search domains", {"dnsConfig": {"searches": ["_srv.a_b.example", "."]}}, []),
    ("hostname", {"hostname": "A"}, [f'spec.hostname: Invalid value: "A": {LABEL}']),
    (
        "host alias",
        {"hostAliases": [{"ip": "10.0.0.1", "hostnames": ["A"]}]},
        [f'spec.hostAliases[0].hostnames[0]: Invalid value: "A": {SUBDOMAIN}'],
    ),
    (
        "seconds without NoExecute",
        {"tolerations": [{"key": "a", "operator": "Exists", "tolerationSeconds": 3}]},
        [
            "spec.tolerations[0].effect: Invalid value: \"\": effect must be 'NoExecute' when "
            "`tolerationSeconds` is set"
        ],
    ),
    (
        "comparing toleration",
        {"tolerations": [{"key": "a", "operator": "Gt", "value": "1"}]},
        [
            'spec.tolerations[0].operator: Unsupported value: "Gt": supported values: "Equal", "Exists", '
            '"Lt", "Gt"'
        ],
    ),
    (
        "spread twice",
        {
            "topologySpreadConstraints": [
                {"maxSkew": 1, "topologyKey": "a", "whenUnsatisfiable": "DoNotSchedule"}
            ]
            * 2
        },
        [
            "spec.topologySpreadConstraints[0].{topologyKey, whenUnsatisfiable}: Duplicate value: "
            '"{a, DoNotSchedule}"'
        ],
    ),
    (
        "minimum of domains",
        {
            "topologySpreadConstraints": [
                {"maxSkew": 1, "topologyKey": "a", "whenUnsatisfiable": "ScheduleAnyway", "minDomains": 0}
            ]
        },
        [
            "spec.topologySpreadConstraints[0].minDomains: Invalid value: 0: must be greater than zero",
            "spec.topologySpreadConstraints[0].minDomains: Invalid value: 0: can only use minDomains if "
            "whenUnsatisfiable=DoNotSchedule, not ScheduleAnyway",
        ],
    ),
    (
        "gate",
        {"schedulingGates": [{"name": "a b"}]},
        [f'spec.schedulingGates[0]: Invalid value: "a b": {QUALIFIED}'],
    ),
    (
        "node selector",
        {"nodeSelector": {"a b": "c"}},
        [f'spec.nodeSelector: Invalid value: "a b": {QUALIFIED}'],
    ),
    (
        "match fields",
        {
            "affinity": {
                "nodeAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": {
                        "nodeSelectorTerms": [
                            {"matchFields": [{"key": "x", "operator": "In", "values": ["a", "b"]}]}
                        ]
                    }
                }
            }
        },
        [
            "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0]"
            ".matchFields[0].values: Required value: must be only one value when `operator` is 'In' or "
            "'NotIn' "
            "for node field selector",
            "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0]"
            '.matchFields[0].key: Invalid value: "x": not a valid field selector key',
        ],
    ),
    (
        "label keys without selector",
        {
            "affinity": {
                "podAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": [
                        {"topologyKey": "zone", "matchLabelKeys": ["a"]}
                    ]
                }
            }
        },
        [
            "spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].matchLabelKeys: "
            "Forbidden: must not be specified when labelSelector is not set"
        ],
    ),
    (
        "seccomp",
        {"securityContext": {"seccompProfile": {"type": "Localhost"}}},
        [
            "spec.securityContext.seccompProfile.localhostProfile: Required value: must be set when seccomp "
            "type "
            "is Localhost"
        ],
    ),
    (
        "sysctl on the host's network",
        {"hostNetwork": True, "securityContext": {"sysctls": [{"name": "net/ipv4/x", "value": "1"}]}},
        [
            'spec.securityContext.sysctls[0].name: Invalid value: "net/ipv4/x": may not be specified when '
            "'hostNetwork' is true"
        ],
    ),
    (
        "shared processes",
        {"hostPID": True, "shareProcessNamespace": True},
        [
            "spec.securityContext.shareProcessNamespace: Invalid value: true: ShareProcessNamespace and "
            "HostPID "
            "cannot both be enabled"
        ],
    ),
    (
        "own users",
        {"hostUsers": False, "hostIPC": True},
        ["spec.HostIPC: Forbidden: when `hostUsers` is false"],
    ),
    (
        "windows",
        {"os": {"name": "windows"}, "securityContext": {"runAsUser": 1}},
        ["spec.securityContext.runAsUser: Forbidden: cannot be set for a windows pod"],
    ),
    (
        "windows user",
        container(securityContext={"windowsOptions": {"runAsUserName": "a\\b\\c"}}),
        [
            f'{C}.securityContext.windowsOptions.runAsUserName: Invalid value: "a\\\\b\\\\c": runAsUserName '
            "cannot "
            "contain more than one backslash"
        ],
    ),
    (
        "containers above the pod",
        container(resources={"limits": {"cpu": "2"}})
        | {"resources": {"requests": {"cpu": "1"}, "limits": {"cpu": "1"}}},
        [
            'spec.resources.requests[cpu]: Invalid value: "1": must be greater than or equal to aggregate '
            "container requests of 2",
            'spec.resources.containers[0][cpu].limits: Invalid value: "2": must be less than or equal to pod '
            "limits of 1",
        ],
    ),
    (
        "no resource of pods",
        {"resources": {"limits": {"ephemeral-storage": "1"}}},
        [
            'spec.resources.limits[ephemeral-storage]: Unsupported value: "ephemeral-storage": supported '
            "values: "
            '"cpu", "hugepages-", "memory"'
        ],
    ),
]


@pytest.mark.parametrize(("spec", "wanted"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_a_pod_is_refused_in_kubernetes_words(spec: Obj, wanted: list[str], problems: Find) -> None:
    assert problems(spec) == wanted


def test_fields_that_are_switched_off_are_dropped(pods: Any) -> None:
    pod = pods.create(
        {
            "metadata": {"name": "p"},
            "spec": {
                "schedulingGroup": {"podGroupName": "g"},
                **container(lifecycle={"stopSignal": "SIGUSR1"}),
                **volume(projected={"sources": [{"clusterTrustBundle": {"name": "c", "path": "p"}}]}),
            },
        }
    )
    assert "schedulingGroup" not in pod["spec"]
    assert "lifecycle" not in pod["spec"]["containers"][0]
    assert pod["spec"]["volumes"][0]["projected"]["sources"] == [{}]
