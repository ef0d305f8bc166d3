"""A write with a large body answers, stores and refuses as a small one does, though a process reads it."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from typing import Any

import pytest

from longshore.apiserver.http import aside
from longshore.apiserver.http.begin import ApiFront
from longshore.apiserver.large import large_writes as writing
from support.api_in_memory import Answer, Server, api_in_memory

pytestmark = pytest.mark.anyio
MAPS = "/api/v1/namespaces/default/configmaps"
PODS = "/api/v1/namespaces/default/pods"
JOBS = "/apis/batch/v1/namespaces/default/jobs"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
WIDGETS = "/apis/example.com/v1/namespaces/default/widgets"
_MERGE, _STRATEGIC = "application/merge-patch+json", "application/strategic-merge-patch+json"
_POD: dict[str, Any] = {"spec": {"containers": [{"name": "c", "image": "i"}]}}
_DEFINITION = {
    "metadata": {"name": "widgets.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {"type": "object", "properties": {"size": {"type": "integer"}}}
                },
            }
        ],
    },
}
_QUOTA = {"metadata": {"name": "q"}, "spec": {"hard": {"pods": "2"}}}
_WIDGET = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "size": 3}

REQUESTS: list[tuple[str, str, Any, dict[str, str]]] = [
    ("POST", MAPS, {"metadata": {"name": "m"}, "data": {"a": "b"}, "odd": 1}, {}),
    ("POST", MAPS, {"metadata": {"name": "m"}}, {}),
    ("POST", MAPS, {"metadata": {"name": "n"}, "odd": 1}, {"fieldValidation": "Strict"}),
    ("POST", MAPS, {"metadata": {"name": "dry"}}, {"dryRun": "All"}),
    ("POST", MAPS, b"{", {}),
    ("POST", MAPS, b"metadata: {name: y}\ndata: {a: 'b'}\n", {"type": "application/yaml"}),
    ("POST", MAPS, {"metadata": {"name": "m"}}, {"type": "a/b"}),
    ("POST", MAPS.replace("default", "none"), {"metadata": {"name": "m"}}, {}),
    ("POST", MAPS, {"metadata": {"generateName": "g-"}}, {}),
    ("PUT", f"{MAPS}/m", {"metadata": {"name": "m"}, "data": {"a": "c"}}, {}),
    ("PUT", f"{MAPS}/m", {"metadata": {"name": "m"}, "data": {"a": "c"}}, {}),
    ("PUT", f"{MAPS}/m", {"metadata": {"name": "m", "resourceVersion": "1"}}, {}),
    ("PUT", f"{MAPS}/none", {"metadata": {"name": "none"}}, {}),
    ("PATCH", f"{MAPS}/m", {"data": {"d": "e"}}, {"type": _MERGE}),
    ("PATCH", f"{MAPS}/m", [{"op": "remove", "path": "/data/d"}], {"type": "application/json-patch+json"}),
    ("PATCH", f"{MAPS}/m", {"data": {"f": "g"}}, {"type": _STRATEGIC}),
    (
        "PATCH",
        f"{MAPS}/applied",
        {"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "b"}},
        {"type": "application/apply-patch+yaml", "fieldManager": "x"},
    ),
    ("POST", "/api/v1/namespaces/default/resourcequotas", _QUOTA, {}),
    ("POST", PODS, {"metadata": {"name": "one"}, **_POD}, {}),
    ("POST", PODS, {"metadata": {"name": "two"}, **_POD}, {}),
    ("POST", PODS, {"metadata": {"name": "three"}, **_POD}, {}),
    ("PUT", f"{PODS}/one/status", {"metadata": {"name": "one"}, "status": {"phase": "Running"}}, {}),
    ("POST", f"{PODS}/one/binding", {"target": {"kind": "Node", "name": "n"}}, {}),
    ("POST", f"{PODS}/one/eviction", {"metadata": {"name": "one"}}, {}),
    ("POST", JOBS, {"metadata": {"name": "j"}, "spec": {"template": _POD}}, {}),
    ("POST", CRDS, _DEFINITION, {}),
    ("POST", WIDGETS, _WIDGET, {}),
    ("POST", WIDGETS, {**_WIDGET, "size": "x"}, {}),
    (
        "POST",
        "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
        {"spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}}},
        {},
    ),
]  # fmt: skip


@pytest.fixture
async def apart(anyio_backend: str) -> AsyncIterator[Server]:
    async with api_in_memory() as server:
        front = server.client._front = ApiFront(server.api, apart=True)
        yield server
        front.close()
        await asyncio.sleep(0)  # its socket is closed in the next turn of the loop


def _known(answer: Answer) -> tuple[int, str, str]:
    """The answer without what is a matter of chance or time."""
    text = json.dumps(answer.body) if isinstance(answer.body, dict) else repr(answer.body)
    text = re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}|20\d\d-[0-9T:.-]+Z|g-[a-z0-9]{5}", "*", text)
    return answer.code, text, answer.warning


async def test_every_verb_answers_the_same(apart: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    async with api_in_memory() as usual:
        for method, path, body, options in REQUESTS:
            expected = await usual.send(method, path, body, **options)
            monkeypatch.setattr(aside, "LARGE_BYTES", 0)
            found = await apart.send(method, path, body, **options)
            monkeypatch.undo()
            assert _known(found) == _known(expected), (method, path, body)
        for path in (MAPS, PODS, JOBS, WIDGETS, CRDS, "/api/v1/namespaces/default/resourcequotas"):
            assert _known(await apart.send("GET", path)) == _known(await usual.send("GET", path))


async def test_a_write_that_meets_a_change_runs_again(apart: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another write comes between what the process reads and what it would stage: both are kept."""
    await apart.send("POST", MAPS, {"metadata": {"name": "m"}, "data": {"a": "1"}})
    send, sent = writing._Worker.send, 0

    async def meanwhile(self: writing._Worker, message: writing.ToWorker) -> None:
        nonlocal sent
        if isinstance(message, writing.Write):
            sent += 1
        elif sent == 1 and message.found and message.found[0][2] == "m":
            await apart.send("PATCH", f"{MAPS}/m", {"data": {"b": "2"}}, type=_MERGE)
        await send(self, message)

    monkeypatch.setattr(writing._Worker, "send", meanwhile)
    big = {"data": {"c": "x" * 2 * aside.LARGE_BYTES}}
    answer = await apart.send("PATCH", f"{MAPS}/m", big, type=_MERGE)
    assert (answer.code, sent) == (200, 2)
    stored = await apart.send("GET", f"{MAPS}/m")
    assert sorted(stored.body["data"]) == ["a", "b", "c"]


async def test_a_change_between_two_looks_at_an_object_is_seen(
    apart: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The end of a terminating object reads it twice; a version that is old by then must not end it."""
    held = {"name": "m", "finalizers": ["example.com/held"]}
    made = await apart.send("POST", MAPS, {"metadata": held, "data": {"a": "1"}})
    await apart.send("DELETE", f"{MAPS}/m")
    old = (await apart.send("GET", f"{MAPS}/m")).body["metadata"]["resourceVersion"]
    assert old != made.body["metadata"]["resourceVersion"]
    send, looks = writing._Worker.send, 0

    async def meanwhile(self: writing._Worker, message: writing.ToWorker) -> None:
        nonlocal looks
        await send(self, message)
        if isinstance(message, writing.StoreAnswer) and message.found and message.found[0][2] == "m":
            looks += 1
            if looks == 1:
                await apart.send("PATCH", f"{MAPS}/m", {"data": {"b": "2"}}, type=_MERGE)

    monkeypatch.setattr(writing._Worker, "send", meanwhile)
    big = {"metadata": {"name": "m", "resourceVersion": old}, "data": {"c": "x" * 2 * aside.LARGE_BYTES}}
    assert (await apart.send("PUT", f"{MAPS}/m", big)).code == 409
    assert (await apart.send("GET", f"{MAPS}/m")).body["data"] == {"a": "1", "b": "2"}


async def test_a_body_that_ends_the_process_is_refused_and_the_next_one_is_read(
    apart: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = {"metadata": {"generateName": "m-"}, "data": {"a": "x" * 2 * aside.LARGE_BYTES}}
    assert (await apart.send("POST", MAPS, body)).code == 201
    front = apart.client._front
    assert front is not None
    large = front._large
    assert large is not None
    worker = large._worker
    assert worker is not None
    worker._process.kill()
    worker._process.wait()
    assert (await apart.send("POST", MAPS, body)).code == 500
    assert (await apart.send("POST", MAPS, body)).code == 201


async def test_requests_that_are_never_large_are_refused_when_they_are(apart: Server) -> None:
    junk = b'{"a":"' + b"x" * 2 * aside.LARGE_BYTES + b'"}'
    for method, path in (
        ("DELETE", MAPS),
        ("DELETE", f"{MAPS}/m"),
        ("POST", "/apis/authentication.k8s.io/v1/tokenreviews"),
    ):
        answer = await apart.send(method, path, junk)
        assert (answer.code, answer.message) == (413, "Request entity too large: limit is 16384")


async def test_an_object_that_is_larger_than_any_body_is_not_stored(apart: Server) -> None:
    owners = [{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": f"u{i}"} for i in range(40_000)]
    answer = await apart.send("POST", MAPS, {"metadata": {"name": "m", "ownerReferences": owners}})
    assert (answer.code, answer.message) == (413, "etcdserver: request is too large")
