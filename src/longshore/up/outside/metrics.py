"""`/metrics`, `/healthz` and `/readyz` of controllers outside. Plain HTTP: none of them holds a secret."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from longshore.api import errors
from longshore.api.metrics import Registry
from longshore.apiserver.http.begun import Begun, Ready
from longshore.apiserver.http.listener import Listener
from longshore.apiserver.http.request import Request
from longshore.apiserver.http.response import Reply
from longshore.apiserver.http.timeouts import Timeouts
from longshore.up.outside.health import Health, page

_TEXT: Final = "text/plain; charset=utf-8"


@asynccontextmanager
async def served(registry: Registry, health: Health, address: str, port: int) -> AsyncIterator[None]:
    """Listens for as long as the block runs. Raises OSError when the port is not to be had."""
    listener = Listener(_Pages(registry, health), tls=None, timeouts=Timeouts())
    try:
        await listener.start(address, port)
        yield
    finally:
        await listener.close()


class _Pages:
    """Three pages for whoever asks, by whatever method."""

    def __init__(self, registry: Registry, health: Health) -> None:
        self._registry, self._health = registry, health

    def admit(self, request: Request) -> _Welcome:
        return _Welcome()

    def begin(self, request: Request) -> Begun:
        path = request.target.partition("?")[0]
        if path == "/metrics":
            return Ready(Reply(200, "text/plain; version=0.0.4", self._registry.text()))
        if path in ("/healthz", "/readyz"):
            checks = self._health.healthy() if path == "/healthz" else self._health.ready()
            code, text = page(checks)
            return Ready(Reply(code, _TEXT, text))
        return Ready(Reply(404, _TEXT, b"404 page not found\n"))

    def refuse(self, request: Request, problem: Exception) -> Reply:
        code = problem.code if isinstance(problem, errors.StatusError) else 500
        return Reply(code, _TEXT, f"{problem}\n".encode())

    def close(self) -> None: ...


class _Welcome:
    """Nobody is refused for what a head says."""

    refusal: Reply | None = None
