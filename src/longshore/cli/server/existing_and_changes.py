"""The objects that exist, then every change: a list and a watch from its version on.

Kubernetes can send both in one watch (`sendInitialEvents`), but not every cluster does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from longshore.api.types import Obj
from longshore.cli.server.requests import Server

LISTED: Final = "LISTED"
"""The type of the one event after those of the objects that exist."""


def events(
    server: Server, path: str, query: Mapping[str, str], *, until: float | None
) -> Iterator[tuple[str, Obj]]:
    """Types and objects of the events, until the server ends the watch. Raises TimedOut at `until`."""
    found = server.json("GET", path, query=query)
    typed = {"apiVersion": found.get("apiVersion"), "kind": found.get("kind", "").removesuffix("List")}
    for item in found.get("items") or ():
        yield "ADDED", {**typed, **item}
    yield LISTED, found
    since = {**query, "resourceVersion": found["metadata"]["resourceVersion"]}
    yield from server.events(path, since, until=until)
