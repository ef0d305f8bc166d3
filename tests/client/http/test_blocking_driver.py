"""Connections of commands: the same answers as on an event loop, without one."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator

import pytest

from longshore.client.http import http1
from longshore.client.http.blocking_driver import BlockingConnection
from longshore.client.http.http1 import BrokenOff, NoConnection

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


@contextlib.contextmanager
def peer(*answers: bytes) -> Iterator[int]:
    """Answers the requests of one connection in order, then closes it; gives the port."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=_serve, args=(server, answers))
        thread.start()
        try:
            yield server.getsockname()[1]
        finally:
            thread.join()


def _serve(server: socket.socket, answers: tuple[bytes, ...]) -> None:
    with server.accept()[0] as connection:
        for answer in answers:
            asked = b""
            while not asked.endswith(b"\r\n\r\n"):
                asked += connection.recv(2**16)
            connection.sendall(answer)


@contextlib.contextmanager
def connected(port: int) -> Iterator[tuple[BlockingConnection, http1.Route]]:
    route = http1.route(f"http://127.0.0.1:{port}")
    with contextlib.closing(BlockingConnection(route, None, 10)) as connection:
        yield connection, route


@pytest.mark.parametrize(
    "answer",
    [
        OK,
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\no\r\n1\r\nk\r\n0\r\n\r\n",
        b"HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n" + OK,
        b"HTTP/1.1 200 OK\r\n\r\nok",
    ],
    ids=["length", "chunks", "after 103", "until the end"],
)
def test_an_answer_is_read_in_every_frame(answer: bytes) -> None:
    with peer(answer) as port, connected(port) as (connection, route):
        connection.ask(route.request("GET", "/x", []))
        reader = connection.reader
        assert (reader.code, reader.phrase, connection.read_all()) == (200, b"OK", b"ok")


def test_one_connection_serves_requests_one_after_the_other() -> None:
    with peer(OK, OK) as port, connected(port) as (connection, route):
        for _ in range(2):
            connection.ask(route.request("GET", "/x", []))
            assert connection.read_all() == b"ok"
            assert connection.reader.lasts


def test_headers_of_one_name_are_a_list() -> None:
    warned = b'HTTP/1.1 200 OK\r\nWarning: 299 - "a"\r\nWarning: 299 - "b, c"\r\nContent-Length: 0\r\n\r\n'
    with peer(warned) as port, connected(port) as (connection, route):
        connection.ask(route.request("GET", "/x", []))
        assert connection.reader.headers["warning"] == '299 - "a", 299 - "b, c"'


def test_an_answer_that_breaks_off_is_none() -> None:
    with (
        peer(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok") as port,
        connected(port) as (connection, route),
    ):
        connection.ask(route.request("GET", "/x", []))
        assert connection.read() == b"ok"
        with pytest.raises(BrokenOff, match="closed"):
            connection.read()


def test_a_proxy_that_refuses_is_named() -> None:
    with peer(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n") as port:
        route = http1.route("https://far.invalid", f"http://127.0.0.1:{port}")
        with pytest.raises(NoConnection, match="cannot connect: the proxy answered 407"):
            BlockingConnection(route, None, 10)
