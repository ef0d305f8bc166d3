"""Service accounts of new pods: the default one, one that is there, or a refusal."""

from __future__ import annotations

from typing import Any

import pytest

from longshore.api.errors import StatusError
from support.api_in_memory import Server

pytestmark = pytest.mark.anyio
ACCOUNTS, PODS = ("v1", "ServiceAccount"), ("v1", "Pod")
MISSING = (
    'pods "p" is forbidden: error looking up service account default/robot: serviceaccount "robot" not found'
)


async def create(server: Server, name: str = "p", **spec: Any) -> Any:
    spec = {"containers": [{"name": "c", "image": "i"}], **spec}
    return await server.client.create(PODS, {"metadata": {"name": name}, "spec": spec}, "default")


async def test_a_pod_that_names_a_missing_account_is_refused(server: Server) -> None:
    with pytest.raises(StatusError) as caught:
        await create(server, serviceAccountName="robot")
    assert (caught.value.code, caught.value.message) == (403, MISSING)
    await server.client.create(ACCOUNTS, {"metadata": {"name": "robot"}}, "default")
    await create(server, serviceAccountName="robot")


async def test_a_pod_like_others_is_refused_once_their_account_is_gone(server: Server) -> None:
    await server.client.create(ACCOUNTS, {"metadata": {"name": "robot"}}, "default")
    for name in ("a", "b", "c"):
        await create(server, name, serviceAccountName="robot")
    await server.client.delete(ACCOUNTS, "robot", "default")
    with pytest.raises(StatusError) as caught:
        await create(server, serviceAccountName="robot")
    assert caught.value.message == MISSING


async def test_where_nobody_looks_after_accounts_pods_are_taken_as_they_are(server: Server) -> None:
    await server.client.delete(ACCOUNTS, "default", "default")
    pod = await create(server, serviceAccountName="robot")
    assert pod["spec"]["serviceAccountName"] == "robot"
    assert "serviceAccountName" not in (await create(server, "q"))["spec"]
