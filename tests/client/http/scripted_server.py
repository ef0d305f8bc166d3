"""A scripted HTTP server: each test says what it answers, and looks at what it was asked."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from longshore.client.config.connection import Connection
from longshore.client.http import HttpClient

Answer = web.StreamResponse | Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


@dataclass
class Script:
    """Answers in order; the last one is repeated. `asked` has (method, path with query, headers, body)."""

    url: str = ""
    answers: list[Answer] = field(default_factory=list)
    asked: list[tuple[str, str, dict[str, str], bytes]] = field(default_factory=list)
    pauses: list[float] = field(default_factory=list)

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        self.asked.append((request.method, request.raw_path, dict(request.headers), await request.read()))
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return await answer(request) if callable(answer) else answer

    def client(self, **more: Any) -> HttpClient:
        connection = more.pop("connection", None) or Connection(self.url)
        return HttpClient(connection, sleep=self._sleep, **more)

    async def _sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)


def made(obj: Any, status: int = 200, **headers: str) -> Callable[[web.BaseRequest], Awaitable[web.Response]]:
    """A JSON answer, fresh for every request."""

    async def answer(request: web.BaseRequest) -> web.Response:
        named = {key.replace("_", "-"): value for key, value in headers.items()}
        return web.json_response(obj, status=status, headers=named)

    return answer
