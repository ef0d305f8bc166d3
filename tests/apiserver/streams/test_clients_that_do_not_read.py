"""Clients of logs that read nothing, although they still talk."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import time
from urllib.parse import urlsplit

import pytest
import yaml

from apiserver.streams.conftest import Stage
from longshore.apiserver.http.timeouts import Timeouts

pytestmark = pytest.mark.anyio
_PONG = b"\x8a\x80\0\0\0\0"
_HEAD = (
    "GET /api/v1/namespaces/default/pods/p/log?follow=true HTTP/1.1\r\nHost: localhost\r\n"
    "Authorization: Bearer {token}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)


@pytest.fixture(autouse=True)
def impatience(monkeypatch: pytest.MonkeyPatch) -> None:
    short = Timeouts(stuck=0.3)
    monkeypatch.setattr("longshore.apiserver.http.server.Timeouts", lambda: short)


def _talk_without_reading(stage: Stage) -> bool:
    """Follows a log and says something ten times a second; whether the server hangs up."""
    where = urlsplit(stage.longshore.server)
    token = yaml.safe_load(stage.longshore.kubeconfig.read_text())["users"][0]["user"]["token"]
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with socket.socket() as raw, contextlib.suppress(OSError):
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        raw.connect((where.hostname, where.port))
        with context.wrap_socket(raw, server_hostname="localhost") as secured:
            secured.sendall(_HEAD.format(token=token).encode())
            for _ in range(100):
                secured.sendall(_PONG)
                time.sleep(0.1)
            return False
    return True


async def test_a_client_that_talks_and_does_not_read_its_log_is_cut_off(stage: Stage) -> None:
    await stage.pod()
    stage.door.lines += [b"x" * 65535 + b"\n"] * 200
    assert await asyncio.to_thread(_talk_without_reading, stage)
