"""Which requests find out what a server serves, and what of its answers counts."""

from __future__ import annotations

from typing import Any

import pytest

from client.http.scripted_server import Script
from longshore.client import PartlyDiscovered
from support.http_server import Asked, Reply, json_reply

pytestmark = pytest.mark.anyio
VERBS = ["delete", "list"]


def aggregated(*groups: Any) -> Any:
    return {"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "items": [*groups]}


def group(name: str, *versions: tuple[str, list[str]], freshness: str = "Current") -> Any:
    return {
        "metadata": {"name": name} if name else {},
        "versions": [
            {
                "version": version,
                "freshness": freshness,
                "resources": [
                    {
                        "resource": plural,
                        "responseKind": {"kind": plural},
                        "scope": "Namespaced",
                        "verbs": VERBS,
                    }
                    for plural in plurals
                ],
            }
            for version, plurals in versions
        ],
    }


def legacy(*plurals: str) -> Any:
    return {
        "kind": "APIResourceList",
        "resources": [{"name": each, "kind": each, "namespaced": True, "verbs": VERBS} for each in plurals],
    }


OLD = {
    "/api": {"kind": "APIVersions", "versions": ["v1"]},
    "/apis": {
        "kind": "APIGroupList",
        "groups": [
            {
                "name": "example.com",
                "versions": [{"groupVersion": "example.com/v1alpha1"}, {"groupVersion": "example.com/v1"}],
                "preferredVersion": {"groupVersion": "example.com/v1"},
            }
        ],
    },
    "/api/v1": legacy("pods"),
    "/apis/example.com/v1": legacy("boats"),
    "/apis/example.com/v1alpha1": legacy("boats", "oars"),
}
NEW = {
    "/api": aggregated(group("", ("v1", ["pods"]))),
    "/apis": aggregated(group("example.com", ("v1", ["boats"]), ("v1alpha1", ["boats", "oars"]))),
}


def serve(script: Script, documents: dict[str, Any]) -> None:
    async def answer(request: Asked) -> Reply:
        found = documents.get(request.path)
        return json_reply({}, 503) if found is None else json_reply(found)

    script.answers = [answer]


@pytest.mark.parametrize(("documents", "requests"), [(NEW, 2), (OLD, 5)], ids=["aggregated", "one by one"])
async def test_every_resource_is_found_once_in_the_preferred_version_that_has_it(
    script: Script, documents: dict[str, Any], requests: int
) -> None:
    serve(script, documents)
    async with script.client() as client:
        found = await client.resources()
    assert [(row.group, row.version, row.plural, row.verbs) for row in found] == [
        ("", "v1", "pods", tuple(VERBS)),
        ("example.com", "v1", "boats", tuple(VERBS)),
        ("example.com", "v1alpha1", "oars", tuple(VERBS)),
    ]
    assert len(script.asked) == requests
    assert "APIGroupDiscoveryList" in script.asked[0][2]["Accept"]


@pytest.mark.parametrize(
    "documents",
    [
        {**NEW, "/apis": aggregated(group("away.example", ("v1", []), freshness="Stale"))},
        {
            **OLD,
            "/apis": {
                "groups": [
                    {"name": "away.example", "versions": [{"groupVersion": "away.example/v1"}]},
                ]
            },
        },
    ],
    ids=["aggregated", "one by one"],
)
async def test_a_group_whose_server_is_away_is_told_with_what_is_known(
    script: Script, documents: dict[str, Any]
) -> None:
    serve(script, documents)
    async with script.client() as client:
        with pytest.raises(PartlyDiscovered, match=r"away\.example/v1") as caught:
            await client.resources()
    assert [row.plural for row in caught.value.found] == ["pods"]
    assert [*caught.value.missing] == ["away.example/v1"]
