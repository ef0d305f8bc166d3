"""Nothing that is secret reaches a log, at any level, or a file that others can read."""

from __future__ import annotations

import base64
import json
import logging
import os
import socket
import stat
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from apiserver.limits.wire import Wire, serving
from longshore.up.options import Options
from longshore.up.running import running

pytestmark = pytest.mark.anyio
SECRETS = "/api/v1/namespaces/default/secrets"
HIDDEN = "correct-horse-battery-staple"


@pytest.fixture
async def wire(anyio_backend: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Wire]:
    async with serving(monkeypatch) as wire:
        yield wire


async def test_secrets_and_tokens_are_never_logged(
    wire: Wire, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    logging.getLogger("asyncio").setLevel(logging.DEBUG)
    encoded = base64.b64encode(HIDDEN.encode()).decode()
    good = {"metadata": {"name": "s"}, "data": {"k": encoded}, "stringData": {"t": HIDDEN}}
    wrong = {"metadata": {"name": "Wrong Name"}, "data": {"k": encoded}, "stringData": {"t": HIDDEN}}
    review = {"spec": {"token": HIDDEN}}
    reviews = "/apis/authentication.k8s.io/v1/tokenreviews"
    assert (await wire.ask("POST", SECRETS, json.dumps(good).encode()))[0] == 201
    assert (await wire.ask("POST", SECRETS, json.dumps(wrong).encode()))[0] == 422
    assert (await wire.ask("POST", SECRETS, json.dumps(good).encode() + b"}"))[0] == 400
    assert (await wire.ask("POST", reviews, json.dumps(review).encode()))[0] == 201
    assert (
        await wire.ask("POST", "/api/v1/namespaces/default/serviceaccounts", b'{"metadata":{"name":"a"}}')
    )[0] == 201
    code, made = await wire.ask("POST", "/api/v1/namespaces/default/serviceaccounts/a/token", b"{}")
    assert code == 201
    assert (
        await wire.exchange(
            b"GET / HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + HIDDEN.encode() + b"\r\n\r\n"
        )
    )[0] == 401
    assert (
        await wire.exchange(
            b"GET /\x00 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + HIDDEN.encode() + b"\r\n\r\n"
        )
    )[0] == 400

    def broken(*_: object) -> None:
        raise RuntimeError("made for this test")

    monkeypatch.setattr("longshore.apiserver.rest.create.place", broken)
    assert (await wire.ask("POST", SECRETS, json.dumps(good).encode()))[0] == 500
    assert "made for this test" in caplog.text, "the log must have been looked at"
    for secret in (HIDDEN, encoded, wire.token, made["status"]["token"]):
        assert secret not in caplog.text


async def test_an_unexpected_error_tells_the_client_nothing(
    wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError(HIDDEN)

    monkeypatch.setattr("longshore.apiserver.rest.create.place", broken)
    code, status = await wire.ask("POST", SECRETS, b"{}")
    assert code == 500
    assert status["message"] == "Internal error occurred: see the server's log"
    assert HIDDEN not in json.dumps(status)


async def test_every_file_is_its_owners_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        async with running(
            Options(data_dir=tmp_path / "data", port=0, controllers=(), node=False, scheduler=False)
        ) as longshore:
            await longshore.client.create(("v1", "Secret"), {"metadata": {"name": "s"}}, "default")
            found = sorted((tmp_path / "data").rglob("*"))
            modes = {path: stat.S_IMODE(path.stat().st_mode) for path in [tmp_path / "data", *found]}
    finally:
        os.umask(before)
    assert any(path.name == "journal.db-wal" for path in found)
    for path, mode in modes.items():
        assert mode & 0o077 == 0, f"{path} has mode {mode:o}"


ANYONE = ("/healthz", "/livez", "/readyz", "/version", "/version/")
NOBODY = (
    *("/", "/api", "/apis", "/api/v1", "/openapi/v2", "/openapi/v3", "/metrics", "/api/v1/namespaces"),
    *("/api/v1/namespaces/default/secrets", "/apis/batch/v1/namespaces/default/jobs", "/nope"),
    *("/api/v1/nothings", "/apis/batch/v1/nothings", "/api/v1/namespaces/default/pods/x/nothing"),
    "/livez/ping",
    "/api/v1/namespaces/default/pods?watch=1",
)


async def anonymously(wire: Wire, method: str, target: str) -> int:
    request = f"{method} {target} HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    return (await wire.exchange(request.encode()))[0]


async def test_without_credentials_there_is_health_and_version_and_no_more(wire: Wire) -> None:
    for target in ANYONE:
        assert await anonymously(wire, "GET", target) == 200
        assert await anonymously(wire, "POST", target) in (403, 405)
    for target in NOBODY:
        for method in ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "FOO"):
            assert await anonymously(wire, method, target) in (401, 403), (method, target)


async def test_a_wrong_token_is_refused_even_where_none_is_needed(wire: Wire) -> None:
    request = b"GET /version HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer x\r\nConnection: close\r\n\r\n"
    code, status = await wire.exchange(request)
    assert (code, status["reason"]) == (401, "Unauthorized")


async def test_nobody_reaches_it_from_outside(wire: Wire) -> None:
    addresses = {info[4][0] for info in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)}
    for address in addresses - {"127.0.0.1"}:
        with socket.socket() as outside:
            outside.settimeout(2)
            assert outside.connect_ex((str(address), wire.port)) != 0
