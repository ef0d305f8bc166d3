"""Resources, custom ones included, and raw requests mean the same on both engines."""

from __future__ import annotations

import json
from typing import Any

import pytest

from longshore.api.errors import StatusError
from longshore.client import Client
from longshore.client.http import HttpClient
from longshore.client.local import LocalClient
from longshore.up.running import Longshore

pytestmark = pytest.mark.anyio

DEFINITIONS = ("apiextensions.k8s.io/v1", "CustomResourceDefinition")
BOATS = ("sea.org/v1", "Boat")
BOAT_DEFINITION: dict[str, Any] = {
    "metadata": {"name": "boats.sea.org"},
    "spec": {
        "group": "sea.org",
        "scope": "Namespaced",
        "names": {"plural": "boats", "singular": "boat", "kind": "Boat", "listKind": "BoatList"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {
                                "type": "object",
                                "properties": {"masts": {"type": "integer", "default": 1}},
                            }
                        },
                    }
                },
            }
        ],
    },
}


async def test_both_engines_see_the_same_resources(longshore: Longshore) -> None:
    local = await LocalClient(longshore.api).resources()
    async with HttpClient.from_kubeconfig(longshore.kubeconfig) as client:
        over_http = await client.resources()

    def facts(rows: Any) -> set[Any]:
        return {(r.group_version, r.kind, r.plural, r.namespaced, frozenset(r.verbs)) for r in rows}

    made = {fact for fact in facts(over_http) if fact[0].startswith(("longshore.dev/", "metrics.k8s.io/"))}
    assert facts(local) == facts(over_http) - made  # documents made on demand are served beside the API
    assert ("batch/v1", "Job") in {(r.group_version, r.kind) for r in over_http}


async def test_custom_kinds_work_as_soon_as_they_are_defined(client: Client) -> None:
    await client.create(DEFINITIONS, BOAT_DEFINITION)
    made = await client.create(BOATS, {"metadata": {"name": "argo"}, "spec": {}}, "default")
    assert made["spec"] == {"masts": 1}
    assert not {"kind", "apiVersion"} & made.keys()
    found = await client.list(BOATS, "default")
    assert found.items == [made]
    assert "Boat" in {row.kind for row in await client.resources()}


async def test_a_raw_request_answers_with_its_code(client: Client) -> None:
    version = await client.request("GET", "/version")
    assert version.code == 200
    assert json.loads(version.body)["gitVersion"].startswith("v1.")
    missing = await client.request("GET", "/api/v1/namespaces/default/pods/x")
    assert missing.code == 404
    assert json.loads(missing.body)["message"] == 'pods "x" not found'
    nowhere = await client.request("GET", "/nowhere")
    assert (nowhere.code, nowhere.body.strip()) == (404, b"404 page not found")


async def test_a_raw_request_sends_query_headers_and_body(client: Client) -> None:
    body = json.dumps({"metadata": {"name": "a"}}).encode()
    sent = {"Content-Type": "application/json"}
    path = "/api/v1/namespaces/default/configmaps"
    made = await client.request("POST", path, body=body, headers=sent)
    assert made.code == 201
    table = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
    shown = await client.request("GET", path, query={"limit": "5"}, headers=table)
    assert shown.headers["content-type"].startswith("application/json")
    assert [row["cells"][0] for row in json.loads(shown.body)["rows"]] == ["a"]


async def test_the_callers_identity_counts(longshore: Longshore) -> None:
    review = ("authentication.k8s.io/v1", "SelfSubjectReview")
    async with HttpClient.from_kubeconfig(longshore.kubeconfig) as client:
        answer = await client.create(review, {})
    assert answer["status"]["userInfo"]["username"] == "longshore-admin"
    from longshore.apiserver.request.call import User

    nobody = LocalClient(longshore.api, user=User("nobody", ("system:authenticated",)))
    with pytest.raises(StatusError) as caught:
        await nobody.list(("v1", "secrets"), "default")
    assert caught.value.code == 403
