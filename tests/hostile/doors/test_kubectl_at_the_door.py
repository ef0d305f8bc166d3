"""RBAC as a person meets it: real kubectl, over HTTPS, with tokens and impersonation."""

from __future__ import annotations

import copy
import json
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from longshore.api.types import Obj
from support.kubectl_binary import Kubectl
from support.longshore_process import RunningLongshore, longshore_up


@pytest.fixture(scope="module")
def longshore() -> Iterator[RunningLongshore]:
    with longshore_up(
        "--no-node", "--no-scheduler", "--controllers", "aggregation,serviceaccount"
    ) as running:
        yield running


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def admin(longshore: RunningLongshore, home: Path) -> Kubectl:
    return Kubectl(home, longshore.kubeconfig)


def account(longshore: RunningLongshore, admin: Kubectl, name: str) -> Kubectl:
    """A kubectl with the token of a new service account."""
    admin.ok("create", "serviceaccount", name)
    config = copy.deepcopy(longshore.config)
    config["users"][0]["user"] = {"token": admin.ok("create", "token", name).strip()}
    file = admin.home / f"kubeconfig-{name}"
    file.write_text(yaml.safe_dump(config))
    return Kubectl(admin.home, file)


def test_a_binding_to_cluster_admin_gives_all_rights_at_once(
    longshore: RunningLongshore, admin: Kubectl
) -> None:
    boss = account(longshore, admin, "boss")
    assert "cannot list resource" in boss.refused("get", "nodes")
    assert boss("auth", "can-i", "*", "*").stdout == "no\n"
    admin.ok(
        "create", "clusterrolebinding", "boss", "--clusterrole=cluster-admin", "--serviceaccount=default:boss"
    )
    assert boss.ok("auth", "can-i", "*", "*") == "yes\n"
    assert boss.ok("auth", "can-i", "get", "/metrics") == "yes\n"
    boss.ok("create", "clusterrolebinding", "next", "--clusterrole=cluster-admin", "--user=ann")
    assert admin.ok("auth", "can-i", "delete", "secrets", "--as=ann", "-A") == "yes\n"


def test_a_namespace_admin_hands_on_what_they_have_and_no_more(
    longshore: RunningLongshore, admin: Kubectl
) -> None:
    lead = account(longshore, admin, "lead")
    admin.ok("create", "rolebinding", "lead", "--clusterrole=admin", "--serviceaccount=default:lead")
    lead.ok("create", "rolebinding", "dev", "--clusterrole=edit", "--user=dev")
    whoami = ("auth", "whoami", "-o", "jsonpath={.status.userInfo.groups}")
    assert "system:serviceaccounts:default" in lead.ok(*whoami, "--as=system:serviceaccount:default:default")
    assert admin.ok("auth", "can-i", "create", "jobs", "--as=dev") == "yes\n"
    assert "attempting to grant RBAC permissions not currently held" in lead.refused(
        "create", "rolebinding", "evil", "--clusterrole=cluster-admin", "--user=dev"
    )
    assert "attempting to grant RBAC permissions not currently held" in lead.refused(
        "create", "role", "evil", "--verb=update", "--resource=resourcequotas"
    )
    assert "clusterrolebindings" in lead.refused(
        "create", "clusterrolebinding", "evil", "--clusterrole=view", "--user=dev"
    )
    assert "cannot impersonate resource" in lead.refused("get", "pods", "--as=ann")


def test_a_large_body_is_no_way_around(admin: Kubectl) -> None:
    """Bodies above 16 KiB are read by another process."""
    admin.ok("create", "rolebinding", "large", "--clusterrole=admin", "--user=liz")
    role: Obj = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "Role",
        "metadata": {"name": "large", "annotations": {"a": "x" * 20_000}},
        "rules": [{"apiGroups": [""], "resources": ["resourcequotas"], "verbs": ["update"]}],
    }
    create = ("create", "--as=liz", "-f", "-")
    assert "attempting to grant RBAC permissions not currently held" in admin.refused(
        *create, stdin=json.dumps(role)
    )
    admin.ok(*create, stdin=json.dumps({**role, "rules": []}))
    assert "attempting to grant RBAC permissions not currently held" in admin.refused(
        "replace", "--as=liz", "-f", "-", stdin=json.dumps(role)
    )


RECONCILED = """
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: secret-viewer, labels: {rbac.authorization.k8s.io/aggregate-to-view: "true"}}
rules: [{apiGroups: [""], resources: [secrets], verbs: [get, list]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: watcher, namespace: default}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: watcher}]
"""


def test_auth_reconcile_creates_extends_and_is_aggregated(admin: Kubectl) -> None:
    told = admin.ok("auth", "reconcile", "-f", "-", stdin=RECONCILED)
    assert "clusterrole.rbac.authorization.k8s.io/secret-viewer reconciled" in told
    admin.ok(
        "wait",
        "clusterrole/view",
        '--for=jsonpath={.rules[?(@.resources[0]=="secrets")]}',
        "--timeout=20s",
    )
    assert admin.ok("auth", "can-i", "list", "secrets", "--as=watcher") == "yes\n"
    more = RECONCILED.replace("[get, list]", "[watch]")
    admin.ok("auth", "reconcile", "-f", "-", stdin=more)
    rules = json.loads(admin.ok("get", "clusterrole", "secret-viewer", "-o", "json"))["rules"]
    assert {verb for rule in rules for verb in rule["verbs"]} == {"get", "list", "watch"}


def test_a_token_bound_to_a_secret_dies_with_it(longshore: RunningLongshore, admin: Kubectl) -> None:
    admin.ok("create", "serviceaccount", "robot")
    admin.ok("create", "secret", "generic", "anchor")
    bound = ("--bound-object-kind=Secret", "--bound-object-name=anchor")
    token = admin.ok("create", "token", "robot", *bound).strip()
    who = ("auth", "whoami", "-o", "jsonpath={.status.userInfo.username}", f"--token={token}")
    bare = copy.deepcopy(longshore.config)
    bare["users"][0]["user"] = {}
    file = admin.home / "kubeconfig-nobody"
    file.write_text(yaml.safe_dump(bare))
    nobody = Kubectl(admin.home, file)
    assert nobody.ok(*who) == "system:serviceaccount:default:robot"
    admin.ok("delete", "secret", "anchor")
    assert "Unauthorized" in nobody.refused(*who)


def test_apply_of_what_is_not_there_needs_create(longshore: RunningLongshore, admin: Kubectl) -> None:
    admin.ok("create", "role", "patches", "--verb=get,patch", "--resource=configmaps")
    admin.ok("create", "rolebinding", "patches", "--role=patches", "--user=pat")
    body = '{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "new"}}'
    words = ("apply", "--server-side", "--as=pat", "-f", "-")
    assert 'cannot create resource "configmaps"' in admin.refused(*words, stdin=body)
    admin.ok("create", "configmap", "new")
    admin.ok(*words, "--force-conflicts", stdin=body)


def test_a_malformed_late_chunk_is_refused_at_once(longshore: RunningLongshore) -> None:
    host, _, port = longshore.server.removeprefix("https://").partition(":")
    head = (
        "POST /api/v1/namespaces/default/configmaps HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        f"Authorization: Bearer {longshore.token}\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    for late in (b"zz\r\n", b"5\r\nabcdeXX", b"\n", b"-1\r\n", b"0\r\nbad trailer\r\n\r\n"):
        with (
            socket.create_connection((host, int(port)), 20) as plain,
            longshore.tls.wrap_socket(plain, server_hostname="localhost") as wire,
        ):
            wire.sendall(head.encode() + b'5\r\n{"met\r\n')
            wire.sendall(late)
            assert wire.recv(1 << 16).startswith(b"HTTP/1.1 400 ")
