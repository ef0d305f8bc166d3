"""Waits for one object by watching it; never polls."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

from longshore.api.errors import StatusError
from longshore.api.types import Obj
from longshore.cli.server import existing_and_changes
from longshore.client.errors import TimedOut

if TYPE_CHECKING:
    from longshore.cli.arguments.targets import Target
    from longshore.cli.server.requests import Server

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
    """The first value `look` finds in the object, now or later; None when time is up.

    Raises Deleted for an object that was seen, or that `existed` a moment ago, and is gone now.
    """
    path, query = target.kind.path(target.namespace), {"fieldSelector": f"metadata.name={target.name}"}
    known = "old" if existed else ""
    while until is None or time.monotonic() < until:
        try:
            for type, obj in existing_and_changes.events(server, path, query, until=until):
                if type == existing_and_changes.LISTED:
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
    """Whether a condition holds before time is up, for the object or a later one of its name."""
    while True:
        with suppress(Deleted):
            return seen(server, target, lambda obj: holds(obj) or None, until) is True


def appeared(server: Server, target: Target, query: Mapping[str, str], until: float) -> list[Obj]:
    """All objects of the target that exist, else the first that comes; none when time is up."""
    while True:
        found: list[Obj] = []
        listed = False
        try:
            for type, obj in existing_and_changes.events(server, target.path, query, until=until):
                listed = listed or type == existing_and_changes.LISTED
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
    """Whether the object is gone before time is up. With `uid`, another object of the same name does not
    count.
    """
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
