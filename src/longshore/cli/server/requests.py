"""Requests of the command line: one connection, one request at a time, standard library only.

A person waits for every answer, and importing the client for controllers (an event loop, aiohttp) takes
longer than the request. Kubeconfig, trust, credentials, proxies and errors are those of
`longshore.client`.
"""

from __future__ import annotations

import http.client
import json
import os
import socket
import string
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, NamedTuple
from urllib.parse import quote, urlencode, urlsplit

from longshore import __version__
from longshore.api.errors import StatusError
from longshore.api.types import Obj
from longshore.client.config.connection import Connection
from longshore.client.credentials import Credentials
from longshore.client.errors import TimedOut, Unreachable
from longshore.client.http import proxy, tls

JSON: Final = "application/json"
_REQUEST_SECONDS: Final = 65.0
"""A little more than the server's own minute."""


class Answer(NamedTuple):
    code: int
    body: bytes


class Server:
    """One server and one user. `namespace` is the context's, or the one in the arguments."""

    def __init__(self, connection: Connection, namespace: str = "") -> None:
        self.connection = connection
        self.namespace = namespace or connection.namespace
        self._open: http.client.HTTPConnection | None = None
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
        """The object in an answer or an event. Raises Unreachable where there is none."""
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
                response = self._send(method, path, query, body, headers)
                content = response.read()
            except (OSError, http.client.HTTPException) as err:
                self.close()
                if kept and not again and method == "GET":
                    continue  # a kept connection that the server has closed meanwhile
                raise self._unreachable(err) from err
            self._warn(response)
            return Answer(response.status, content)
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

        Reading raises TimedOut when the monotonic clock reaches `until`.
        """
        apart = Server(self.connection, self.namespace)
        apart._warned = self._warned
        try:
            try:
                apart.headers()
                apart._open = apart._connect()
                apart._open.connect()
                sock = apart._open.sock
                response = apart._send("GET", path, query, None, {"Accept": accept})
                if response.status >= 400:
                    raise refusal(Answer(response.status, response.read()))
            except (OSError, http.client.HTTPException) as err:
                raise self._unreachable(err) from err
            apart._warn(response)
            yield Stream(response, sock, until, self._unreachable)
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

        sock = self._open.sock if self._open is not None else None
        certificate = sock.getpeercert(True) if isinstance(sock, ssl.SSLSocket) else None
        return hashlib.sha256(certificate).digest().hex(":").upper() if certificate else ""

    def close(self) -> None:
        if self._open is not None:
            self._open.close()
            self._open = None

    def headers(self) -> dict[str, str]:
        """The headers that say who asks."""
        sent = dict(self.connection.headers) | _at_once(self.connection.credentials)
        return {"User-Agent": f"longshore/{__version__}", **sent}

    def _send(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None,
        body: bytes | None,
        headers: Mapping[str, str],
    ) -> http.client.HTTPResponse:
        mine = self.headers()  # first: a plugin may bring the certificate for the connection
        if self._open is None:
            self._open = self._connect()
        target = (
            urlsplit(self.connection.server).path + path + (f"?{encoded(query.items())}" if query else "")
        )
        # What a person wrote (-n, --raw) may hold anything; what is escaped already stays as it is.
        target = quote(os.fsencode(target), safe=string.punctuation)
        through = proxy.proxy_for(self.connection, os.environ)
        if through and self.connection.server.startswith("http://"):  # such a proxy reads each request
            target = "http://" + urlsplit(self.connection.server).netloc + target
            mine |= proxy.authorization(through)
        self._open.request(method, target, body, {**mine, **headers})
        return self._open.getresponse()

    def _connect(self) -> http.client.HTTPConnection:
        parts, through = urlsplit(self.connection.server), proxy.proxy_for(self.connection, os.environ)
        host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
        at = urlsplit(through) if through else None
        reach = (at.hostname or "", at.port or 80) if at else (host, port)
        if parts.scheme == "http":
            made = http.client.HTTPConnection(*reach, timeout=_REQUEST_SECONDS)
        else:
            context = tls.context(self.connection, self.connection.credentials.certificate())
            if self.connection.tls_server_name:
                made = _Renamed(*reach, timeout=_REQUEST_SECONDS, context=context)
                made.shown_name = self.connection.tls_server_name
            else:
                made = http.client.HTTPSConnection(*reach, timeout=_REQUEST_SECONDS, context=context)
        if through and parts.scheme == "https":
            made.set_tunnel(host, port, proxy.authorization(through))
        return made

    def _warn(self, response: http.client.HTTPResponse) -> None:
        """Prints each warning of the server once, as kubectl does."""
        for header in response.headers.get_all("Warning") or ():
            text = header.partition('"')[2].rpartition('"')[0].replace('\\"', '"').replace("\\\\", "\\")
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
        response: http.client.HTTPResponse,
        sock: socket.socket,
        until: float | None,
        unreachable: Callable[[Exception], Unreachable],
    ) -> None:
        self._response, self._sock, self._until, self._unreachable = response, sock, until, unreachable

    def lines(self) -> Iterator[bytes]:
        while line := self._read(self._response.readline):
            yield line

    def chunks(self) -> Iterator[bytes]:
        while chunk := self._read(lambda: self._response.read1(2**16)):
            yield chunk

    def _read(self, read: Callable[[], bytes]) -> bytes:
        left = None if self._until is None else max(0.001, self._until - time.monotonic())
        self._sock.settimeout(left)  # without a limit, what is watched may not happen for days
        try:
            return read()
        except TimeoutError as err:
            raise TimedOut("timed out") from err
        except (OSError, http.client.HTTPException) as err:
            raise self._unreachable(err) from err


class _Renamed(http.client.HTTPSConnection):
    """A connection to a server whose certificate has another name than its address."""

    shown_name = ""

    def connect(self) -> None:
        http.client.HTTPConnection.connect(self)
        context: Any = self._context  # type: ignore[attr-defined]  # the context it was made with
        self.sock = context.wrap_socket(self.sock, server_hostname=self.shown_name)


def refusal(answer: Answer) -> StatusError:
    """The error of a refused request."""
    try:
        status = json.loads(answer.body)
    except ValueError:
        status = {"message": answer.body.decode(errors="replace").strip()}
    if not isinstance(status, dict) or not status.get("message"):
        status = {"message": http.client.responses.get(answer.code, "no reason was given")}
    return StatusError.from_status(status, answer.code)


def escaped(part: str) -> str:
    """One segment of a path, escaped; an argument that is no text as the bytes it was."""
    return quote(os.fsencode(part), safe="")


def encoded(query: Iterable[tuple[str, str]]) -> str:
    """A query string, in which an argument that is no text is the bytes it was."""
    return urlencode([(key, os.fsencode(value)) for key, value in query])


def _at_once(credentials: Credentials) -> dict[str, str]:
    """The headers of the credentials. Only an exec plugin needs an event loop, and gets one."""
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
