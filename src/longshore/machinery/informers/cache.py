"""The objects of one resource as last seen, by name and by named indexes. Objects are frozen, never copied.

A change costs a dictionary entry and one per index it touches, at any size of the cache. Readers get new
lists of the cached objects themselves.

An object may be held packed: in a smaller form that is unpacked when the object is read.
"""

from __future__ import annotations

import asyncio
import builtins
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeAlias

from longshore.api.types import Obj
from longshore.client.protocol import Packed

Key: TypeAlias = tuple[str, str]
"""Namespace (empty for cluster-scoped resources) and name."""

Indexer: TypeAlias = Callable[[Obj], Iterable[str]]
"""Returns the keys under which an object is indexed. Must depend on the object alone."""


Held: TypeAlias = Obj | Packed
"""An object, or its packed form."""


def _opened(held: Held) -> Obj:
    return held if isinstance(held, dict) else held.obj


def key_of(obj: Obj) -> Key:
    meta = obj["metadata"]
    return meta.get("namespace") or "", meta["name"]


class Cache:
    """Objects of one resource. `revision` is the last resourceVersion seen; 0 before the first list."""

    def __init__(self, indexers: Mapping[str, Indexer] | None = None) -> None:
        self.revision = 0
        self._namespaces: dict[str, dict[str, Held]] = {}
        self._indexes: dict[str, _Index] = {}
        self._waiting: dict[asyncio.Future[None], int] = {}
        for name, indexer in (indexers or {}).items():
            self.add_index(name, indexer)

    def __len__(self) -> int:
        return sum(map(len, self._namespaces.values()))

    def __iter__(self) -> Iterator[Obj]:
        for objects in self._namespaces.values():
            yield from map(_opened, objects.values())

    def facts(self) -> builtins.list[Obj]:
        """All objects; of those held packed, only the facts that are read without unpacking them."""
        return [
            held if isinstance(held, dict) else held.facts
            for objects in self._namespaces.values()
            for held in objects.values()
        ]

    def all_keys(self) -> Iterator[Key]:
        """Yields the keys of all objects. Unpacks none."""
        for namespace, objects in self._namespaces.items():
            for name in objects:
                yield namespace, name

    def unpacked(self, namespace: str) -> builtins.list[Obj]:
        """The objects of a namespace, except those held packed."""
        return [held for held in self._namespaces.get(namespace, {}).values() if isinstance(held, dict)]

    def get(self, namespace: str, name: str) -> Obj | None:
        objects = self._namespaces.get(namespace)
        held = None if objects is None else objects.get(name)
        return held if held is None or type(held) is dict else _opened(held)

    def list(self, namespace: str | None = None) -> list[Obj]:
        """All objects, or those of one namespace, in the order in which they were first seen."""
        if namespace is None:
            return [*self]
        return [_opened(held) for held in self._namespaces.get(namespace, {}).values()]

    def by_index(self, index: str, key: str) -> builtins.list[Obj]:
        """The objects that the indexer `index` puts under this key."""
        found = self._indexes[index].entries.get(key, {}).values()
        return [held if type(held) is dict else _opened(held) for held in found]

    def indexed(self, index: str, value: str, key: Key) -> Obj | None:
        """The object of this key, if the indexer `index` puts it under `value`."""
        held = self._indexes[index].entries.get(value, {}).get(key)
        return None if held is None else _opened(held)

    def index_members(self, index: str, key: str) -> builtins.list[Key]:
        """The keys of the objects that `by_index` would return. Unpacks none."""
        return [*self._indexes[index].entries.get(key, ())]

    def index_keys(self, index: str) -> builtins.list[str]:
        """Every key of the indexer `index` under which there is an object."""
        return [*self._indexes[index].entries]

    def index_size(self, index: str, key: str) -> int:
        """How many objects `by_index` would return."""
        return len(self._indexes[index].entries.get(key, ()))

    def add_index(self, name: str, indexer: Indexer) -> None:
        """Adds an index over all cached objects. Raises ValueError if another indexer has the name."""
        known = self._indexes.get(name)
        if known is not None:
            if known.indexer is not indexer:
                raise ValueError(f"index {name!r} is defined already, by another function")
            return
        index = self._indexes[name] = _Index(indexer)
        for namespace, objects in self._namespaces.items():
            for name, held in objects.items():
                index.put((namespace, name), _opened(held), held)

    async def reached(self, revision: int) -> None:
        """Waits until the cache contains everything up to this resourceVersion."""
        if self.revision < revision:
            waiter = asyncio.get_running_loop().create_future()
            self._waiting[waiter] = revision
            try:
                await waiter
            finally:
                self._waiting.pop(waiter, None)

    # ---- for the informer alone

    def advance(self, revision: int) -> None:
        """Sets the revision up to which the cache is complete, and wakes those that wait for it."""
        self.revision = revision
        for waiter, wanted in self._waiting.items():
            if wanted <= revision and not waiter.done():
                waiter.set_result(None)

    def put(self, key: Key, obj: Obj, packed: Packed | None = None) -> None:
        """Stores an object under its key, replacing the old one; holds it as `packed` if that is given."""
        namespace, name = key
        objects = self._namespaces.get(namespace)
        if objects is None:
            objects = self._namespaces[namespace] = {}
        held: Held = obj if packed is None else packed
        objects[name] = held
        for index in self._indexes.values():
            index.put(key, obj, held)

    def remove(self, key: Key) -> None:
        """Removes an object, if it is cached. Unpacks none."""
        namespace, name = key
        objects = self._namespaces.get(namespace)
        old = None if objects is None else objects.pop(name, None)
        if old is None:
            return
        if not objects:
            del self._namespaces[namespace]
        for index in self._indexes.values():
            index.remove(key)


class _Index:
    __slots__ = ("_found", "entries", "indexer")

    def __init__(self, indexer: Indexer) -> None:
        self.indexer = indexer
        self.entries: dict[str, dict[Key, Held]] = {}
        self._found: dict[Key, tuple[str, ...]] = {}
        """The index keys of each object that has any: the indexer runs once per state of an object."""

    def put(self, key: Key, obj: Obj, held: Held) -> None:
        """Puts an object, as it is held, under its index keys, and removes it from former ones."""
        entries = self.entries
        before, after = self._found.get(key, ()), tuple(self.indexer(obj))
        if not before and not after:
            return
        if before != after:
            for value in before:
                if value not in after:
                    self._take(value, key)
            if after:
                self._found[key] = after = self._siblings(after)
            else:
                del self._found[key]
        for value in after:
            found = entries.get(value)
            if found is None:
                found = entries[value] = {}
            found[key] = held

    def _siblings(self, values: tuple[str, ...]) -> tuple[str, ...]:
        """An equal tuple of another object if there is one: sharing it saves 150 bytes per pod of a Job."""
        for sibling in self.entries.get(values[0], ()):
            found = self._found[sibling]
            return found if found == values else values
        return values

    def remove(self, key: Key) -> None:
        for value in self._found.pop(key, ()):
            self._take(value, key)

    def _take(self, value: str, key: Key) -> None:
        bucket = self.entries[value]
        bucket.pop(key, None)
        if not bucket:
            del self.entries[value]
