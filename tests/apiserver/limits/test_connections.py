"""A connection from its first byte to its last: protocols, order, pauses, and every way in which it ends."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import hashlib
import json
import logging
import random
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from apiserver.limits.wire import MAPS, Wire, answer, ends, serving
from longshore.apiserver.api import Api, ApiParts
from longshore.apiserver.http import client_connection
from longshore.apiserver.http.request import Request
from longshore.apiserver.http.server import HttpServer
from longshore.apiserver.http.timeouts import Timeouts
from longshore.client.local import LocalClient
from longshore.machinery.time.clock import RealClock
from longshore.store import Store

pytestmark = pytest.mark.anyio


@pytest.fixture
async def wire(anyio_backend: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Wire]:
    async with serving(monkeypatch, linger=0.2) as wire:
        yield wire


FRAMES = 20_000


def config_map(name: str, size: int = 10) -> bytes:
    return json.dumps({"metadata": {"name": name}, "data": {"k": "x" * size}}).encode()


def create(wire: Wire, name: str, size: int = 10, **headers: str) -> bytes:
    body = config_map(name, size)
    return wire.head("POST", MAPS, Content_Length=str(len(body)), **headers) + body


# ---- Expect


async def test_a_client_that_asks_is_told_to_send_its_body(wire: Wire) -> None:
    reader, writer = await wire.open()
    body = config_map("asked")
    for name in ("asked", "again"):
        body = config_map(name)
        writer.write(wire.head("POST", MAPS, Expect="100-continue", Content_Length=str(len(body))))
        assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        writer.write(body)
        assert (await answer(reader))[0] == 201


async def test_a_client_that_asks_is_refused_before_it_sends_its_body(wire: Wire) -> None:
    for method, target, token, code in (
        ("POST", MAPS, "wrong", 401),
        ("POST", "/api/v1/namespaces/default/nothing", wire.token, 404),
        ("PUT", MAPS, wire.token, 405),
    ):
        reader, writer = await wire.open()
        head = wire.head(method, target, Expect="100-continue", Content_Length="1000")
        writer.write(head.replace(wire.token.encode(), token.encode()))
        assert (await answer(reader))[0] == code
        assert await ends(reader) == b""


async def test_a_body_that_did_not_wait_needs_no_leave(wire: Wire) -> None:
    reader, writer = await wire.open()
    writer.write(create(wire, "quick", Expect="100-continue"))
    assert (await answer(reader))[0] == 201


async def test_leave_is_given_in_its_turn(wire: Wire) -> None:
    reader, writer = await wire.open()
    body = config_map("second")
    head = wire.head("POST", MAPS, Expect="100-continue", Content_Length=str(len(body)))
    writer.write(create(wire, "first") + head)
    assert (await answer(reader))[0] == 201
    assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
    writer.write(body)
    assert (await answer(reader))[0] == 201


# ---- versions and protocols


async def test_http_1_0_is_answered_and_closed(wire: Wire) -> None:
    reader, writer = await wire.open()
    writer.write(wire.head("GET", MAPS).replace(b"HTTP/1.1", b"HTTP/1.0"))
    said = await ends(reader)
    assert said.startswith(b"HTTP/1.1 200 ")
    assert b"\r\nConnection: close\r\n" in said


async def test_http_1_0_is_kept_open_on_request(wire: Wire) -> None:
    reader, writer = await wire.open()
    for _ in range(2):
        writer.write(wire.head("GET", MAPS, Connection="keep-alive").replace(b"HTTP/1.1", b"HTTP/1.0"))
        head = await reader.readuntil(b"\r\n\r\n")
        assert b"\r\nConnection: keep-alive\r\n" in head
        [length] = [line for line in head.split(b"\r\n") if line.startswith(b"Content-Length:")]
        await reader.readexactly(int(length.partition(b":")[2]))


async def test_a_watch_over_http_1_0_has_no_chunks(wire: Wire) -> None:
    assert (await wire.ask("POST", MAPS, config_map("seen")))[0] == 201
    reader, writer = await wire.open()
    head = wire.head("GET", f"{MAPS}?watch=1&timeoutSeconds=1&fieldSelector=metadata.name%3Dseen")
    writer.write(head.replace(b"HTTP/1.1", b"HTTP/1.0"))
    said, _, body = (await ends(reader)).partition(b"\r\n\r\n")
    assert b"chunked" not in said
    assert json.loads(body)["object"]["metadata"]["name"] == "seen"


async def test_a_protocol_that_cannot_be_had_is_passed_over(wire: Wire) -> None:
    reader, writer = await wire.open()
    upgrade = wire.head(
        "GET", MAPS, Connection="Upgrade, HTTP2-Settings", Upgrade="h2c", HTTP2_Settings="AAMA"
    )
    writer.write(upgrade + upgrade + wire.head("GET", f"{MAPS}/none"))
    assert [(await answer(reader))[0] for _ in range(3)] == [200, 200, 404]
    writer.write(upgrade)
    assert (await answer(reader))[0] == 200


async def test_a_watch_may_be_a_websocket_and_a_bad_handshake_is_refused(wire: Wire) -> None:
    handshake = {
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec_WebSocket_Version": "13",
        "Sec_WebSocket_Key": "dGhlIHNhbXBsZSBub25jZQ==",
    }
    for name, value in (
        ("Sec_WebSocket_Version", "8"),
        ("Sec_WebSocket_Key", "short"),
        ("Sec_WebSocket_Key", ""),
    ):
        reader, writer = await wire.open()
        writer.write(wire.head("GET", f"{MAPS}?watch=1", **handshake | {name: value}))
        assert (await answer(reader))[0] == 400
    reader, writer = await wire.open()
    writer.write(wire.head("GET", f"{MAPS}?watch=1", **handshake))
    head = await reader.readuntil(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 101 ")
    assert b"\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n" in head  # RFC 6455's own example
    assert (await wire.ask("POST", MAPS, config_map("told")))[0] == 201
    while True:
        first, size = await reader.readexactly(2)
        assert first == 0x81, "a whole text message"
        length = int.from_bytes(await reader.readexactly(2)) if size == 126 else size
        if json.loads(await reader.readexactly(length))["object"]["metadata"]["name"] == "told":
            break
    writer.write(b"\x89\x80\x00\x00\x00\x00")
    assert await reader.readexactly(2) == b"\x8a\x00", "a ping is answered"
    writer.write(b"\x81\x01a")  # not masked, as a client's frames have to be
    assert (await ends(reader)).startswith(b"\x88"), "what is no frame of a client ends it"


@pytest.mark.parametrize("frame", [b"\x00\x80aaaa", b"\x89\x80aaaa"], ids=["empty fragments", "pings"])
async def test_a_websocket_of_many_empty_frames_holds_up_nobody(wire: Wire, frame: bytes) -> None:
    handshake = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec_WebSocket_Version": "13"}
    reader, writer = await wire.open()
    writer.write(
        wire.head("GET", f"{MAPS}?watch=1", **handshake, Sec_WebSocket_Key="dGhlIHNhbXBsZSBub25jZQ==")
    )
    await reader.readuntil(b"\r\n\r\n")
    loop, turns, ended = asyncio.get_running_loop(), 0, False

    def turn() -> None:
        nonlocal turns
        turns += 1
        if not ended:
            loop.call_soon(turn)

    loop.call_soon(turn)
    writer.write(b"\x01\x80aaaa" + frame * FRAMES + b"\x80\x80aaaa" + b"\x88\x80aaaa")
    reading = asyncio.ensure_future(ends(reader, 60))
    await reading
    ended = True
    assert turns > FRAMES / 100


async def test_a_client_certificate_says_who_is_calling(wire: Wire) -> None:
    folder = wire.folder / "pki"
    wire.tls.load_cert_chain(folder / "admin.pem")
    reader, writer = await wire.open()
    for _ in range(2):
        writer.write(f"GET {MAPS} HTTP/1.1\r\nHost: a\r\n\r\n".encode())
        assert (await answer(reader))[0] == 200
    path = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
    writer.write(f"POST {path} HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{{}}".encode())
    told = (await answer(reader))[1]["status"]["userInfo"]["extra"]
    pem = (folder / "admin.pem").read_text()
    raw = ssl.PEM_cert_to_DER_cert(pem[pem.index("-----BEGIN CERTIFICATE-----") :])
    assert told == {
        "authentication.kubernetes.io/credential-id": [f"X509SHA256={hashlib.sha256(raw).hexdigest()}"]
    }


# ---- order and pauses


async def test_requests_in_one_piece_are_no_long_head(wire: Wire) -> None:
    reader, writer = await wire.open()
    request = wire.head("GET", f"{MAPS}/none", X_Long="a" * 1000)
    count = 250_000 // len(request)
    writer.write(request * count + request[:-10])
    for _ in range(count):
        assert (await answer(reader))[0] == 404
    writer.write(request[-10:])
    assert (await answer(reader))[0] == 404


async def test_who_asks_without_reading_has_to_wait_and_is_dropped_in_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with serving(monkeypatch, stuck=0.5) as wire:
        for number in range(3):
            assert (await wire.ask("POST", MAPS, config_map(f"big-{number}", 500_000)))[0] == 201
        loop = asyncio.get_running_loop()
        raw = socket.create_connection((wire.host, wire.port))
        secured = await loop.run_in_executor(
            None, lambda: wire.tls.wrap_socket(raw, server_hostname=wire.host)
        )
        secured.settimeout(0.2)
        sent, request = 0, wire.head("GET", MAPS) * 50

        def send() -> int:
            try:
                return secured.send(request)
            except (OSError, ssl.SSLWantWriteError):  # it has to wait, or is dropped already
                return 0

        while count := await loop.run_in_executor(None, send):
            sent += count
            assert sent < 50_000_000, "the server reads on and on"
        await asyncio.sleep(2)

        def send_all() -> None:
            while True:
                secured.send(request)

        with pytest.raises((ConnectionError, ssl.SSLError)):
            await loop.run_in_executor(None, send_all)
        secured.close()
        await wire.is_well()


async def test_a_slow_reader_gets_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    """All of it takes longer than a stuck client may; what the kernel takes at a time never does."""
    async with serving(monkeypatch, stuck=3) as wire:
        for number in range(3):
            assert (await wire.ask("POST", MAPS, config_map(f"big-{number}", 900_000)))[0] == 201
        reader, writer = await asyncio.open_connection(wire.host, wire.port, ssl=wire.tls, limit=1 << 14)
        writer.write(wire.head("GET", MAPS) * 4)
        for _ in range(4):
            head = await reader.readuntil(b"\r\n\r\n")
            [length] = [line for line in head.split(b"\r\n") if line.startswith(b"Content-Length:")]
            left = int(length.partition(b":")[2])
            assert left > 2_000_000
            while left:
                piece = await reader.read(min(left, 1 << 16))
                assert piece, "the server gave it up"
                left -= len(piece)
                await asyncio.sleep(0.02)
        writer.transport.abort()


# ---- ends


@asynccontextmanager
async def plain_server(**timeouts: float) -> AsyncIterator[tuple[Api, int]]:
    """A server without TLS, and so with half-closed connections. Everybody may do everything."""
    store = Store.open(None)
    api = Api(ApiParts(store, RealClock(), random.Random()))
    await LocalClient(api).create(("v1", "Namespace"), {"metadata": {"name": "default"}})
    everybody = {"kind": "Group", "name": "system:unauthenticated", "apiGroup": "rbac.authorization.k8s.io"}
    role = {"kind": "ClusterRole", "name": "all", "apiGroup": "rbac.authorization.k8s.io"}
    rules = [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]
    group = "rbac.authorization.k8s.io/v1"
    await LocalClient(api).create((group, "ClusterRole"), {"metadata": {"name": "all"}, "rules": rules})
    binding = {"metadata": {"name": "all"}, "roleRef": role, "subjects": [everybody]}
    await LocalClient(api).create((group, "ClusterRoleBinding"), binding)
    server = HttpServer(api, tls=None, timeouts=Timeouts(**timeouts))
    try:
        yield api, await server.start("127.0.0.1", 0)
    finally:
        await server.close()
        await store.close()


async def test_a_client_that_has_said_everything_still_gets_its_answer() -> None:
    async with plain_server() as (_, port):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        body = config_map("last")
        head = f"POST {MAPS} HTTP/1.1\r\nHost: a\r\nContent-Length: {len(body)}\r\n\r\n"
        writer.write(head.encode() + body)
        writer.write_eof()
        assert (await ends(reader)).startswith(b"HTTP/1.1 201 ")
        writer.close()


async def test_a_watch_of_a_client_that_closes_its_side_ends() -> None:
    async with plain_server() as (api, port):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(f"GET {MAPS}?watch=1 HTTP/1.1\r\nHost: a\r\n\r\n".encode())
        await reader.readuntil(b"\r\n\r\n")
        assert len(api.store._hub) == 1
        writer.write_eof()
        await ends(reader)
        assert len(api.store._hub) == 0
        writer.close()


async def test_a_client_that_is_gone_when_its_write_is_durable_leaves_no_trace(
    wire: Wire, caplog: pytest.LogCaptureFixture
) -> None:
    for number in range(20):
        _, writer = await wire.open()
        writer.write(create(wire, f"gone-{number}") + create(wire, f"never-{number}", 100_000))
        await asyncio.sleep(0.001 * (number % 5))
        writer.transport.abort()
    await asyncio.sleep(0.2)
    await wire.is_well()
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]


async def test_a_handshake_that_does_not_come_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    async with serving(monkeypatch, head=0.3) as wire:
        reader, writer = await asyncio.open_connection(wire.host, wire.port)
        writer.write(b"\x16\x03\x01")
        assert await ends(reader) == b""
        writer.close()


async def test_a_hello_may_come_in_pieces(wire: Wire) -> None:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    came, sent = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = context.wrap_bio(came, sent)
    with pytest.raises(ssl.SSLWantReadError):
        client.do_handshake()
    hello = sent.read()
    reader, writer = await asyncio.open_connection(wire.host, wire.port)
    for piece in (hello[:3], hello[3:7], hello[7:100], hello[100:]):
        writer.write(piece)
        await writer.drain()
        await wire.ask("GET", "/readyz")  # the server has seen this piece, and waits for the next
    while True:
        came.write(await reader.read(1 << 16))
        try:
            client.do_handshake()
            break
        except ssl.SSLWantReadError:
            continue
    writer.close()


async def test_a_client_that_leaves_amid_its_hello_is_forgotten(wire: Wire) -> None:
    reader, writer = await asyncio.open_connection(wire.host, wire.port)
    writer.write(b"\x16\x03\x01\x02\x00\x01")
    writer.write_eof()
    assert await ends(reader) == b"", "long before its time is over"
    writer.close()


async def test_what_is_no_tls_is_told_so(wire: Wire) -> None:
    reader, writer = await asyncio.open_connection(wire.host, wire.port)
    writer.write(b"GET / HTTP/1.1\r\n\r\n")
    with contextlib.suppress(ConnectionResetError):
        assert not (await ends(reader)).startswith(b"HTTP")
    writer.close()


async def test_nothing_is_left_of_a_body_that_came_after_its_head(wire: Wire) -> None:
    reader, writer = await wire.open()
    body = config_map("apart", 5000)
    gc.collect()
    gc.disable()  # it comes by now and then, and would take what has been left behind
    try:
        writer.write(wire.head("POST", MAPS, Content_Length=str(len(body))))
        await wire.ask("GET", "/readyz")
        writer.write(body)
        assert b" 201 Created" in await reader.readuntil(b"\r\n\r\n")
        await wire.ask("GET", "/readyz")
        assert not [each for each in gc.get_objects() if isinstance(each, Request) and each.body == body]
    finally:
        gc.enable()
    writer.close()


async def test_running_requests_are_answered_when_the_server_stops() -> None:
    async with plain_server(stop=5) as (api, port):
        waiting, writer = await asyncio.open_connection("127.0.0.1", port)
        idle, idle_writer = await asyncio.open_connection("127.0.0.1", port)
        watching, watch_writer = await asyncio.open_connection("127.0.0.1", port)
        revision = api.store.revision
        writer.write(f"GET {MAPS}?resourceVersion={revision + 1} HTTP/1.1\r\nHost: a\r\n\r\n".encode())
        watch_writer.write(f"GET {MAPS}?watch=1 HTTP/1.1\r\nHost: a\r\n\r\n".encode())
        await watching.readuntil(b"\r\n\r\n")

        async def write_soon() -> None:
            await asyncio.sleep(0.3)
            body = {"metadata": {"name": "late", "namespace": "default"}}
            await LocalClient(api).create(("v1", "ConfigMap"), body)

        writing = asyncio.ensure_future(write_soon())
        leaving = asyncio.get_running_loop().time()
    assert asyncio.get_running_loop().time() - leaving < 3
    await writing
    said = await ends(waiting)
    assert said.startswith(b"HTTP/1.1 200 ")
    assert b"\r\nConnection: close\r\n" in said
    assert b'"late"' in said
    assert await ends(idle) == b""
    assert (await ends(watching)).endswith(b"0\r\n\r\n"), "a watch ends as one that is over"
    for each in (writer, idle_writer, watch_writer):
        each.close()


async def test_a_request_that_does_not_end_does_not_keep_the_server() -> None:
    async with plain_server(stop=0.3) as (api, port):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        revision = api.store.revision + 1000
        writer.write(f"GET {MAPS}?resourceVersion={revision} HTTP/1.1\r\nHost: a\r\n\r\n".encode())
        await asyncio.sleep(0.1)
        leaving = asyncio.get_running_loop().time()
    assert asyncio.get_running_loop().time() - leaving < 2
    assert await ends(reader) == b""
    writer.close()


async def test_of_many_connections_without_credentials_the_oldest_end(
    wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_connection, "MAX_NEWCOMERS", 3)
    known, known_writer = await wire.open()
    known_writer.write(create(wire, "known"))
    await known.readuntil(b"\r\n\r\n")
    opened = [await wire.open() for _ in range(5)]
    for reader, _ in opened[:2]:
        assert await ends(reader) == b""
    known_writer.write(create(wire, "still-known"))
    assert b" 201 Created" in await known.readuntil(b"still-known")
    for _, writer in opened[2:]:
        assert not writer.transport.is_closing()
    for _, writer in [*opened, (known, known_writer)]:
        writer.close()


@pytest.mark.parametrize("path", ["/ui/login", "/healthz"])
async def test_credentials_that_nobody_has_checked_or_that_are_wrong_are_none(
    wire: Wire, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    monkeypatch.setattr(client_connection, "MAX_NEWCOMERS", 3)
    opened = []
    for _ in range(5):
        reader, writer = await wire.open()
        writer.write(wire.head("GET", path, Authorization="Bearer wrong"))
        assert (await answer(reader))[0] in (200, 401)
        opened.append((reader, writer))
    for reader, _ in opened[:2]:
        assert await ends(reader) == b""
    for _, writer in opened[2:]:
        assert not writer.transport.is_closing()
        writer.close()
