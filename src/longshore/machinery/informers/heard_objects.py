"""Handlers of an informer, which are called for every change."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import Final

from longshore.api.types import Obj

_HANDLER_FAILED: Final = "a handler failed; it misses this change, and the others still hear of it"

log = logging.getLogger(__name__)


class Handler:
    """Override the methods that you need. Objects are frozen: copy one before you change it."""

    def on_add(self, obj: Obj, initial: bool) -> None:
        """`obj` exists. `initial` is true if it existed before the informer's first list, or before this
        handler was added. Then `obj` may have only the facts of `api/facts/settled_objects.py`, if it has
        settled; the cache has all of it."""

    def on_update(self, old: Obj, new: Obj) -> None:
        """`obj` changed. `old is new` for a resync; an equal resourceVersion means that nothing changed."""

    def on_delete(self, obj: Obj, stale: bool) -> None:
        """`obj` is deleted. `stale`: the deletion was missed, so `obj` may not be the last state."""


class OnChange(Handler):
    """A handler that calls one function with every object that changed."""

    def __init__(self, changed: Callable[[Obj], None]) -> None:
        self._changed = changed

    def on_add(self, obj: Obj, initial: bool) -> None:
        self._changed(obj)

    def on_update(self, old: Obj, new: Obj) -> None:
        self._changed(new)

    def on_delete(self, obj: Obj, stale: bool) -> None:
        self._changed(obj)


class Audience:
    """The handlers of one selection, in the order in which they were added."""

    def __init__(self) -> None:
        self._members: tuple[Handler, ...] = ()

    def add(self, handler: Handler) -> None:
        """Adds a handler, which is called for every change from now on. Adding it twice has no effect."""
        if handler not in self._members:
            self._members += (handler,)

    def drop(self, handlers: Iterable[Handler]) -> None:
        """Removes handlers; they are not called any more."""
        gone = {*handlers}
        self._members = tuple(handler for handler in self._members if handler not in gone)

    # Three loops that differ in one word, since finding a method by its name would take twice as long.

    def tell_add(self, obj: Obj, initial: bool) -> None:
        for handler in self._members:
            try:
                handler.on_add(obj, initial)
            except Exception:  # any bug: the cache has changed, so the other handlers are still called
                log.exception(_HANDLER_FAILED)

    def tell_update(self, old: Obj, new: Obj) -> None:
        for handler in self._members:
            try:
                handler.on_update(old, new)
            except Exception:  # as above
                log.exception(_HANDLER_FAILED)

    def tell_delete(self, obj: Obj, stale: bool) -> None:
        for handler in self._members:
            try:
                handler.on_delete(obj, stale)
            except Exception:  # as above
                log.exception(_HANDLER_FAILED)
