"""A server of this machine that does not answer: the message says what helps."""

from __future__ import annotations

import socket

import pytest

from longshore.cli.server.requests import Server
from longshore.client import Unreachable
from longshore.client.config.connection import Connection


def test_a_refused_connection_says_how_to_start_longshore() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and nobody listens
        server = Server(Connection(f"http://127.0.0.1:{taken.getsockname()[1]}"), "")
        with pytest.raises(Unreachable, match=r"Connection refused; .* start it with longshore up"):
            server.request("GET", "/version")
