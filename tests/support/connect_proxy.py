"""An HTTP proxy with a password, and the only way to names that nothing else knows.

Every name leads to this machine. CONNECT opens a tunnel; a plain request must name the whole URL.
"""

from __future__ import annotations

import base64
import contextlib
import socket
import socketserver
import threading
from collections.abc import Iterator
from urllib.parse import urlsplit

USER = "clerk:secret word"
_GRANTED = "Proxy-Authorization: Basic " + base64.b64encode(USER.encode()).decode()


class ConnectProxy(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.seen: list[str] = []
        """The first line of each request that was passed on."""

    @property
    def url(self) -> str:
        return f"http://clerk:secret%20word@127.0.0.1:{self.server_address[1]}"


class _Handler(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        lines = [line.decode("latin-1").strip() for line in iter(self.rfile.readline, b"\r\n")]
        if not lines:
            return
        method, target, version = lines[0].split(" ")
        parts = urlsplit(f"//{target}" if method == "CONNECT" else target)
        if _GRANTED not in lines or not parts.port:
            code = "400 Bad Request" if _GRANTED in lines else "407 Proxy Authentication Required"
            self.wfile.write(f"HTTP/1.1 {code}\r\nContent-Length: 0\r\n\r\n".encode())
            return
        assert isinstance(self.server, ConnectProxy)
        self.server.seen.append(lines[0])
        with socket.create_connection(("127.0.0.1", parts.port)) as far:
            if method == "CONNECT":
                self.wfile.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            else:
                path = parts.path + (f"?{parts.query}" if parts.query else "")
                kept = [line for line in lines[1:] if line != _GRANTED] + ["Connection: close"]
                far.sendall("\r\n".join([f"{method} {path} {version}", *kept, "", ""]).encode("latin-1"))
            back = threading.Thread(target=_copy, args=(far, self.connection), daemon=True)
            back.start()
            _copy(self.connection, far)
            back.join()


def _copy(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(2**16):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)


@contextlib.contextmanager
def connect_proxy() -> Iterator[ConnectProxy]:
    with ConnectProxy() as proxy:
        thread = threading.Thread(target=proxy.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield proxy
        finally:
            proxy.shutdown()
            thread.join()
