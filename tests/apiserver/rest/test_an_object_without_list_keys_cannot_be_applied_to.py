"""A plain write may store list items without their key; a server-side apply to such an object is refused."""

from __future__ import annotations

import pytest

from apiserver.rest.conftest import Server
from longshore.api.errors import StatusError

pytestmark = pytest.mark.anyio

APPLY = {"content_type": "application/apply-patch+yaml", "fieldManager": "one"}


async def test_the_refusal_names_the_list_and_the_missing_key(server: Server) -> None:
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "robot"}}
    await server.patch("serviceaccounts", "robot", {**account, "automountServiceAccountToken": True}, **APPLY)
    await server.patch("serviceaccounts", "robot", {"secrets": [{"namespace": "other"}]})
    with pytest.raises(StatusError) as refused:
        await server.patch("serviceaccounts", "robot", account, **APPLY)
    assert (refused.value.code, refused.value.message) == (
        500,
        "failed to create typed live object (default/robot; /v1, Kind=ServiceAccount): .secrets: element 0: "
        'associative list with keys has an element that omits key field "name" '
        "(and doesn't have default value)",
    )
    assert (await server.get("serviceaccounts", "robot"))["automountServiceAccountToken"] is True
