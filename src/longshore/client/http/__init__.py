"""The engine for any Kubernetes: HTTPS, retries, streams."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from longshore.client.http.engine import HttpClient

__all__ = ["HttpClient"]


def __getattr__(name: str) -> object:
    """Imports the engine when it is first used: its event loop takes longer to import than the rest of a
    command."""
    if name == "HttpClient":
        from longshore.client.http.engine import HttpClient

        return HttpClient
    raise AttributeError(name)
