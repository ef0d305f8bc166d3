"""Commands that kubectl has too print what kubectl prints, on both streams, with the same exit code."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.kubectl_binary import Kubectl
from support.longshore_command import Command
from support.longshore_process import longshore_up

pytestmark = pytest.mark.xdist_group("cli commands")

OBJECTS = """
apiVersion: v1
kind: ServiceAccount
metadata: {name: clerk}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: clerk}
rules:
- {apiGroups: [batch], resources: [jobs, cronjobs], verbs: [get, list]}
- {apiGroups: [""], resources: [secrets], resourceNames: [mine], verbs: [get]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: clerk}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: clerk}
subjects: [{kind: ServiceAccount, name: clerk, namespace: default}]
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: boats.example.org}
spec:
  group: example.org
  names: {kind: Boat, plural: boats, singular: boat, shortNames: [bt]}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        description: "A boat.\\n\\n- It has a crew, and a description longer than a line of the terminal."
        required: [spec]
        properties:
          spec:
            type: object
            properties:
              size: {x-kubernetes-int-or-string: true, description: How long.}
              crew:
                type: array
                items: {type: object, required: [name], properties: {name: {type: string, default: x}}}
              color: {type: string, enum: [red, blue, green, white, black]}
---
apiVersion: v1
kind: Pod
metadata: {name: sleeping, labels: {app: sleeping}}
spec: {restartPolicy: Never, containers: [{name: main, image: busybox, command: [sleep, "600"]}]}
"""
CLERK = "--as=system:serviceaccount:default:clerk"


@pytest.fixture(scope="module")
def kubectl(longshore: Command, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kubectl]:
    longshore.ok("apply", "-f", "-", stdin=OBJECTS)
    longshore.ok("wait", "--for=condition=Ready", "pod/sleeping")
    yield Kubectl(tmp_path_factory.mktemp("kubectl"), longshore.home / "data" / "kubeconfig")
    longshore.ok("delete", "--now", "-f", "-", stdin=OBJECTS)


EXPLAINED = (
    "job",
    "job.spec",
    "job.spec.podFailurePolicy.rules.action",
    "cronjob.spec.schedule",
    "pod.spec.containers",
    "pod.spec.containers.resources.limits",
    "pod.spec.containers.livenessProbe.httpGet.port",
    "pod.status.startTime",
    "pod.metadata.managedFields",
    "boat.spec",
    "boat.spec.crew.name",
    "queue",
    "crd.spec.versions.schema.openAPIV3Schema",
    "nope",
    "job.spec.nope",
)
LINES = (
    *(f"explain {word}" for word in EXPLAINED),
    *(f"explain {word} --recursive" for word in ("job", "boat", "crd")),
    "explain pod --api-version v2",
    "api-resources",
    "api-resources -o wide",
    "api-resources -o name --namespaced=false",
    "api-resources --api-group=batch --no-headers",
    "api-resources --verbs=list,get --categories=all --sort-by=kind",
    "auth whoami",
    "auth whoami --as bob --as-group crew",
    "auth can-i create jobs",
    "auth can-i * *",
    "auth can-i get nodes",
    "auth can-i create foos.example.com",
    "auth can-i dance pods",
    "auth can-i get /healthz",
    "auth can-i --list",
    f"auth can-i --list {CLERK}",
    f"auth can-i create jobs {CLERK}",
    f"auth can-i get secrets/mine {CLERK}",
    f"auth can-i list jobs.batch -q {CLERK}",
    "top node",
    "top nodes --show-capacity --no-headers",
    "top pods -l app=sleeping",
    "top pod sleeping --containers",
    "top pods -A -l app=sleeping --sum",
    "top pods -n kube-public",
    "top pod nope",
    "top node nope",
)


def usual(text: str) -> str:
    """Text without numbers that change from one moment to the next."""
    return re.sub(r"\d+(m|Mi|%) *", "N ", text)


@pytest.mark.parametrize("line", LINES)
def test_it_says_what_kubectl_says(longshore: Command, kubectl: Kubectl, line: str) -> None:
    ours, theirs = longshore(*line.split()), kubectl(*line.split())
    clean = usual if line.startswith("top") else str
    assert clean(ours.stdout) == clean(theirs.stdout)
    assert ours.stderr == theirs.stderr
    assert ours.exit == theirs.exit


def test_top_counts_what_a_pod_uses(longshore: Command) -> None:
    words = "for i in 1 2 3 4 5 6; do sh -c 'while :; do :; done' & done; wait"
    pod = f'{{apiVersion: v1, kind: Pod, metadata: {{name: busy}}, spec: {{containers: [{{name: main, image: sh, command: [sh, -c, "{words}"]}}]}}}}'  # noqa: E501
    longshore.ok("apply", "-f", "-", stdin=pod)
    longshore.ok("wait", "--for=condition=Ready", "pod/busy")
    used, header = 0, ""
    until = time.monotonic() + 60
    while used < 50:
        assert time.monotonic() < until, "it was never seen to work"
        shown = longshore("top", "pod", "busy")
        if shown.exit == 0:  # else it has not been measured yet, as kubectl says, too
            header, row = shown.stdout.splitlines()
            used = int(row.split()[1].removesuffix("m"))
    assert header.split() == ["NAME", "CPU(cores)", "MEMORY(bytes)"]
    longshore.ok("delete", "--now", "pod/busy")


def test_explain_takes_the_group_of_a_kind_in_front_of_the_field(longshore: Command) -> None:
    shown = longshore.ok("explain", "jobs.batch.volcano.sh.spec.minAvailable")
    assert shown.startswith("GROUP:      batch.volcano.sh\nKIND:       Job\n")


def test_top_without_a_node_says_what_is_missing_as_kubectl_does(tmp_path: Path) -> None:
    with longshore_up("--no-node", "--no-scheduler", "--controllers", "none") as running:
        ours = Command(tmp_path, {"KUBECONFIG": str(running.kubeconfig)})("top", "pods")
        theirs = Kubectl(tmp_path, running.kubeconfig)("top", "pods")
    assert (ours.exit, ours.stdout, ours.stderr) == (1, "", "error: Metrics API not available\n")
    assert (theirs.exit, theirs.stderr) == (ours.exit, ours.stderr)


def test_prune_takes_what_kubectl_applied_for_applied(longshore: Command, kubectl: Kubectl) -> None:
    # Not `{apiVersion: …}`, which a kubectl of 1.32 takes for JSON.
    config = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: NAME, labels: {app: both}}\n"
    kubectl.ok("apply", "-f", "-", stdin=config.replace("NAME", "theirs"))
    kubectl.ok("create", "configmap", "made")
    kubectl.ok("label", "configmap", "made", "app=both")
    done = longshore.ok(
        "apply", "--prune", "-l", "app=both", "-f", "-", stdin=config.replace("NAME", "pruning")
    )
    assert done == "configmap/pruning created\nconfigmap/theirs pruned\n"
    longshore.ok("delete", "cm/pruning", "cm/made")
