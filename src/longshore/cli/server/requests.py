"""Requests of the command line: one connection, one request at a time, without an event loop.

Kubeconfig, trust, credentials, proxies and errors are those of `longshore.client`.
"""

from __future__ import annotations

import json
import os
import re
import string
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from http import HTTPStatus
from typing import Any, Final, NamedTuple
from urllib.parse import quote, urlencode, urlsplit

from longshore import __version__
from longshore.api.errors import StatusError
from longshore.api.types import Obj
from longshore.client.config.connection import Connection
from longshore.client.credentials import Credentials
from longshore.client.errors import TimedOut, Unreachable
from longshore.client.http import http1, proxy, tls
from longshore.client.http.blocking_driver import BlockingConnection
from longshore.client.http.http1 import BrokenOff, NoConnection, Route

JSON: Final = "application/json"
_REQUEST_SECONDS: Final = 65.0
"""A little more than the server's own timeout of a minute."""
_WARNING: Final = re.compile(r'\d{3} \S+ "((?:[^"\\]|\\.)*)"')
_TROUBLE: Final = (OSError, BrokenOff, NoConnection)


class Answer(NamedTuple):
    code: int
    body: bytes


class Server:
    """One server and one user. `namespace` is the context's, or the one in the arguments."""

    def __init__(self, connection: Connection, namespace: str = "") -> None:
        self.connection = connection
        self.namespace = namespace or connection.namespace
        self._open: BlockingConnection | None = None
        self._warned: set[str] = set()

    def json(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Any = None,
        accept: str = JSON,
        content_type: str = JSON,
    ) -> Obj:
        """The JSON document of an answer. Raises StatusError for a refusal."""
        sent = None if body is None else json.dumps(body).encode()
        answer = self.request(method, path, query=query, body=sent, accept=accept, content_type=content_type)
        if answer.code >= 400:
            raise refusal(answer)
        return self.document(answer.body)

    def document(self, body: bytes) -> Obj:
        """The object in an answer or an event. Raises Unreachable if there is none."""
        try:
            found = json.loads(body)
        except ValueError:
            found = None
        if not isinstance(found, dict):
            began = body[:40].decode(errors="replace")
            raise Unreachable(f"{self.connection.server} does not answer as a Kubernetes does: {began!r}")
        return found

    def pages(
        self, path: str, query: Mapping[str, str] | None = None, *, accept: str = JSON
    ) -> Iterator[Obj]:
        """The lists or Tables that a GET answers, page after page if `query` has a limit."""
        asked = dict(query or {})
        while True:
            page = self.json("GET", path, query=asked, accept=accept)
            yield page
            more = (page.get("metadata") or {}).get("continue")
            if not more:
                return
            asked["continue"] = more

    def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: bytes | None = None,
        accept: str = JSON,
        content_type: str = JSON,
    ) -> Answer:
        """One request and its whole answer, with any status code."""
        headers = {"Accept": accept} | ({"Content-Type": content_type} if body is not None else {})
        for again in (False, True):
            kept = self._open is not None
            try:
                connection = self._send(method, path, query, body, headers)
                content = connection.read_all()
            except _TROUBLE as err:
                self.close()
                if kept and not again and method == "GET":
                    continue  # a kept connection that the server has closed meanwhile
                raise self._unreachable(err) from err
            reader = connection.reader
            self._warn(reader.headers)
            if not reader.lasts:
                self.close()
            return Answer(reader.code, content)
        raise AssertionError("the second try returns or raises")

    @contextmanager
    def stream(
        self,
        path: str,
        query: Mapping[str, str] | None = None,
        *,
        accept: str = JSON,
        until: float | None = None,
    ) -> Iterator[Stream]:
        """A GET whose body is read as it arrives, on a connection of its own, so from any thread.

        Reading raises TimedOut when the monotonic clock reaches `until`."""
        apart = Server(self.connection, self.namespace)
        apart._warned = self._warned
        try:
            try:
                connection = apart._send("GET", path, query, None, {"Accept": accept})
                if connection.reader.code >= 400:
                    raise refusal(Answer(connection.reader.code, connection.read_all()))
            except _TROUBLE as err:
                raise self._unreachable(err) from err
            apart._warn(connection.reader.headers)
            yield Stream(connection, until, self._unreachable)
        finally:
            apart.close()

    def events(
        self, path: str, query: Mapping[str, str], *, accept: str = JSON, until: float | None = None
    ) -> Iterator[tuple[str, Obj]]:
        """The events of a watch until the server ends it. Raises StatusError for an ERROR, and TimedOut."""
        with self.stream(path, {**query, "watch": "true"}, accept=accept, until=until) as stream:
            for line in stream.lines():
                event = self.document(line)
                if event["type"] == "ERROR":
                    raise StatusError.from_status(event["object"], 500)
                yield event["type"], event["object"]

    def fingerprint(self) -> str:
        """The SHA-256 of the server's certificate as browsers show it; empty without TLS or a connection."""
        import hashlib
        import ssl

        sock = self._open.socket if self._open is not None else None
        certificate = sock.getpeercert(True) if isinstance(sock, ssl.SSLSocket) else None
        return hashlib.sha256(certificate).digest().hex(":").upper() if certificate else ""

    def close(self) -> None:
        if self._open is not None:
            self._open.close()
            self._open = None

    def headers(self) -> dict[str, str]:
        """The headers with the user's credentials and the user agent."""
        sent = dict(self.connection.headers) | _at_once(self.connection.credentials)
        return {"User-Agent": f"longshore/{__version__}", "Accept-Encoding": "identity", **sent}

    @cached_property
    def _route(self) -> Route:
        through = proxy.proxy_for(self.connection, os.environ)
        return http1.route(self.connection.server, through, self.connection.tls_server_name)

    def _send(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None,
        body: bytes | None,
        headers: Mapping[str, str],
    ) -> BlockingConnection:
        """Sends the request; returns the connection on which its answer has begun."""
        mine = self.headers()  # first: a plugin may bring the certificate for the connection
        target = (
            urlsplit(self.connection.server).path + path + (f"?{encoded(query.items())}" if query else "")
        )
        # Arguments (-n, --raw) may hold any character; text that is already escaped stays as it is.
        target = quote(os.fsencode(target), safe=string.punctuation)
        sent = self._route.request(method, target, {**mine, **headers}.items(), body or b"")
        if self._open is None:
            certificate = self.connection.credentials.certificate()
            trust = tls.context(self.connection, certificate) if self._route.needs_tls else None
            self._open = BlockingConnection(self._route, trust, _REQUEST_SECONDS)
        self._open.ask(sent)
        return self._open

    def _warn(self, headers: Mapping[str, str]) -> None:
        """Prints each warning of the server once, as kubectl does."""
        for found in _WARNING.findall(headers.get("warning", "")):
            text = found.replace('\\"', '"').replace("\\\\", "\\")
            if text and text not in self._warned:
                self._warned.add(text)
                print(f"Warning: {text}", file=sys.stderr)

    def _unreachable(self, err: Exception) -> Unreachable:
        reason = err.strerror if isinstance(err, OSError) and err.strerror else str(err) or type(err).__name__
        if isinstance(err, ConnectionRefusedError) and self.connection.is_loopback:
            reason += "; if a longshore was there it has stopped: start it with longshore up"
        return Unreachable(f"cannot reach {self.connection.server}: {reason}")


class Stream:
    """The body of an answer, as it arrives."""

    def __init__(
        self,
        connection: BlockingConnection,
        until: float | None,
        unreachable: Callable[[Exception], Unreachable],
    ) -> None:
        self._connection, self._until, self._unreachable = connection, until, unreachable

    def lines(self) -> Iterator[bytes]:
        begun = b""
        for chunk in self.chunks():
            *whole, begun = (begun + chunk).split(b"\n")
            for line in whole:
                yield line + b"\n"
        if begun:
            yield begun

    def chunks(self) -> Iterator[bytes]:
        while chunk := self._read():
            yield chunk

    def _read(self) -> bytes:
        left = None if self._until is None else max(0.001, self._until - time.monotonic())
        self._connection.socket.settimeout(left)  # without a limit, what is watched may not happen for days
        try:
            return self._connection.read()
        except TimeoutError as err:
            raise TimedOut("timed out") from err
        except _TROUBLE as err:
            raise self._unreachable(err) from err


def refusal(answer: Answer) -> StatusError:
    """The error of a refused request."""
    try:
        status = json.loads(answer.body)
    except ValueError:
        status = {"message": answer.body.decode(errors="replace").strip()}
    if not isinstance(status, dict) or not status.get("message"):
        known = answer.code in HTTPStatus.__members__.values()
        status = {"message": HTTPStatus(answer.code).phrase if known else "no reason was given"}
    return StatusError.from_status(status, answer.code)


def escaped(part: str) -> str:
    """One segment of a path, escaped; an argument that is no text is escaped as its bytes."""
    return quote(os.fsencode(part), safe="")


def encoded(query: Iterable[tuple[str, str]]) -> str:
    """A query string; an argument that is no text is encoded as its bytes."""
    return urlencode([(key, os.fsencode(value)) for key, value in query])


def _at_once(credentials: Credentials) -> dict[str, str]:
    """The headers of the credentials. Runs an event loop only for an exec plugin, which needs one."""
    waiting = credentials.headers()
    try:
        waiting.send(None)
    except StopIteration as done:
        found: dict[str, str] = done.value
        return found
    except RuntimeError:  # no running event loop
        pass
    waiting.close()
    import asyncio

    return asyncio.run(credentials.headers())
