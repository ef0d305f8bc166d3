"""The volume with the files of its account stands in a stored pod, as Kubernetes' admission writes it."""

from __future__ import annotations

from typing import Any

import pytest

from support.api_in_memory import Server

pytestmark = pytest.mark.anyio
ACCOUNTS, PODS = ("v1", "ServiceAccount"), ("v1", "Pod")
TARGET = "/var/run/secrets/kubernetes.io/serviceaccount"
NAMESPACE = {"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}
PROJECTED = {
    "sources": [
        {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
        {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
        {"downwardAPI": {"items": [NAMESPACE]}},
    ],
    "defaultMode": 420,
}


async def create(server: Server, name: str = "p", **spec: Any) -> Any:
    spec = {"containers": [{"name": "c", "image": "i"}], **spec}
    pod = await server.client.create(PODS, {"metadata": {"name": name}, "spec": spec}, "default")
    return pod["spec"]


async def test_every_container_mounts_it_after_its_own_volumes(server: Server) -> None:
    own = {"name": "v", "emptyDir": {}}
    first = {"name": "i", "image": "i", "volumeMounts": [{"name": "v", "mountPath": "/v"}]}
    spec = await create(server, volumes=[own], initContainers=[first])
    _, added = spec["volumes"]
    assert added["name"].startswith("kube-api-access-")
    assert len(added["name"]) == len("kube-api-access-xxxxx")
    assert added["projected"] == PROJECTED
    mount = {"name": added["name"], "readOnly": True, "mountPath": TARGET}
    assert spec["initContainers"][0]["volumeMounts"] == [{"name": "v", "mountPath": "/v"}, mount]
    assert spec["containers"][0]["volumeMounts"] == [mount]


async def test_a_manifest_that_is_read_back_is_taken_as_it_is(server: Server) -> None:
    spec = await create(server)
    assert await create(server, "q", **spec) == spec


async def test_a_container_keeps_what_it_mounts_there(server: Server) -> None:
    own = {"name": "c", "image": "i", "volumeMounts": [{"name": "v", "mountPath": TARGET}]}
    spec = await create(server, volumes=[{"name": "v", "emptyDir": {}}], containers=[own])
    assert [volume["name"] for volume in spec["volumes"]] == ["v"]
    assert len(spec["containers"][0]["volumeMounts"]) == 1


@pytest.mark.parametrize(
    ("of_pod", "of_account", "is_added"),
    [(None, None, True), (None, False, False), (True, False, True), (False, True, False)],
)
async def test_the_pod_decides_before_its_account(
    server: Server, of_pod: bool | None, of_account: bool | None, is_added: bool
) -> None:
    account: Any = {"metadata": {"name": "robot"}}
    if of_account is not None:
        account["automountServiceAccountToken"] = of_account
    await server.client.create(ACCOUNTS, account, "default")
    asked = {} if of_pod is None else {"automountServiceAccountToken": of_pod}
    spec = await create(server, serviceAccountName="robot", **asked)
    assert bool(spec.get("volumes")) == is_added


async def test_an_account_that_changes_its_mind_is_heard_by_the_next_pod(server: Server) -> None:
    for name in ("a", "b", "c"):
        assert (await create(server, name)).get("volumes")
    await server.client.patch(ACCOUNTS, "default", {"automountServiceAccountToken": False}, "default")
    assert not (await create(server)).get("volumes")
