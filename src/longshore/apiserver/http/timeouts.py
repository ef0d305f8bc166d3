"""Time limits for clients. A client that takes longer is dropped: a stuck client must not hold the server."""

from __future__ import annotations

from typing import NamedTuple


class Timeouts(NamedTuple):
    """All in seconds: long enough for a slow link, short enough that many stuck clients are no burden."""

    handshake: float = 5.0
    """For a TLS handshake."""
    head: float = 15.0
    """From the first byte of a request (or the connection) to the end of its head."""
    body: float = 30.0
    """From the head to the last byte of the body."""
    linger: float = 2.0
    """For a client to read an answer that was sent before its whole body arrived, and for the end of TLS."""
    stuck: float = 30.0
    """For a client that reads nothing although there is something to read."""
    idle: float = 120.0
    """Between two requests on a connection."""
    stop: float = 3.0
    """For running requests, when the server stops."""
