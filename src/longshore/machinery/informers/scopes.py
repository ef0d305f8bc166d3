"""Which namespaces the users of a selection want. What nobody wants is neither cached nor told.

A process that holds some shards of many wants some namespaces. A user whose namespaces nobody wanted before
waits until the objects in them are read (`taking_in.py`); those of a user who ends are forgotten.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable
from typing import Final, NamedTuple

from longshore.client.protocol import Only

_MAX_NAMESPACES: Final = 4096
"""Namespaces whose answers are remembered; then all are found anew."""


class Scope:
    """The namespaces of which `only` says so; None for all. Made by `Scopes`."""

    def __init__(self, only: Only | None) -> None:
        self.only = only
        self.filled = asyncio.Event()
        """Set while the cache has all that is wanted."""
        self.is_read = False
        """Whether all that is wanted was read; it may be on its way to the cache."""
        self.users = 0
        self.beginnings = 0
        """How often somebody began to want it."""

    def wants(self, namespace: str) -> bool:
        return matters(namespace, self.only)


class Covered(NamedTuple):
    """A scope that a look at everything includes, unless nobody wanted it for a while since."""

    scope: Scope
    beginning: int

    @property
    def still(self) -> bool:
        return self.scope.users > 0 and self.scope.beginnings == self.beginning


class Scopes:
    """Scopes of one selection. Users of one `only` have one scope together."""

    def __init__(self) -> None:
        self._known: dict[Only | None, Scope] = {}
        self._wanted: list[Scope] = []
        self._answers: dict[str, bool] = {}
        self.everything = False
        """Whether somebody wants all namespaces."""

    def of(self, only: Only | None) -> Scope:
        found = self._known.get(only)
        if found is None:
            found = self._known[only] = Scope(only)
        return found

    def wants(self, namespace: str) -> bool:
        """Whether somebody wants the objects of this namespace; those of no namespace are always wanted."""
        found = self._answers.get(namespace)
        if found is None:
            if len(self._answers) >= _MAX_NAMESPACES:
                self._answers.clear()
            found = not namespace or any(scope.wants(namespace) for scope in self._wanted)
            self._answers[namespace] = found
        return found

    def has(self, namespace: str) -> bool:
        """Whether all objects of this namespace are cached already."""
        return any(scope.filled.is_set() and scope.wants(namespace) for scope in self._wanted)

    @property
    def are_filled(self) -> bool:
        """Whether the cache has all that somebody wants."""
        return all(scope.filled.is_set() for scope in self._wanted)

    def unread(self) -> list[Scope]:
        return [scope for scope in self._wanted if not scope.is_read]

    def covered(self, scopes: Iterable[Scope] | None = None) -> list[Covered]:
        """Scopes that a look includes which begins now: the given ones, or all that are wanted."""
        return [Covered(scope, scope.beginnings) for scope in (self._wanted if scopes is None else scopes)]

    def begin(self, scope: Scope) -> None:
        """One user more wants this. Found unread unless it was left filled, or somebody has everything."""
        scope.users += 1
        if scope.users > 1:
            return
        scope.beginnings += 1
        self._known[scope.only] = scope
        if any(other.only is None and other.filled.is_set() for other in self._wanted):
            scope.is_read = True
            scope.filled.set()
        self._wanted.append(scope)
        self._changed()

    def end(self, scope: Scope) -> None:
        """One user fewer."""
        scope.users -= 1
        if not scope.users:
            self._wanted.remove(scope)
            self._changed()

    def forget_unwanted(self) -> None:
        """Scopes that nobody wants now have to be read again by whoever comes to want them."""
        for only, scope in [*self._known.items()]:
            if not scope.users:
                scope.filled.clear()
                scope.is_read = False
                del self._known[only]

    def _changed(self) -> None:
        self.everything = any(scope.only is None for scope in self._wanted)
        self._answers.clear()


def mark_read(covered: Collection[Covered]) -> None:
    for one in covered:
        if one.still:
            one.scope.is_read = True


def mark_filled(covered: Collection[Covered]) -> None:
    for one in covered:
        if one.still:
            one.scope.filled.set()


def matters(namespace: str, only: Only | None) -> bool:
    return only is None or not namespace or only(namespace)
