"""Waits for one object by watching it; never polls."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Final, TypeVar

from longshore.api.errors import StatusError
from longshore.api.types import Obj
from longshore.cli.server.requests import Server
from longshore.client.errors import TimedOut

if TYPE_CHECKING:
    from longshore.cli.arguments.targets import Target

Found = TypeVar("Found")


class Deleted(Exception):
    """The object was deleted during the wait."""


def deadline(seconds: float) -> float:
    """The time this many seconds from now, by the monotonic clock."""
    return time.monotonic() + seconds


def seen(
    server: Server,
    target: Target,
    look: Callable[[Obj], Found | None],
    until: float | None,
    *,
    existed: bool = False,
) -> Found | None:
    """The first value that `look` finds in the object, now or later; None when time is up.

    Raises Deleted for an object that was seen, or that `existed` a moment ago, and is gone now."""
    path, query = target.kind.path(target.namespace), {"fieldSelector": f"metadata.name={target.name}"}
    known = "old" if existed else ""
    while until is None or time.monotonic() < until:
        try:
            for type, obj in existing_and_changes(server, path, query, until=until):
                if type == LISTED:
                    if known == "old":
                        raise Deleted  # it went before this watch began
                    continue
                if type == "DELETED":
                    raise Deleted
                known = "here"
                if (found := look(obj)) is not None:
                    return found
        except TimedOut:
            return None
        except StatusError as err:
            if err.code != 410:
                raise
        known = "old" if known else ""
    return None


def fulfilled(server: Server, target: Target, holds: Callable[[Obj], bool], until: float) -> bool:
    """Waits until a condition holds for the object or a later one of its name; False when time is up."""
    while True:
        with suppress(Deleted):
            return seen(server, target, lambda obj: holds(obj) or None, until) is True


def appeared(server: Server, target: Target, query: Mapping[str, str], until: float) -> list[Obj]:
    """All objects of the target that exist, else the first new one; none when time is up."""
    while True:
        found: list[Obj] = []
        listed = False
        try:
            for type, obj in existing_and_changes(server, target.path, query, until=until):
                listed = listed or type == LISTED
                if type == "ADDED":
                    found.append(obj)
                if listed and (found or time.monotonic() >= until):
                    return found
        except TimedOut:
            return []
        except StatusError as err:
            if err.code != 410:
                raise


def deleted(server: Server, target: Target, until: float | None, uid: str = "") -> bool:
    """Waits until the object is deleted; False when time is up. With `uid`, an object with another uid counts
    as deleted."""
    try:
        now = server.json("GET", target.path)
    except StatusError as err:
        if err.code == 404:
            return True
        raise
    if uid and now["metadata"]["uid"] != uid:
        return True

    def replaced(obj: Obj) -> bool | None:
        return True if uid and obj["metadata"]["uid"] != uid else None

    try:
        return seen(server, target, replaced, until, existed=True) is True
    except Deleted:
        return True


# The objects that exist, then every change: a list and a watch from its version on.
#
# Kubernetes can send both in one watch (`sendInitialEvents`), but not every cluster does.

LISTED: Final = "LISTED"
"""The type of the one event after those of the objects that exist."""


def existing_and_changes(
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
