"""Notes beside the objects: kept through a restart, bounded, and nobody waits for them."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from longshore.api.retention import Retention
from longshore.store import Store, journal_schema
from store.store_support import opened, put


def test_notes_are_there_after_a_restart_in_their_order(tmp_path: Path) -> None:
    async def run() -> None:
        async with opened(tmp_path) as store:
            store.reasons.add(1.0, 2, b"first")
            await put(store, "a")
            store.reasons.add(2.0, 1, b"second")
        async with opened(tmp_path) as again:
            assert ([*again.reasons], len(again.reasons)) == ([b"first", b"second"], 3)
            again.reasons.add(3.0, 1, b"third")
        async with opened(tmp_path) as last:
            assert [*last.reasons] == [b"first", b"second", b"third"]

    asyncio.run(run())


def test_notes_without_a_write_beside_them_reach_the_disk(tmp_path: Path) -> None:
    async def run() -> None:
        store = Store.open(tmp_path)
        store.reasons.add(1.0, 1, b"alone")
        log = tmp_path / "journal.db-wal"
        for _ in range(2000):
            await asyncio.sleep(0.005)
            if log.exists() and b"alone" in log.read_bytes():
                break
        else:
            pytest.fail("the note was not written")
        await store.close()

    asyncio.run(run())


def test_the_oldest_go_when_there_are_too_many_or_they_are_too_old(tmp_path: Path) -> None:
    limits = Retention(reasons=5)
    age = limits.reasons_age

    async def run() -> None:
        async with opened(tmp_path, retention=limits) as store:
            for number in range(4):
                store.reasons.add(float(number), 2, str(number).encode())
            assert [*store.reasons] == [b"2", b"3"]
            store.reasons.add(age + 2.5, 1, b"late")
            assert [*store.reasons] == [b"3", b"late"]
        async with opened(tmp_path, retention=limits) as again:
            assert [*again.reasons] == [b"3", b"late"]

    asyncio.run(run())


def test_a_store_in_memory_keeps_notes_too() -> None:
    async def run() -> None:
        store = Store.open(None)
        store.reasons.add(1.0, 1, b"x")
        assert [*store.reasons] == [b"x"]
        await store.close()
        store.reasons.add(2.0, 1, b"too late")

    asyncio.run(run())


def test_each_shelf_has_its_own_notes_and_bounds(tmp_path: Path) -> None:
    limits = Retention(reasons=1)

    async def run() -> None:
        async with opened(tmp_path, retention=limits) as store:
            store.finished_jobs.add(1.0, 1, b"job")
            store.reasons.add(1.0, 1, b"old")
            store.reasons.add(1.0, 1, b"new")
        async with opened(tmp_path, retention=limits) as again:
            assert ([*again.reasons], [*again.finished_jobs]) == ([b"new"], [b"job"])
            again.finished_jobs.add(2.0, 1, b"other")
        async with opened(tmp_path, retention=limits) as last:
            assert ([*last.reasons], [*last.finished_jobs]) == ([b"new"], [b"job", b"other"])

    asyncio.run(run())


def test_notes_of_a_file_without_shelves_are_reasons(tmp_path: Path) -> None:
    older = tmp_path / "older"
    older.mkdir()
    for script in journal_schema.scripts(journal_schema.MIGRATIONS)[:2]:
        (older / script.name).write_text(script.read_text())
    file = tmp_path / "data" / "journal.db"
    file.parent.mkdir()
    journal_schema.create(file, older)
    with closing(sqlite3.connect(file, isolation_level=None)) as db:
        db.execute("INSERT INTO notes VALUES (7, 1.0, 2, ?)", (b"old",))

    async def run() -> None:
        async with opened(file.parent) as store:
            assert ([*store.reasons], len(store.reasons), len(store.finished_jobs)) == ([b"old"], 2, 0)
            store.reasons.add(2.0, 1, b"next")
        async with opened(file.parent) as again:
            assert [*again.reasons] == [b"old", b"next"]

    asyncio.run(run())
