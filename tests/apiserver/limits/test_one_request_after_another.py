"""Many requests on one connection, in whatever pieces they come: each is answered, in order."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from apiserver.limits.wire import MAPS, Wire, answer, ends, serving
from longshore.store.errors import WriteFailed

pytestmark = pytest.mark.anyio


@pytest.fixture
async def wire(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Wire]:
    async with serving(monkeypatch) as made:
        yield made


def create(wire: Wire, name: str, **headers: str) -> bytes:
    body = json.dumps({"metadata": {"name": name}, "data": {"key": "v" * 100}}).encode()
    return wire.head("POST", MAPS, Content_Length=str(len(body)), **headers) + body


def without_what_differs(document: Any) -> Any:
    for key in ("name", "uid", "resourceVersion", "creationTimestamp"):
        del document["metadata"][key]
    for entry in document["metadata"]["managedFields"]:
        del entry["time"]
    return document


async def warm(wire: Wire) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A connection that has served a request, so that the next one finds it idle."""
    reader, writer = await wire.open()
    writer.write(wire.head("GET", MAPS))
    assert (await answer(reader))[0] == 200
    await asyncio.sleep(0)
    return reader, writer


async def test_the_answer_does_not_depend_on_the_pieces(wire: Wire) -> None:
    reader, writer = await warm(wire)
    answers = []
    for number, cut in enumerate((0, 1, 40, -10, -1)):
        request = create(wire, f"cut-{number}")
        writer.write(request[:cut])
        await asyncio.sleep(0.02)
        writer.write(request[cut:])
        answers.append(await answer(reader))
    assert {code for code, _ in answers} == {201}
    first, *others = [without_what_differs(document) for _, document in answers]
    assert all(other == first for other in others)


async def test_a_body_that_comes_by_drops_is_waited_for_as_long_as_any(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with serving(monkeypatch, body=0.3) as wire:
        reader, writer = await warm(wire)
        head, body = create(wire, "slow").split(b"\r\n\r\n")
        writer.write(head + b"\r\n\r\n")
        began = asyncio.get_running_loop().time()
        for byte in body:
            writer.write(bytes([byte]))
            await asyncio.sleep(0.02)
            if asyncio.get_running_loop().time() - began > 0.5:
                break
        assert (await answer(reader))[0] == 408
        await wire.is_well()


async def test_what_is_sent_without_waiting_is_answered_in_order(wire: Wire) -> None:
    reader, writer = await warm(wire)
    for number in range(50):
        writer.write(create(wire, f"map-{number}"))
        if number % 3 == 0:
            await asyncio.sleep(0)
        if number % 5 == 0:
            writer.write(wire.head("GET", f"{MAPS}/map-{number}"))
    for number in range(50):
        code, made = await answer(reader)
        assert (code, made["metadata"]["name"]) == (201, f"map-{number}")
        if number % 5 == 0:
            code, read = await answer(reader)
            assert (code, read) == (200, made)


async def test_every_kind_of_request_may_follow_another_on_a_connection(wire: Wire) -> None:
    reader, writer = await warm(wire)
    exchanges: list[tuple[bytes, int]] = [
        (create(wire, "one"), 201),
        (create(wire, "one"), 409),
        (wire.head("POST", MAPS, Content_Length="1") + b"{", 400),
        (wire.head("GET", f"{MAPS}/one"), 200),
        (create(wire, "two", X_Unusual="1"), 201),
        (wire.head("POST", "/api/v1/namespaces/default/nothing", Content_Length="2") + b"{}", 404),
        (wire.head("PUT", MAPS, Content_Length="2") + b"{}", 405),
        (wire.head("POST", MAPS, Content_Length="2", Accept="image/png") + b"{}", 406),
        (wire.head("DELETE", f"{MAPS}/one"), 200),
        (wire.head("DELETE", f"{MAPS}/one"), 404),
        (wire.head("DELETE", MAPS), 200),
        (create(wire, "three").replace(wire.token.encode(), b"wrong"), 401),
        (create(wire, "three"), 201),
    ]
    for request, code in exchanges:
        writer.write(request)
        assert (await answer(reader))[0] == code, request


@pytest.mark.parametrize(
    ("target", "headers"),
    [
        (f"{MAPS}/one", {}),
        (f"{MAPS}/one", {"Accept": "application/yaml"}),
        (f"{MAPS}/one", {"Accept": "application/vnd.kubernetes.protobuf"}),
        (f"{MAPS}/one", {"User_Agent": "curl/8"}),
        (f"{MAPS}/one?pretty=1", {}),
        (f"{MAPS}/none", {}),
        (f"{MAPS}/none", {"Accept": "application/yaml"}),
        (f"{MAPS}/one", {"Accept": "image/png"}),
        (f"{MAPS}/one", {"Accept": "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"}),
        (MAPS, {}),
        (f"{MAPS}?limit=1", {}),
        (f"{MAPS}?limit=x", {}),
        (f"{MAPS}?labelSelector=a%3Db", {}),
        (f"{MAPS}?resourceVersion=1", {}),
        (MAPS, {"Accept": "application/json;as=Table;g=meta.k8s.io;v=v1,application/json"}),
        ("/api/v1/namespaces/default/status", {}),
        ("/api/v1/componentstatuses", {}),
        ("/api/v1/nothing", {}),
        ("/apis/none/v1/nothing", {}),
        ("/version", {}),
    ],
)
async def test_reads_say_the_same_on_both_ways(wire: Wire, target: str, headers: dict[str, str]) -> None:
    reader, writer = await warm(wire)
    for name in ("one", "two"):
        writer.write(create(wire, name))
        assert (await answer(reader))[0] == 201
    answers = []
    for more in ({}, {"X_Unusual": "1"}):
        writer.write(wire.head("GET", target, **headers, **more))
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        lines = [line for line in head.split("\r\n") if not line.startswith("Date:")]
        [length] = [line for line in lines if line.startswith("Content-Length:")]
        answers.append((lines, await reader.readexactly(int(length.partition(":")[2]))))
    assert answers[0] == answers[1]


async def test_a_body_in_chunks_is_read_between_others(wire: Wire) -> None:
    reader, writer = await warm(wire)
    for name in ("short", "long"):
        writer.write(create(wire, name))
        assert (await answer(reader))[0] == 201
        body = json.dumps({"metadata": {"name": f"{name}-chunked"}}).encode()
        head = wire.head("POST", MAPS, Transfer_Encoding="chunked")
        writer.write(head + f"{len(body):x}\r\n".encode() + body + b"\r\n0\r\n\r\n")
        assert (await answer(reader))[0] == 201


async def test_a_connection_is_closed_when_the_client_wants_it(wire: Wire) -> None:
    reader, writer = await warm(wire)
    writer.write(create(wire, "last", Connection="close"))
    assert (await ends(reader)).startswith(b"HTTP/1.1 201")


async def test_an_idle_connection_ends_after_a_write_too(monkeypatch: pytest.MonkeyPatch) -> None:
    async with serving(monkeypatch, idle=0.5) as wire:
        reader, writer = await warm(wire)
        await asyncio.sleep(0.3)
        writer.write(create(wire, "a"))
        assert (await answer(reader))[0] == 201
        await asyncio.sleep(0.3)
        assert not reader.at_eof()
        assert await ends(reader) == b""


async def test_a_write_that_the_journal_lost_is_not_acknowledged(
    wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader, writer = await warm(wire)

    def full(*_: object) -> None:
        raise WriteFailed("no space left")

    with monkeypatch.context() as broken:
        broken.setattr(wire.store._commit._journal, "append", full)
        writer.write(create(wire, "lost"))
        code, status = await answer(reader)
    assert (code, status["reason"]) == (500, "InternalError")
    assert "no space left" in status["message"]
    writer.write(create(wire, "lost"))
    assert (await answer(reader))[0] == 201
