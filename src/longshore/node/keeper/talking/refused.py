"""The one exception that a container's owner gets to see."""

from __future__ import annotations


class Refused(Exception):
    """The container was not started. Reason and message are for the status of the container."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message
