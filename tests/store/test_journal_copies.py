"""Copies of a journal that is in use: one moment, whole, and nobody waits for them."""

from __future__ import annotations

import asyncio
import stat
from pathlib import Path

import pytest

from longshore.store import JournalCorrupt, StoreError, journal_copy
from longshore.store.errors import NothingOnDisk
from longshore.store.reader import reading
from store.store_support import opened, put, remove


def test_a_copy_made_while_others_write_is_the_journal_of_one_moment(tmp_path: Path) -> None:
    async def run() -> int:
        async with opened(tmp_path / "data") as store:
            for number in range(300):
                await put(store, f"before-{number}", "x" * 4000)
            copying = asyncio.create_task(store.copy_to(tmp_path / "copy.db"))
            written = 0
            while not copying.done():
                await put(store, f"during-{written}")
                written += 1
            await copying
            await put(store, "after")
            return written

    written = asyncio.run(run())
    assert stat.S_IMODE((tmp_path / "copy.db").stat().st_mode) == 0o600
    facts = journal_copy.verified(tmp_path / "copy.db")
    with reading(tmp_path / "copy.db") as reader:
        names = [row.name for row in reader.rows()]
    during = [name for name in names if name.startswith("during")]
    assert names[:300] == [f"before-{number}" for number in range(300)]
    assert during == [f"during-{number}" for number in range(len(during))]
    assert len(during) <= written
    assert "after" not in names
    assert facts.objects == len(names)


def test_a_copy_knows_its_objects_and_its_revision(tmp_path: Path) -> None:
    async def run() -> int:
        async with opened(tmp_path / "data") as store:
            await put(store, "a")
            await put(store, "b")
            await put(store, "b", 2)
            await remove(store, "a")
            await store.copy_to(tmp_path / "copy.db")
            return store.revision

    revision = asyncio.run(run())
    facts = journal_copy.verified(tmp_path / "copy.db")
    assert (facts.revision, facts.objects) == (revision, 1)


def test_a_name_that_is_taken_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "copy.db").write_text("mine")

    async def run() -> None:
        async with opened(tmp_path / "data") as store:
            with pytest.raises(FileExistsError):
                await store.copy_to(tmp_path / "copy.db")
            await put(store, "a")

    asyncio.run(run())
    assert (tmp_path / "copy.db").read_text() == "mine"


def test_a_store_closes_only_after_a_copy_that_is_under_way(tmp_path: Path) -> None:
    async def run() -> None:
        async with opened(tmp_path / "data") as store:
            await put(store, "a", "x" * 100_000)
            copying = asyncio.create_task(store.copy_to(tmp_path / "copy.db"))
            await asyncio.sleep(0)
            await store.close()
            await copying

    asyncio.run(run())
    assert journal_copy.verified(tmp_path / "copy.db").objects == 1


def test_a_store_in_memory_has_nothing_to_copy(tmp_path: Path) -> None:
    async def run() -> None:
        async with opened(None) as store:
            with pytest.raises(NothingOnDisk, match="--in-memory"):
                await store.copy_to(tmp_path / "copy.db")

    asyncio.run(run())


def test_a_damaged_copy_is_found(tmp_path: Path) -> None:
    async def run() -> None:
        async with opened(tmp_path / "data") as store:
            await put(store, "a", "precious")
            await store.copy_to(tmp_path / "copy.db")

    asyncio.run(run())
    content = (tmp_path / "copy.db").read_bytes()
    assert b"precious" in content
    (tmp_path / "copy.db").write_bytes(content.replace(b"precious", b"Precious"))
    with pytest.raises(JournalCorrupt, match="checksum"):
        journal_copy.verified(tmp_path / "copy.db")
    (tmp_path / "copy.db").write_bytes(b"no database at all")
    with pytest.raises(StoreError):
        journal_copy.verified(tmp_path / "copy.db")
