"""What the tests of the store share: small objects, and stores that are closed again."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from longshore.api.retention import Retention
from longshore.api.types import Obj
from longshore.store import Durability, Entry, Event, Key, Limits, Snapshot, Store, Watch


def key(name: str, namespace: str = "default", storage: str = "pods") -> Key:
    return Key(storage, namespace, name)


def thing(name: str, value: Any = 0, namespace: str = "default") -> Obj:
    return {"metadata": {"name": name, "namespace": namespace}, "spec": {"value": value}}


def value(entry: Entry | None) -> Any:
    return None if entry is None else entry.obj["spec"]["value"]


async def put(store: Store, name: str, what: Any = 0, *, at: Key | None = None) -> Entry:
    where = at or key(name)
    return await store.stage(where, thing(where.name, what, where.namespace)).done()


async def remove(store: Store, name: str, *, at: Key | None = None) -> Entry:
    where = at or key(name)
    latest = store.latest(where)
    assert latest is not None
    return await store.stage_delete(where, thing(where.name, value(latest), where.namespace)).done()


@asynccontextmanager
async def opened(
    directory: Path | None,
    *,
    durability: Durability = "normal",
    limits: Limits | None = None,
    retention: Retention | None = None,
) -> AsyncIterator[Store]:
    store = Store.open(directory, durability=durability, limits=limits, retention=retention)
    try:
        yield store
    finally:
        await store.close()


async def settled(store: Store) -> None:
    """Waits until housekeeping has nothing to do."""
    while store._commit._busy:  # noqa: ASYNC110 - only tests wait for it
        await asyncio.sleep(0.001)


def left_by_a_kill(directory: Path, copy: Path) -> Path:
    """The data directory as `kill -9` would leave it now: nothing closed, nothing folded in."""
    shutil.copytree(directory, copy, ignore=shutil.ignore_patterns("*-shm"))
    return copy


def names(snapshot: Snapshot) -> list[str]:
    return [entry.key.name for entry in snapshot]


def told(event: Event) -> tuple[int, str, str]:
    return event.revision, event.type, event.key.name


async def read(watch: Watch, count: int) -> list[Event]:
    """The next `count` events; fails when they do not come."""
    events: list[Event] = []
    async with asyncio.timeout(60):
        while len(events) < count:
            events += await anext(watch)
    assert len(events) == count
    return events


async def nothing_more(watch: Watch) -> bool:
    """Whether nothing is waiting to be read."""
    try:
        async with asyncio.timeout(0.02):
            await anext(watch)
    except TimeoutError:
        return True
    return False
