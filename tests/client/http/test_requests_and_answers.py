"""What the HTTP engine sends, and how it reads answers that are out of the ordinary."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path
from ssl import PROTOCOL_TLS_SERVER, SSLContext
from typing import Any

import pytest

from client.http.scripted_server import Script, made
from longshore.api.errors import StatusError
from longshore.client import Unreachable
from longshore.client.config.connection import Connection
from longshore.client.http import HttpClient
from longshore.up import own_certificates
from support.http_server import Asked, Reply, json_reply, serving

pytestmark = pytest.mark.anyio

POD: dict[str, Any] = {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "p"}}
PODS = ("v1", "pods")


def page(*names: str, more: str = "", version: str = "7") -> dict[str, Any]:
    meta = {"resourceVersion": version} | ({"continue": more} if more else {})
    return {"kind": "PodList", "metadata": meta, "items": [{"metadata": {"name": n}} for n in names]}


async def test_it_names_itself_and_asks_for_plain_json(script: Script) -> None:
    script.answers = [made(POD)]
    async with script.client(manager="tester") as client:
        await client.get(PODS, "p", "default")
    headers = script.asked[0][2]
    assert re.fullmatch(r"tester/\d+\.\d+\.\d+ \(linux/\w+\)", headers["User-Agent"])
    assert headers["Accept"] == "application/json"
    assert headers["Accept-Encoding"] == "identity"


async def test_impersonation_headers_are_sent_with_every_value(script: Script) -> None:
    script.answers = [made(POD)]
    seen: list[list[str]] = []

    async def answer(request: Asked) -> Reply | None:
        seen.append([text for name, text in request.headers if name == "Impersonate-Group"])
        return json_reply(POD)

    script.answers = [answer]
    headers = [("Impersonate-User", "bob"), ("Impersonate-Group", "a"), ("Impersonate-Group", "b")]
    async with script.client(connection=Connection(script.url, headers=headers)) as client:
        await client.get(PODS, "p", "default")
    assert seen == [["a", "b"]]


async def test_names_are_escaped_in_paths(script: Script) -> None:
    script.answers = [made(POD)]
    async with script.client() as client:
        await client.get(PODS, "a/b c", "default")
    assert script.asked[0][1] == "/api/v1/namespaces/default/pods/a%2Fb%20c"


async def test_a_list_follows_its_pages(script: Script) -> None:
    script.answers = [made(page("a", more="tok=1")), made(page("b"))]
    async with script.client() as client:
        found = await client.list(PODS, "default", labels="x=y")
    assert [item["metadata"]["name"] for item in found.items] == ["a", "b"]
    assert found.resource_version == "7"
    assert [asked[1].partition("?")[2] for asked in script.asked] == [
        "labelSelector=x%3Dy&limit=500",
        "labelSelector=x%3Dy&limit=500&continue=tok%3D1",
    ]


async def test_a_list_torn_by_a_forgotten_snapshot_starts_over_in_one_piece(script: Script) -> None:
    gone = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"}
    script.answers = [made(page("a", more="t")), made(gone, 410), made(page("a", "b", version="9"))]
    async with script.client() as client:
        found = await client.list(PODS, "default")
    assert [item["metadata"]["name"] for item in found.items] == ["a", "b"]
    assert found.resource_version == "9"
    assert "limit" not in script.asked[-1][1]


async def test_an_error_page_of_a_proxy_is_an_error_of_its_code(script: Script) -> None:
    async def page_of_proxy(request: Asked) -> Reply | None:
        return Reply(b"<html>\n  try later</html>", 503)

    script.answers = [page_of_proxy]
    async with script.client() as client:
        with pytest.raises(StatusError, match="the server answered 503: <html> try later</html>") as caught:
            await client.get(PODS, "p", "default")
    assert (caught.value.code, caught.value.reason) == (503, "ServiceUnavailable")


async def test_a_redirect_is_not_followed(script: Script) -> None:
    async def elsewhere(request: Asked) -> Reply | None:
        return Reply(status=302, headers={"Location": "http://example.org/"})

    script.answers = [elsewhere]
    async with script.client() as client:
        with pytest.raises(StatusError, match="the server answered 302"):
            await client.get(PODS, "p", "default")


async def test_an_answer_that_is_no_object_is_no_answer(script: Script) -> None:
    script.answers = [made(["a"])]
    async with script.client() as client:
        with pytest.raises(Unreachable, match="not a JSON object"):
            await client.get(PODS, "p", "default")


async def test_unknown_kinds_are_looked_up_once(script: Script) -> None:
    found = {
        "kind": "APIResourceList",
        "resources": [
            {"name": "boats", "kind": "Boat", "namespaced": True, "verbs": ["get"]},
            {"name": "boats/status", "kind": "Boat", "namespaced": True, "verbs": ["get"]},
        ],
    }
    boat = {"kind": "Boat", "apiVersion": "sea.org/v1", "metadata": {"name": "b"}}
    script.answers = [made(found), made(boat)]
    async with script.client() as client:
        for _ in range(2):
            assert await client.get(("sea.org/v1", "Boat"), "b", "default") == {"metadata": {"name": "b"}}
        row = await client.resource(("sea.org/v1", "Boat"))
    assert [asked[1] for asked in script.asked] == [
        "/apis/sea.org/v1",
        "/apis/sea.org/v1/namespaces/default/boats/b",
        "/apis/sea.org/v1/namespaces/default/boats/b",
    ]
    assert list(row.subresources) == ["status"]


async def test_a_kind_the_server_lacks_is_a_lookup_error_that_lists_its_neighbours(script: Script) -> None:
    found = {"resources": [{"name": "boats", "kind": "Boat", "namespaced": True, "verbs": ["get"]}]}
    script.answers = [made(found)]
    async with script.client() as client:
        with pytest.raises(LookupError, match=r"no 'Ship' in sea.org/v1; it serves there: Boat"):
            await client.get(("sea.org/v1", "Ship"), "b", "default")


async def test_a_proxy_is_used_when_the_environment_names_one(script: Script) -> None:
    script.answers = [made(POD)]
    connection = Connection("http://cluster.invalid:8080")
    async with script.client(connection=connection, environ={"HTTP_PROXY": script.url}) as client:
        await client.get(PODS, "p", "default")
    assert script.asked[0][1] == "http://cluster.invalid:8080/api/v1/namespaces/default/pods/p"


async def test_a_server_of_another_authority_is_not_trusted(tmp_path: Path) -> None:
    ours = own_certificates.ensure(tmp_path / "ours", datetime.now(UTC))
    other = own_certificates.ensure(tmp_path / "other", datetime.now(UTC))
    tls = SSLContext(PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(other.server)

    async def never(request: Asked) -> Reply | None:
        raise AssertionError("a request came through")

    trust = ours.ca_cert.read_bytes()
    async with serving(never, tls) as url, HttpClient(Connection(url, ca=trust)) as client:
        with pytest.raises(Unreachable, match="its certificate is not trusted"):
            await client.get(PODS, "p", "default")
