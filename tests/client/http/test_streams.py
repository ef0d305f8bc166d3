"""How the HTTP engine reads the lines of a watch."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from client.http.scripted_server import Script
from longshore.api.errors import StatusError
from longshore.client import TimedOut, Unreachable, WatchEvent
from longshore.client.http import HttpClient, engine, http1
from longshore.client.http.http1 import KEEP_ALIVE
from support.http_server import Answerer, Asked, Reply, json_reply

pytestmark = pytest.mark.anyio


def line(kind: str, name: str = "p", **more: Any) -> bytes:
    obj = {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": name, "resourceVersion": "5"}, **more}
    return json.dumps({"type": kind, "object": obj}).encode() + b"\n"


def streaming(*chunks: bytes, then: str = "end") -> Answerer:
    async def answer(request: Asked) -> Reply | None:
        await request.begin()
        for chunk in chunks:
            await request.write(chunk)
        if then == "break":
            request.abort()
        return None

    return answer


async def seen(client: HttpClient, **options: Any) -> list[WatchEvent]:
    async with client.watch(("v1", "pods"), "default", **options) as events:
        return [event async for event in events]


async def test_lines_may_come_in_any_pieces(script: Script) -> None:
    text = line("ADDED", "a") + b"\n" + line("MODIFIED", "b") + line("DELETED", "c")
    script.answers = [streaming(*(text[i : i + 7] for i in range(0, len(text), 7)))]
    async with script.client() as client:
        events = await seen(client)
    assert [(e.type, e.object["metadata"]["name"]) for e in events] == [
        ("ADDED", "a"),
        ("MODIFIED", "b"),
        ("DELETED", "c"),
    ]
    assert "kind" not in events[0].object
    assert events[0].resource_version == "5"


async def test_a_line_of_a_megabyte_is_one_event(script: Script) -> None:
    script.answers = [streaming(line("ADDED", data="x" * 1_000_000), line("ADDED", "q"))]
    async with script.client() as client:
        first, second = await seen(client)
    assert len(first.object["data"]) == 1_000_000
    assert second.object["metadata"]["name"] == "q"


async def test_the_options_of_a_watch_are_sent(script: Script) -> None:
    script.answers = [streaming()]
    async with script.client() as client:
        await seen(client, resource_version="7", fields="metadata.name=p", timeout=9)
        await seen(client, initial_events=True, timeout=9)
        await seen(client, bookmarks=False)
    queries = [
        dict(pair.split("=") for pair in asked[1].partition("?")[2].split("&")) for asked in script.asked
    ]
    assert queries[0] == {
        "fieldSelector": "metadata.name%3Dp",
        "resourceVersion": "7",
        "watch": "true",
        "allowWatchBookmarks": "true",
        "timeoutSeconds": "9",
    }
    assert queries[1]["sendInitialEvents"] == "true"
    assert queries[1]["resourceVersionMatch"] == "NotOlderThan"
    assert "allowWatchBookmarks" not in queries[2]
    assert 300 <= int(queries[2]["timeoutSeconds"]) <= 600


async def test_an_error_event_is_raised(script: Script) -> None:
    status = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old resource version"}
    error = json.dumps({"type": "ERROR", "object": status}).encode() + b"\n"
    script.answers = [streaming(line("ADDED"), error)]
    async with script.client() as client:
        with pytest.raises(StatusError, match="too old") as caught:
            await seen(client)
    assert caught.value.code == 410


async def test_a_refused_watch_is_an_error_before_the_first_event(script: Script) -> None:
    async def refused(request: Asked) -> Reply | None:
        return json_reply({"kind": "Status", "code": 403, "message": "pods is forbidden"}, status=403)

    script.answers = [refused]
    async with script.client() as client:
        with pytest.raises(StatusError, match="pods is forbidden"):
            await seen(client)


async def test_a_stream_that_breaks_off_is_unreachable_not_an_end(script: Script) -> None:
    script.answers = [streaming(line("ADDED"), then="break")]
    async with script.client() as client:
        with pytest.raises(Unreachable, match="the watch of pods broke off"):
            await seen(client)


async def test_rubbish_in_the_stream_is_named(script: Script) -> None:
    script.answers = [streaming(b"<html>\n")]
    async with script.client() as client:
        with pytest.raises(Unreachable, match="sent something that is no event"):
            await seen(client)


async def test_a_peer_that_vanished_ends_the_watch_in_time(
    script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "_LATE_SECONDS", -0.95)

    async def silent(request: Asked) -> Reply | None:
        await request.begin()
        await asyncio.sleep(0.5)
        return None

    script.answers = [silent]
    async with script.client() as client:
        with pytest.raises(TimedOut, match="did not end in time"):
            await seen(client, timeout=1)


async def test_a_watch_with_bookmarks_that_falls_silent_is_dead(
    script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "_SILENT_SECONDS", 0.2)
    async with (
        frozen(script, line("ADDED")),
        script.client() as client,
        client.watch(("v1", "pods"), timeout=300) as events,
    ):
        assert (await anext(events)).type == "ADDED"
        with pytest.raises(TimedOut, match=r"the watch of pods was silent for 0\.2 s"):
            await anext(events)


async def test_a_watch_without_bookmarks_may_be_silent(
    script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "_SILENT_SECONDS", 0.05)

    async def late(request: Asked) -> Reply | None:
        await request.begin()
        await asyncio.sleep(0.3)
        await request.write(line("ADDED"))
        return None

    script.answers = [late]
    async with script.client() as client:
        assert len(await seen(client, bookmarks=False)) == 1


@asynccontextmanager
async def frozen(script: Script, *chunks: bytes) -> AsyncIterator[None]:
    """The server sends this much and then nothing, not even an end."""
    over = asyncio.Event()

    async def answer(request: Asked) -> Reply | None:
        await request.begin()
        for chunk in chunks:
            await request.write(chunk)
        await over.wait()
        return None

    script.answers = [answer]
    try:
        yield
    finally:
        over.set()


async def test_a_connection_notices_that_its_peer_vanished(
    script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[socket.socket] = []

    def noted(each: socket.socket, keep_alive: Callable[[socket.socket], None] = http1.keep_alive) -> None:
        keep_alive(each)
        made.append(each)

    monkeypatch.setattr(http1, "keep_alive", noted)
    async with (
        frozen(script, line("ADDED")),
        script.client() as client,
        client.watch(("v1", "pods")) as events,
    ):
        await anext(events)
        assert made[0].getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
        set_to = {name: made[0].getsockopt(socket.IPPROTO_TCP, getattr(socket, name)) for name in KEEP_ALIVE}
        assert set_to == KEEP_ALIVE


async def fails_at_its_first_event(client: HttpClient) -> None:
    async with client.watch(("v1", "pods")) as events:
        async for _ in events:
            raise TimeoutError("mine")


async def test_the_callers_own_errors_pass_through_untouched(script: Script) -> None:
    script.answers = [streaming(line("ADDED"))]
    async with script.client() as client:
        with pytest.raises(TimeoutError, match="mine"):
            await fails_at_its_first_event(client)


async def test_a_watch_whose_reader_takes_its_time_is_not_silent(
    script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "_SILENT_SECONDS", 0.3)

    async def talking(request: Asked) -> Reply | None:
        await request.begin()
        for number in range(12):
            await request.write(line("ADDED", f"p{number}"))
            await asyncio.sleep(0.1)
        return None

    script.answers = [talking]
    names = []
    async with script.client() as client, client.watch(("v1", "pods"), timeout=300) as events:
        async for event in events:
            names.append(event.object["metadata"]["name"])
            if len(names) == 1:
                await asyncio.sleep(0.8)
    assert names == [f"p{number}" for number in range(12)]
