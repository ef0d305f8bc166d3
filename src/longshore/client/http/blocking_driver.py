"""Sends requests on a blocking socket: one connection, one request at a time.

For commands: a person waits for the answer, and importing an event loop takes longer than the request.
"""

from __future__ import annotations

import socket
import ssl

from longshore.client.http import http1
from longshore.client.http.http1 import AnswerReader, NoConnection, Route

_READ_BYTES = 2**16


class BlockingConnection:
    """An open connection. All methods raise OSError, or `BrokenOff` for an answer that cannot be read."""

    def __init__(self, route: Route, context: ssl.SSLContext | None, seconds: float) -> None:
        """Connects. `seconds` limits every wait. Raises `NoConnection` if the proxy opens no tunnel."""
        self.reader = AnswerReader()
        self.socket = socket.create_connection((route.host, route.port), seconds)
        try:
            http1.keep_alive(self.socket)
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._begin_tls(context, route.first_tls_name)
            if route.tunnel:
                if route.tls_proxy:
                    raise NoConnection("commands use no proxy with TLS for a server with TLS")
                self.ask(route.tunnel)
                if not 200 <= self.reader.code < 300:
                    raise http1.refused(self.reader.code)
                self.reader = AnswerReader()
                self._begin_tls(context, route.tls_name)
        except BaseException:
            self.socket.close()
            raise

    def ask(self, request: bytes) -> None:
        """Sends a request, and returns when the head of the answer is in `reader`."""
        self.reader.next()
        self.socket.sendall(request)
        while not self.reader.code:
            self._read_on()

    def read(self) -> bytes:
        """The next bytes of the body; empty at its end."""
        while not (data := self.reader.take()):
            if self.reader.is_whole:
                return b""
            self._read_on()
        return data

    def read_all(self) -> bytes:
        return b"".join(iter(self.read, b""))

    def close(self) -> None:
        self.socket.close()

    def _begin_tls(self, context: ssl.SSLContext | None, name: str) -> None:
        if name:
            assert context is not None
            self.socket = context.wrap_socket(self.socket, server_hostname=name)

    def _read_on(self) -> None:
        data = self.socket.recv(_READ_BYTES)
        if data:
            self.reader.feed(data)
        else:
            self.reader.end()
