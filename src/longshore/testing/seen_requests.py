"""The requests that clients sent, for tests to read."""

from __future__ import annotations

import json
import time
from collections import deque
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Any, Final, overload
from urllib.parse import parse_qsl, unquote

import msgspec

from longshore.apiserver.http.request import Request

MAX_REQUESTS: Final = 10_000
"""Older requests are forgotten, so that a client that polls all night does not fill the memory."""


class SeenRequest(msgspec.Struct, eq=False):
    """One request, and its answer once there is one."""

    method: str
    path: str
    query: dict[str, str]
    user_agent: str
    raw_body: bytes
    code: int = 0
    """Status code of the answer; 0 before it."""
    ms: float = 0.0
    """Real milliseconds to the answer; to its beginning, for a watch or a log."""
    _began: float = msgspec.field(default_factory=time.perf_counter)

    @property
    def body(self) -> Any:
        """The body as JSON; None if it is empty, text if it is not JSON."""
        if not self.raw_body:
            return None
        try:
            return json.loads(self.raw_body)
        except ValueError:
            return self.raw_body.decode("utf-8", "replace")

    def answered(self, code: int) -> None:
        """Notes the answer."""
        self.code, self.ms = code, (time.perf_counter() - self._began) * 1000

    def __repr__(self) -> str:
        return f"{self.method} {self.path} -> {self.code or '…'} ({self.ms:.1f} ms, {self.user_agent})"


class SeenRequests(Sequence[SeenRequest]):
    """All requests in order: `c.requests.of("POST", "*/jobs")` are some of them."""

    def __init__(self, seen: Sequence[SeenRequest] = ()) -> None:
        self._seen: deque[SeenRequest] = deque(seen, MAX_REQUESTS)

    def note(self, request: Request) -> SeenRequest:
        """Notes that a request has come."""
        path, _, query = request.target.partition("?")
        agent = request.headers.get("user-agent", "")
        pairs = dict(parse_qsl(query, keep_blank_values=True))
        seen = SeenRequest(request.method, unquote(path), pairs, agent, request.body)
        self._seen.append(seen)
        return seen

    def of(self, method: str = "*", path: str = "*", user_agent: str = "*") -> SeenRequests:
        """Requests that match all three patterns."""
        return SeenRequests(
            [
                each
                for each in self
                if fnmatchcase(each.method, method.upper())
                and fnmatchcase(each.path, path)
                and fnmatchcase(each.user_agent, user_agent)
            ]
        )

    def clear(self) -> None:
        """Forgets all requests so far."""
        self._seen.clear()

    @overload
    def __getitem__(self, at: int) -> SeenRequest: ...
    @overload
    def __getitem__(self, at: slice) -> list[SeenRequest]: ...
    def __getitem__(self, at: int | slice) -> SeenRequest | list[SeenRequest]:
        return [*self._seen][at]

    def __iter__(self) -> Iterator[SeenRequest]:
        return iter([*self._seen])

    def __len__(self) -> int:
        return len(self._seen)

    def __repr__(self) -> str:
        return "\n".join(map(str, self)) or "no requests"
