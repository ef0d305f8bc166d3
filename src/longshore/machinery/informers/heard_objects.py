"""Handlers of an informer: who hears of which objects, of every change or of old objects by and by."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from typing import Final

from longshore.api.types import Obj
from longshore.client.protocol import Only, Packed
from longshore.machinery.informers.cache import Cache, Key, key_of
from longshore.machinery.informers.scopes import matters

_TURN_OBJECTS: Final = 512
"""Objects that a newcomer hears of before others in the event loop get their turn."""
_MAX_NAMESPACES: Final = 4096
"""Namespaces whose hearers are remembered; then all are found anew."""
_HANDLER_FAILED: Final = "a handler failed; it misses this change, and the others still hear of it"

log = logging.getLogger(__name__)


class Handler:
    """Override what you want to hear. Objects are frozen: copy before you change."""

    def on_add(self, obj: Obj, initial: bool) -> None:
        """`obj` exists. `initial` when it was there before the informer looked for the first time."""

    def on_settled(self, facts: Obj, packed: Packed) -> None:
        """An object was there before the informer looked for the first time, and has settled: nothing more
        happens to it but its deletion (`api/facts/settled_objects.py`). `facts` has no more of it than
        `api/facts/settled_pods.py` says; override this where that is enough."""
        self.on_add(packed.obj, True)

    def on_update(self, old: Obj, new: Obj) -> None:
        """`old is new` for a resync; the same resourceVersion says that nothing changed."""

    def on_delete(self, obj: Obj, stale: bool) -> None:
        """`obj` is gone. `stale` when the deletion was missed: this is the last state known, not the last."""


class OnChange(Handler):
    """For those who only want to know which object to look at again."""

    def __init__(self, changed: Callable[[Obj], None]) -> None:
        self._changed = changed

    def on_add(self, obj: Obj, initial: bool) -> None:
        self._changed(obj)

    def on_settled(self, facts: Obj, packed: Packed) -> None:
        self._changed(facts)

    def on_update(self, old: Obj, new: Obj) -> None:
        self._changed(new)

    def on_delete(self, obj: Obj, stale: bool) -> None:
        self._changed(obj)


class Audience:
    """The handlers of one selection. Finds those who hear of a namespace once, not for every change: with
    eight shards there are eight times as many handlers, of which one eighth hears of an object."""

    def __init__(self) -> None:
        self._members: dict[Handler, Only | None] = {}
        self._hearers: dict[str, tuple[Handler, ...]] = {}

    def add(self, handler: Handler, only: Only | None) -> None:
        """From now on `handler` hears of objects in namespaces of which `only` says so; None for all. May be
        said again."""
        self._members[handler] = only
        self._hearers.clear()

    def drop(self, handlers: Iterable[Handler]) -> None:
        """Handlers that hear nothing more."""
        for handler in handlers:
            self._members.pop(handler, None)
        self._hearers.clear()

    def of(self, namespace: str) -> tuple[Handler, ...]:
        """Handlers that hear of objects in this namespace, in the order in which they came."""
        found = self._hearers.get(namespace)
        if found is None:
            if len(self._hearers) >= _MAX_NAMESPACES:
                self._hearers.clear()
            found = self._hearers[namespace] = tuple(
                handler for handler, only in self._members.items() if matters(namespace, only)
            )
        return found

    # Four loops that differ in one word: by its name, a method takes twice as long to find.

    def tell_add(self, key: Key, obj: Obj, initial: bool) -> None:
        for handler in self.of(key[0]):
            try:
                handler.on_add(obj, initial)
            except Exception:  # whatever it is: the cache has changed, and the other handlers must hear of it
                log.exception(_HANDLER_FAILED)

    def tell_settled(self, key: Key, facts: Obj, packed: Packed) -> None:
        for handler in self.of(key[0]):
            try:
                handler.on_settled(facts, packed)
            except Exception:  # as above
                log.exception(_HANDLER_FAILED)

    def tell_update(self, key: Key, old: Obj, new: Obj) -> None:
        for handler in self.of(key[0]):
            try:
                handler.on_update(old, new)
            except Exception:  # as above
                log.exception(_HANDLER_FAILED)

    def tell_delete(self, key: Key, obj: Obj, stale: bool) -> None:
        for handler in self.of(key[0]):
            try:
                handler.on_delete(obj, stale)
            except Exception:  # as above
                log.exception(_HANDLER_FAILED)


class Newcomer(Handler):
    """Hears of what is cached already some objects at a time, each before anything else about it."""

    def __init__(self, handler: Handler, cache: Cache, only: Only | None) -> None:
        self._handler, self._cache = handler, cache
        keys = cache.all_keys()
        self._unheard: dict[Key, None] = dict.fromkeys(key for key in keys if matters(key[0], only))

    async def hear(self) -> None:
        """Tells the handler of all that it has not heard of. May be cancelled and called again."""
        while self._unheard:
            for key in [*self._unheard][:_TURN_OBJECTS]:
                self._catch_up(key, self._cache.get(*key))
            await asyncio.sleep(0)

    def on_add(self, obj: Obj, initial: bool) -> None:
        self._handler.on_add(obj, initial)

    def on_settled(self, facts: Obj, packed: Packed) -> None:
        self._handler.on_settled(facts, packed)

    def on_update(self, old: Obj, new: Obj) -> None:
        if self._unheard:
            self._catch_up(key_of(old), old)
        self._handler.on_update(old, new)

    def on_delete(self, obj: Obj, stale: bool) -> None:
        if self._unheard:
            self._catch_up(key_of(obj), obj)
        self._handler.on_delete(obj, stale)

    def _catch_up(self, key: Key, obj: Obj | None) -> None:
        if key in self._unheard:
            del self._unheard[key]
            if obj is not None:
                self._handler.on_add(obj, True)
