"""Notes beside the objects: kept through a restart, bounded, and nobody waits for them."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from longshore.store import Store, notes
from store.store_support import opened, put


def test_notes_are_there_after_a_restart_in_their_order(tmp_path: Path) -> None:
    async def run() -> None:
        async with opened(tmp_path) as store:
            store.notes.add(1.0, 2, b"first")
            await put(store, "a")
            store.notes.add(2.0, 1, b"second")
        async with opened(tmp_path) as again:
            assert ([*again.notes], len(again.notes)) == ([b"first", b"second"], 3)
            again.notes.add(3.0, 1, b"third")
        async with opened(tmp_path) as last:
            assert [*last.notes] == [b"first", b"second", b"third"]

    asyncio.run(run())


def test_notes_without_a_write_beside_them_reach_the_disk(tmp_path: Path) -> None:
    async def run() -> None:
        store = Store.open(tmp_path)
        store.notes.add(1.0, 1, b"alone")
        for _ in range(200):
            await asyncio.sleep(0.005)
            if b"alone" in (tmp_path / "journal.db-wal").read_bytes():
                break
        else:
            pytest.fail("the note was not written")
        await store.close()

    asyncio.run(run())


def test_the_oldest_go_when_there_are_too_many_or_they_are_too_old(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notes, "MAX_NOTES", 5)

    async def run() -> None:
        async with opened(tmp_path) as store:
            for number in range(4):
                store.notes.add(float(number), 2, str(number).encode())
            assert [*store.notes] == [b"2", b"3"]
            store.notes.add(notes.MAX_AGE_SECONDS + 2.5, 1, b"late")
            assert [*store.notes] == [b"3", b"late"]
        async with opened(tmp_path) as again:
            assert [*again.notes] == [b"3", b"late"]

    asyncio.run(run())


def test_a_store_in_memory_keeps_notes_too() -> None:
    async def run() -> None:
        store = Store.open(None)
        store.notes.add(1.0, 1, b"x")
        assert [*store.notes] == [b"x"]
        await store.close()
        store.notes.add(2.0, 1, b"too late")

    asyncio.run(run())
