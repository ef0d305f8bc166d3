"""A pod that names no service account runs as its namespace's `default`, and says so in its spec."""

from __future__ import annotations

import json

import pytest

from support.longshore_command import Command

pytestmark = pytest.mark.xdist_group("cli commands")


def test_a_projected_token_without_an_account_is_the_default_ones(longshore: Command) -> None:
    container = {
        "name": "main",
        "image": "i",
        "command": ["sh", "-c", "cut -d. -f2 /var/token/t"],
        "volumeMounts": [{"name": "token", "mountPath": "/var/token"}],
    }
    volume = {
        "name": "token",
        "projected": {"sources": [{"serviceAccountToken": {"path": "t", "expirationSeconds": 600}}]},
    }
    spec = {"restartPolicy": "Never", "containers": [container], "volumes": [volume]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "token-reader"}, "spec": spec}
    longshore.ok("apply", "-f", "-", stdin=json.dumps(pod))
    longshore.ok("wait", "--for=jsonpath={.status.phase}=Succeeded", "pod/token-reader", "--timeout=30s")
    found = json.loads(longshore.ok("get", "pod", "token-reader", "-o", "json"))
    assert (found["spec"]["serviceAccountName"], found["spec"]["serviceAccount"]) == ("default", "default")


def test_another_account_stays_as_it_is(longshore: Command) -> None:
    container = {"name": "main", "image": "i", "command": ["true"]}
    spec = {"restartPolicy": "Never", "containers": [container], "serviceAccountName": "robot"}
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "robot"}}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "named"}, "spec": spec}
    items = {"apiVersion": "v1", "kind": "List", "items": [account, pod]}
    longshore.ok("apply", "-f", "-", stdin=json.dumps(items))
    found = json.loads(longshore.ok("get", "pod", "named", "-o", "json"))
    assert found["spec"]["serviceAccountName"] == "robot"
