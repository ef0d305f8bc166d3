"""A scripted HTTP server: each test says what it answers, and looks at what it was asked."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from longshore.client.config.connection import Connection
from longshore.client.http import HttpClient
from support.http_server import Answerer, Asked, Reply, json_reply

Answer = Reply | Answerer


@dataclass
class Script:
    """Answers in order; the last one is repeated. `asked` has (method, path with query, headers, body)."""

    url: str = ""
    answers: list[Answer] = field(default_factory=list)
    asked: list[tuple[str, str, dict[str, str], bytes]] = field(default_factory=list)
    pauses: list[float] = field(default_factory=list)

    async def handle(self, request: Asked) -> Reply | None:
        self.asked.append((request.method, request.target, dict(request.headers), request.body))
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return await answer(request) if callable(answer) else answer

    def client(self, **more: Any) -> HttpClient:
        connection = more.pop("connection", None) or Connection(self.url)
        return HttpClient(connection, sleep=self._sleep, **more)

    async def _sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)


def made(obj: Any, status: int = 200, **headers: str) -> Callable[[Asked], Awaitable[Reply]]:
    """A JSON answer, fresh for every request."""

    async def answer(request: Asked) -> Reply:
        named = {key.replace("_", "-"): value for key, value in headers.items()}
        return json_reply(obj, status=status, headers=named)

    return answer
