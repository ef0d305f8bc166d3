"""Objects in namespaces that nobody wants are skipped in what the server sends, and nothing else is."""

from __future__ import annotations

import json
from typing import Any

import pytest

from client.http.scripted_server import Script, made
from client.http.test_streams import streaming
from longshore.api.errors import StatusError
from longshore.client import Unreachable
from longshore.client.http import watch_stream
from longshore.client.projection import WHOLE, Projection
from longshore.plane.controllers import reads_of
from support.http_server import json_reply

pytestmark = pytest.mark.anyio
PODS, NODES = ("v1", "pods"), ("v1", "nodes")
OF_PODS = reads_of(["job"])["v1", "Pod"]


def pod(namespace: str, version: int, name: str = "p", *, ordered: bool = True) -> dict[str, Any]:
    """A pod with its fields in Kubernetes' order, or in another."""
    meta = {"name": name, "namespace": namespace, "uid": "u", "resourceVersion": str(version)}
    if not ordered:
        meta = {"labels": {"namespace": "mine"}, **dict(reversed(meta.items()))}  # type: ignore[dict-item] # as JSON has it
    spec: dict[str, Any] = {
        "containers": [{"name": "c", "env": [{"name": "namespace", "value": '"namespace":"mine"'}]}]
    }
    parts = {"kind": "Pod", "apiVersion": "v1", "metadata": meta, "spec": spec}
    return parts if ordered else dict(reversed(parts.items()))


def line(kind: str, obj: dict[str, Any]) -> bytes:
    return json.dumps({"type": kind, "object": obj}, separators=(",", ":")).encode() + b"\n"


def is_mine(namespace: str) -> bool:
    return namespace == "mine"


@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize("reads", [WHOLE, OF_PODS])
async def test_events_of_others_come_as_one_bookmark_of_the_last(
    script: Script, reads: Projection, ordered: bool
) -> None:
    chunk = b"".join((
        line("ADDED", pod("other", 5, ordered=ordered)),
        line("ADDED", pod("mine", 6, ordered=ordered)),
        line("MODIFIED", pod("other", 7, ordered=ordered)),
        line("DELETED", pod("another", 8, ordered=ordered)),
    ))  # fmt: skip
    script.answers = [streaming(chunk)]
    async with script.client(only=is_mine) as client, client.watch(PODS, reads=reads) as events:
        found = [(event.type, event.resource_version) async for event in events]
    assert found == [("ADDED", "6"), ("BOOKMARK", "8")]


@pytest.mark.parametrize("size", [1, 7, 150, 1000])
async def test_events_that_come_in_pieces_are_sifted_alike(script: Script, size: int) -> None:
    lines = [
        line("ADDED", pod(namespace, n)) for n, namespace in enumerate(("mine", "other", "mine", "other"))
    ]
    text = b"".join(lines)
    script.answers = [streaming(*(text[at : at + size] for at in range(0, len(text), size)))]
    async with script.client(only=is_mine) as client, client.watch(PODS) as events:
        found = [(event.type, event.resource_version) async for event in events]
    assert [each for each in found if each[0] == "ADDED"] == [("ADDED", "0"), ("ADDED", "2")]
    assert found[-1] == ("BOOKMARK", "3")


async def test_the_beginning_of_an_event_says_the_same_as_all_of_it() -> None:
    """Of longshore's own server, whose order is Kubernetes', too: an event that begins as one reads alike."""
    for kind in ("ADDED", "MODIFIED", "DELETED"):
        for namespace in ("mine", "other"):
            found = line(kind, pod(namespace, 7))
            assert watch_stream._EVENT_START.match(found)
            with_blanks = json.dumps(json.loads(found)).encode()
            assert not watch_stream._EVENT_START.match(with_blanks)
            expected = "" if namespace == "mine" else "7"
            assert watch_stream.unwanted_version(found, is_mine) == expected
            assert watch_stream.unwanted_version(with_blanks, is_mine) == expected


async def test_bookmarks_errors_and_objects_of_no_namespace_always_come(script: Script) -> None:
    mark = {"kind": "Node", "metadata": {"resourceVersion": "7"}}
    node = {"kind": "Node", "metadata": {"name": "n", "resourceVersion": "6"}}
    error = {"kind": "Status", "status": "Failure", "code": 410, "metadata": {}, "message": "too old"}
    script.answers = [streaming(line("ADDED", node), line("BOOKMARK", mark), line("ERROR", error))]
    async with script.client(only=is_mine) as client, client.watch(NODES) as events:
        seen = [await anext(events), await anext(events)]
        with pytest.raises(StatusError, match="too old"):
            await anext(events)
    assert [(event.type, event.resource_version) for event in seen] == [("ADDED", "6"), ("BOOKMARK", "7")]


async def test_the_end_of_initial_events_is_told_although_all_were_skipped(script: Script) -> None:
    mark = {"resourceVersion": "7", "annotations": {"k8s.io/initial-events-end": "true"}}
    end = {"kind": "Pod", "metadata": mark}
    script.answers = [streaming(line("ADDED", pod("other", 5)) + line("BOOKMARK", end))]
    async with script.client(only=is_mine) as client, client.watch(PODS, initial_events=True) as events:
        found = [event.ends_initial_events async for event in events]
    assert found == [True]


async def test_rubbish_is_named_also_where_some_is_skipped(script: Script) -> None:
    script.answers = [streaming(line("ADDED", pod("mine", 5))[:-9] + b"\n")]
    async with script.client(only=is_mine) as client, client.watch(PODS) as events:
        with pytest.raises(Unreachable, match="sent something that is no event"):
            await anext(events)


@pytest.mark.parametrize("reads", [WHOLE, OF_PODS])
async def test_pages_are_without_objects_of_others(script: Script, reads: Projection) -> None:
    def page(more: str, *items: dict[str, Any]) -> Any:
        meta = {"resourceVersion": "9", "continue": more}
        return made({"kind": "PodList", "metadata": meta, "items": [*items]})

    script.answers = [page("x", pod("other", 5), pod("mine", 6, "a")), page("", pod("mine", 7, "b"))]
    async with script.client(only=is_mine) as client:
        pages = [page async for page in client.pages(PODS, reads=reads)]
    assert [[item["metadata"]["name"] for item in page.items] for page in pages] == [["a"], ["b"]]
    assert pages[-1].resource_version == "9"
    assert "kind" not in pages[0].items[0]
    assert ("containers" in pages[0].items[0].get("spec", {})) == (reads is WHOLE)


async def test_a_list_that_is_refused_is_refused(script: Script) -> None:
    script.answers = [json_reply({"kind": "Status", "code": 403, "message": "no"}, status=403)]
    async with script.client(only=is_mine) as client:
        with pytest.raises(StatusError, match="no"):
            [page async for page in client.pages(PODS)]
