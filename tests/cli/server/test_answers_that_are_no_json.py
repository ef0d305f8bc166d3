"""A server that is no Kubernetes, or goes away in the middle of a word: told in a sentence."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from longshore.cli.arguments import kinds
from longshore.cli.server.requests import Server
from longshore.client import Unreachable
from longshore.client.config.connection import Connection

BODIES = {"/page": b"<html>sign in</html>", "/list": b"[]", "/cut": b'{"type": "ADD', "/empty": b""}


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(BODIES.get(self.path.partition("?")[0], b"<html>"))

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Server]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as http:
        thread = threading.Thread(target=http.serve_forever, args=(0.05,))
        thread.start()
        try:
            with closing(Server(Connection(f"http://127.0.0.1:{http.server_port}"), "")) as made:
                yield made
        finally:
            http.shutdown()
            thread.join()


@pytest.mark.parametrize("path", BODIES)
def test_an_answer_that_is_no_object_is_told(server: Server, path: str) -> None:
    with pytest.raises(Unreachable, match=r"http://127.0.0.1:\d+ does not answer as a Kubernetes does"):
        server.json("GET", path)


@pytest.mark.parametrize("path", ["/page", "/list", "/cut"])
def test_an_event_that_is_no_object_is_told(server: Server, path: str) -> None:
    with pytest.raises(Unreachable, match="does not answer as a Kubernetes does"):
        list(server.events(path, {}))


def test_a_server_that_lists_no_kinds_is_told(server: Server) -> None:
    with pytest.raises(Unreachable, match="does not answer as a Kubernetes does"):
        kinds.discover(server)
