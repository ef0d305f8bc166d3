"""Everyday kubectl commands that change objects, over TLS with the kubeconfig that longshore wrote."""

from __future__ import annotations

import json

import pytest

from support.kubectl_binary import Kubectl

pytestmark = pytest.mark.xdist_group("kubectl writing")

JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {name: NAME, labels: {app: demo}}
spec:
  suspend: true
  template:
    spec:
      restartPolicy: Never
      containers: [{name: main, image: busybox}]
"""
MAP = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: NAME, labels: {app: demo}}
data: {a: "1"}
"""
SECRET = """\
apiVersion: v1
kind: Secret
metadata: {name: NAME, labels: {app: demo}}
stringData: {password: hunter2}
"""


def named(manifest: str, name: str) -> str:
    return manifest.replace("NAME", name)


def test_a_file_of_several_documents_is_created_applied_and_deleted(kubectl: Kubectl) -> None:
    documents = "---\n".join([named(MAP, "one"), named(SECRET, "two"), named(JOB, "three")])
    assert kubectl.ok("create", "-f", "-", stdin=documents).split() == (
        ["configmap/one", "created", "secret/two", "created", "job.batch/three", "created"]
    )
    assert kubectl.ok("get", "secret", "two", "-o", "jsonpath={.data.password}") == "aHVudGVyMg=="
    result = kubectl("apply", "-f", "-", stdin=documents)
    assert result.stdout.splitlines() == [
        "configmap/one configured",
        "secret/two configured",
        "job.batch/three configured",
    ]
    assert result.stderr.count("last-applied-configuration") == 3
    kubectl.ok("delete", "-f", "-", stdin=documents)
    assert kubectl.ok("get", "jobs,secrets", "-o", "name") == ""


def test_prune_deletes_what_is_no_longer_in_the_files(kubectl: Kubectl) -> None:
    words = "apply", "-f", "-", "--prune", "-l", "app=demo", "--prune-allowlist=core/v1/ConfigMap"
    kubectl.ok(*words, stdin=named(MAP, "old"))
    printed = kubectl.ok(*words, stdin=named(MAP, "new"))
    assert printed.splitlines() == ["configmap/new created", "configmap/old pruned"]


def test_an_apply_set_deletes_what_is_no_longer_in_it(kubectl: Kubectl, namespace: str) -> None:
    words = "apply", "-f", "-", "--prune", "--applyset=secret/set", "-n", namespace
    alpha = {"KUBECTL_APPLYSET": "true"}
    kubectl.ok(*words, stdin=named(MAP, "old"), env=alpha)
    printed = kubectl.ok(*words, stdin=named(MAP, "new"), env=alpha)
    assert printed.splitlines() == ["configmap/new created", "configmap/old pruned"]
    kinds = kubectl.ok("get", "secret", "set", "-o", "jsonpath={.metadata.annotations}")
    assert json.loads(kinds)["applyset.kubernetes.io/contains-group-kinds"] == "ConfigMap"


def test_an_edit_is_saved_and_a_refused_edit_comes_back_with_the_reason(kubectl: Kubectl) -> None:
    kubectl.ok("apply", "-f", "-", stdin=named(JOB, "j"))
    edited = {"KUBE_EDITOR": "sed -i 's/suspend: true/suspend: false/'"}
    assert kubectl.ok("edit", "job", "j", env=edited) == "job.batch/j edited\n"
    assert kubectl.ok("get", "job", "j", "-o", "jsonpath={.spec.suspend}") == "false"
    # The first time it writes what is refused, the second time it gives up by changing nothing.
    editor = kubectl.home / "editor.sh"
    editor.write_text(
        '#!/bin/sh\ncp "$1" seen-$(ls | grep -c ^seen-)\nsed -i "s/backoffLimit: 6/backoffLimit: -6/" "$1"\n'
    )
    editor.chmod(0o755)
    result = kubectl("edit", "job", "j", env={"KUBE_EDITOR": str(editor)})
    assert result.exit == 1
    assert (
        'jobs.batch "j" was not valid:\n# * spec.backoffLimit: Invalid value: -6'
        in (kubectl.home / "seen-1").read_text()
    )


def test_an_edit_of_the_status_goes_to_the_subresource(kubectl: Kubectl) -> None:
    kubectl.ok("apply", "-f", "-", stdin=named(JOB, "j"))
    edited = {"KUBE_EDITOR": "sed -i 's/^status: {}/status: {active: 1, ready: 1}/'"}
    kubectl.ok("edit", "job", "j", "--subresource=status", env=edited)
    assert kubectl.ok("get", "job", "j", "-o", "jsonpath={.status}") == '{"active":1,"ready":1}'


def test_replace_needs_the_version_it_read_when_it_names_one(kubectl: Kubectl) -> None:
    kubectl.ok("create", "-f", "-", stdin=named(MAP, "m"))
    read = kubectl.ok("get", "cm", "m", "-o", "json")
    assert kubectl.ok("replace", "-f", "-", stdin=read.replace('"1"', '"2"')) == "configmap/m replaced\n"
    assert "the object has been modified; please apply your changes to the latest version" in (
        kubectl.refused("replace", "-f", "-", stdin=read.replace('"1"', '"3"'))
    )


def test_a_patch_with_a_stale_version_conflicts_and_with_the_current_one_does_not(kubectl: Kubectl) -> None:
    # This is how Helm and controllers guard their patches.
    kubectl.ok("create", "-f", "-", stdin=named(MAP, "m"))
    version = kubectl.ok("get", "cm", "m", "-o", "jsonpath={.metadata.resourceVersion}")
    body = {"metadata": {"resourceVersion": version}, "data": {"a": "2"}}
    kubectl.ok("patch", "cm", "m", "-p", json.dumps(body))
    body["data"] = {"a": "3"}
    for kind in ("strategic", "merge"):
        refusal = kubectl.refused("patch", "cm", "m", "--type", kind, "-p", json.dumps(body))
        assert refusal.startswith(
            'Error from server (Conflict): Operation cannot be fulfilled on configmaps "m"'
        )


def test_labels_annotations_and_images_are_set_by_their_own_commands(kubectl: Kubectl) -> None:
    kubectl.ok("run", "p", "--image=busybox")
    kubectl.ok("label", "pod", "p", "tier=back")
    kubectl.ok("annotate", "pods", "-l", "tier=back", "note=a b")
    kubectl.ok("set", "image", "pod/p", "p=busybox:2")
    shown = "jsonpath={.metadata.labels}{.metadata.annotations}{.spec.containers[0].image}"
    assert kubectl.ok("get", "pod", "p", "-o", shown) == '{"run":"p","tier":"back"}{"note":"a b"}busybox:2'
    refusal = kubectl.refused("label", "pod", "p", "bad key=1")
    assert refusal.startswith(
        'The Pod "p" is invalid: metadata.labels: Invalid value: "bad key": name part must'
    )


def test_deleting_waits_for_finalizers(kubectl: Kubectl) -> None:
    held = named(MAP, "m").replace("metadata: {", "metadata: {finalizers: [example.org/hold], ")
    kubectl.ok("create", "-f", "-", stdin=held)
    waiting = kubectl.start("delete", "cm", "m", "--timeout=20s")
    while not kubectl.ok("get", "cm", "m", "-o", "jsonpath={.metadata.deletionTimestamp}"):
        pass
    assert waiting.poll() is None
    kubectl.ok("patch", "cm", "m", "--type=json", "-p", '[{"op":"remove","path":"/metadata/finalizers"}]')
    out, err = waiting.communicate(timeout=10)
    assert (waiting.returncode, err) == (0, "")
    assert out.startswith('configmap "m" deleted')


def test_a_namespace_is_deleted_with_what_is_in_it(kubectl: Kubectl, namespace: str) -> None:
    kubectl.ok("create", "-f", "-", stdin=named(JOB, "j"))
    assert kubectl.ok("delete", "namespace", namespace) == f'namespace "{namespace}" deleted\n'
    assert kubectl.ok("get", "jobs", "-o", "name") == ""
    assert f'namespaces "{namespace}" not found' in kubectl.refused("run", "p", "--image=busybox")


def test_a_quota_holds_and_its_refusal_names_it(kubectl: Kubectl) -> None:
    kubectl.ok("create", "quota", "small", "--hard=count/jobs.batch=1,requests.cpu=1")
    kubectl.ok("create", "job", "one", "--image=busybox")
    assert (
        "exceeded quota: small, requested: count/jobs.batch=1, used: count/jobs.batch=1, "
        "limited: count/jobs.batch=1"
    ) in kubectl.refused("create", "job", "two", "--image=busybox")
    table = kubectl.ok("describe", "quota", "small").splitlines()
    assert [line.split() for line in table if line.startswith(("count", "requests"))] == [
        ["count/jobs.batch", "1", "1"],
        ["requests.cpu", "0", "1"],
    ]


@pytest.mark.parametrize(
    "words",
    [
        ("configmap", "x", "--from-literal=a=1"),
        ("secret", "generic", "x", "--from-literal=a=1"),
        ("secret", "docker-registry", "x", "--docker-username=u", "--docker-password=p"),
        ("serviceaccount", "x"),
        ("service", "clusterip", "x", "--tcp=80:8080"),
        ("service", "nodeport", "x", "--tcp=80"),
        ("job", "x", "--image=busybox", "--", "true"),
        ("cronjob", "x", "--image=busybox", "--schedule=@hourly"),
        ("quota", "x", "--hard=pods=2"),
        ("role", "x", "--verb=get", "--resource=jobs"),
        ("rolebinding", "x", "--role=x", "--serviceaccount=default:default"),
        ("poddisruptionbudget", "x", "--selector=a=b", "--min-available=1"),
        ("token", "x"),
    ],
    ids=lambda words: "-".join(words[:2]),
)
def test_create_knows_the_kind(kubectl: Kubectl, words: tuple[str, ...]) -> None:
    # Generators send protobuf: each proves that this kind is decoded from it.
    if words[0] == "token":
        kubectl.ok("create", "serviceaccount", "x")
        assert kubectl.ok("create", *words).count(".") == 2
    else:
        assert kubectl.ok("create", *words).endswith(" created\n")
        assert kubectl.ok("get", words[0], "x", "-o", "jsonpath={.metadata.name}") == "x"


def test_create_priorityclass_and_clusterrole_outside_of_namespaces(kubectl: Kubectl) -> None:
    kubectl.ok("create", "priorityclass", "urgent", "--value=1000")
    kubectl.ok("create", "clusterrole", "reader", "--verb=get,list", "--resource=pods")
    kubectl.ok("create", "clusterrolebinding", "readers", "--clusterrole=reader", "--user=eve")
    kubectl.ok("run", "p", "--image=busybox", '--overrides={"spec":{"priorityClassName":"urgent"}}')
    assert kubectl.ok("get", "pod", "p", "-o", "jsonpath={.spec.priority}") == "1000"
