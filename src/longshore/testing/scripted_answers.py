"""Answers by hand, for responses that no server gives on demand: `c.answers.on("GET /api/v1/pods",
status=418)`.

Answers by hand come first for requests over HTTP: no credentials are checked, and the path need not be
served. The latest answer that matches counts.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import msgspec

from longshore.apiserver.http.begun import Ready, Streams
from longshore.apiserver.http.response import Reply
from longshore.apiserver.http.sender import Sender
from longshore.testing.injected_faults import METHODS, check_count
from longshore.testing.seen_requests import SeenRequest

if TYPE_CHECKING:
    from longshore.testing.cluster_for_tests import Cluster

__tracebackhide__ = True
"""Reports of pytest end at the line of the test that called; `--full-trace` shows the rest."""
Body: TypeAlias = Mapping[str, Any] | Sequence[Any] | str | bytes
"""The body of an answer. A document becomes JSON; text and bytes are sent unchanged, even if they are
malformed."""
_JSON: Final = "application/json"
_METHODS: Final = ("*", "HEAD", "OPTIONS", *dict.fromkeys(METHODS.values()))


class HandAnswer(msgspec.Struct, eq=False):
    """One answer by hand. `happened` counts how often it was given."""

    on: str
    method: str
    path: str
    query: Mapping[str, str]
    body: Body | Callable[[SeenRequest], Body]
    status: int
    media_type: str
    headers: tuple[tuple[str, str], ...]
    stream: Sequence[Body] | None
    cut: int | None
    times: int | None
    happened: int = 0

    def __str__(self) -> str:
        return f'the answer by hand to "{self.on}"'

    def meets(self, seen: SeenRequest) -> bool:
        return (
            self.times != 0
            and self.method in ("*", seen.method)
            and fnmatchcase(seen.path, self.path)
            and all(seen.query.get(key, "").lower() == value.lower() for key, value in self.query.items())
        )

    def begun(self, seen: SeenRequest) -> Ready | Streams:
        """Makes the answer to this request, and counts it."""
        self.happened += 1
        if self.times is not None:
            self.times -= 1
        if self.stream is not None:
            lines = [_bytes(each) for each in self.stream]
            return Streams(lambda sender: self._send(sender, lines))
        body = _bytes(self.body(seen) if callable(self.body) else self.body)
        reply = Reply(self.status, self.media_type, body, self.headers)
        if self.cut is None:
            return Ready(reply)
        return Streams(lambda sender: self._send_half(sender, reply))

    async def _send(self, sender: Sender, lines: Sequence[bytes]) -> None:
        """Sends a line for each part of the stream, of the last one only `cut` bytes."""
        sender.start(self.media_type, self.headers)
        whole = lines if self.cut is None else lines[:-1]
        for line in whole:
            await sender.send(line + b"\n")
        if self.cut is not None:
            if lines:
                await sender.send(lines[-1][: self.cut])
            _hang_up(sender)

    async def _send_half(self, sender: Sender, reply: Reply) -> None:
        assert self.cut is not None, "only then"
        whole = b"".join(reply.pieces(sender.request, last=False))
        sender.connection.write(whole[: len(whole) - len(reply.body) + self.cut])
        _hang_up(sender)


def _hang_up(sender: Sender) -> None:
    sender.started = False  # so that `close` does not send the end of the answer
    sender.connection.close()


class ClusterAnswers:
    """`c.answers`: answers that the test gives in place of the server."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def on(
        self,
        request: str,
        body: Body | Callable[[SeenRequest], Body] = b"",
        *,
        status: int = 200,
        query: Mapping[str, str] | None = None,
        media_type: str = "",
        headers: Mapping[str, str] | None = None,
        stream: Sequence[Body] | None = None,
        cut: int | None = None,
        times: int | None = None,
    ) -> HandAnswer:
        """Answers requests of clients: `c.answers.on("GET /apis/keda.sh/*", {"items": []})`.

        The method may be `*`, and the path a pattern of the shell, also over slashes; `query` names
        parameters that the request must have, in any case. A dict or a list becomes JSON, text and bytes go
        as they are, a function gets the request. With `stream` the answer has a line for each part, as a
        watch does. With `cut` the connection ends after so many bytes of the body, or of the last part. The
        answer is given `times` times, or until `clear`; `happened` of the returned object counts how often.
        """
        method, _, path = request.partition(" ")
        if method not in _METHODS or not path.startswith("/"):
            raise ValueError(
                f"{request!r}: write a method ({', '.join(_METHODS)}) and a path, as in 'GET /api/v1/pods'"
            )
        if "?" in path:
            raise ValueError(
                f"{request!r}: the path stands alone; name parameters as query={{'watch': 'true'}}"
            )
        if status not in {each.value for each in HTTPStatus} or status < 200:
            raise ValueError(f"status {status!r} is no status of an answer")
        check_count("times", times)
        check_count("cut", cut)
        if stream is not None and not isinstance(stream, list | tuple):
            raise ValueError(f"stream: {stream!r} is no list of documents, texts or bytes")
        if stream is not None and (body not in (b"", "") or status != 200):
            raise ValueError("an answer with stream= has no other body, and status 200")
        kind = media_type or ("text/plain" if isinstance(body, str) else _JSON)
        lines = tuple((headers or {}).items())
        pattern = path.replace("…", "*")
        answer = HandAnswer(
            request, method, pattern, dict(query or {}), body, status, kind, lines, stream, cut, times
        )
        self._cluster.loop.call(lambda: self._cluster.inside.answers.append(answer))
        return answer

    def clear(self) -> None:
        """Removes all answers by hand."""
        self._cluster.loop.call(self._cluster.inside.answers.clear)


def found(answers: Sequence[HandAnswer], seen: SeenRequest) -> Ready | Streams | None:
    """The answer by hand to a request, if there is one."""
    for answer in reversed(answers):
        if answer.meets(seen):
            return answer.begun(seen)
    return None


def _bytes(body: Body) -> bytes:
    if isinstance(body, bytes):
        return body
    return body.encode() if isinstance(body, str) else json.dumps(body).encode()
