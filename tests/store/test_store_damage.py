"""A damaged journal is refused with its name and what to do, and left as it was found."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from longshore.store import Compacted, JournalCorrupt, SchemaTooNew, Store
from store.store_support import left_by_a_kill, names, opened, put, value


@pytest.fixture
def closed(tmp_path: Path) -> Path:
    """A data directory after a clean stop: everything in journal.db."""

    async def run() -> None:
        async with opened(tmp_path / "closed") as store:
            for number in range(200):
                await put(store, f"p{number}", f"value-{number:04}-" + "x" * 300)

    asyncio.run(run())
    return tmp_path / "closed"


@pytest.fixture
def killed(tmp_path: Path) -> Path:
    """A data directory after a kill: everything in the write-ahead log, twenty transactions."""

    async def run() -> Path:
        async with opened(tmp_path / "open") as store:
            for number in range(20):
                await put(store, f"p{number}", f"value-{number:04}")
            return left_by_a_kill(tmp_path / "open", tmp_path / "killed")

    return asyncio.run(run())


def overwrite(file: Path, offset: int, data: bytes) -> None:
    with file.open("r+b") as handle:
        handle.seek(offset)
        handle.write(data)


def flip_in_value(directory: Path) -> None:
    file = directory / "journal.db"
    overwrite(file, file.read_bytes().index(b"value-0100"), b"Value")


DAMAGE_TO_THE_DATABASE: dict[str, Callable[[Path], object]] = {
    "a page of garbage": lambda d: overwrite(d / "journal.db", 3 * 8192, b"\xa5" * 8192),
    "a header of garbage": lambda d: overwrite(d / "journal.db", 0, b"\xa5" * 100),
    "one letter in one object": flip_in_value,
    "a list of free pages that names one in use": lambda d: overwrite(
        d / "journal.db", 32, (3).to_bytes(4, "big") + (1).to_bytes(4, "big")
    ),
    "half of it missing": lambda d: (d / "journal.db").write_bytes(
        (d / "journal.db").read_bytes()[: 5 * 8192]
    ),
    "empty": lambda d: (d / "journal.db").write_bytes(b""),
    "a text file": lambda d: (d / "journal.db").write_text("hello " * 1000),
}


@pytest.mark.parametrize("damage", DAMAGE_TO_THE_DATABASE)
def test_a_damaged_database_is_refused_and_left_alone(closed: Path, damage: str) -> None:
    DAMAGE_TO_THE_DATABASE[damage](closed)
    before = (closed / "journal.db").read_bytes()
    for _ in range(2):
        with pytest.raises(JournalCorrupt) as error:
            Store.open(closed)
        assert str(closed / "journal.db") in str(error.value)
        assert "restore a backup" in str(error.value)
    assert (closed / "journal.db").read_bytes() == before


DAMAGE_TO_THE_LOG: dict[str, Callable[[Path], object]] = {
    "a byte in the middle": lambda d: overwrite(d / "journal.db-wal", 10 * 8300, b"\xa5"),
    "the header": lambda d: overwrite(d / "journal.db-wal", 0, b"\xa5" * 32),
    "cut short": lambda d: overwrite_end(d / "journal.db-wal"),
    "gone": lambda d: (d / "journal.db-wal").unlink(),
}


def overwrite_end(file: Path) -> None:
    file.write_bytes(file.read_bytes()[: 12 * 8300])


@pytest.mark.parametrize("damage", DAMAGE_TO_THE_LOG)
def test_a_damaged_log_is_refused_instead_of_losing_acknowledged_writes(killed: Path, damage: str) -> None:
    DAMAGE_TO_THE_LOG[damage](killed)
    files = [file for file in (killed / "journal.db", killed / "journal.db-wal") if file.exists()]
    before = [file.read_bytes() for file in files]
    for _ in range(2):
        with pytest.raises(JournalCorrupt, match="but 21 was acknowledged"):
            Store.open(killed)
    assert [file.read_bytes() for file in files] == before


def test_whoever_accepts_the_loss_can_open_what_is_left(killed: Path) -> None:
    overwrite(killed / "journal.db-wal", 10 * 8300, b"\xa5")
    (killed / "acknowledged").unlink()

    async def run() -> None:
        async with opened(killed) as store:
            count = len(store.list("pods"))
            assert 0 < count < 20
            assert [value(entry) for entry in sorted(store.list("pods"), key=lambda e: e.revision)] == [
                f"value-{number:04}" for number in range(count)
            ]

    asyncio.run(run())


def test_a_log_without_its_database_is_refused(killed: Path) -> None:
    (killed / "journal.db").unlink()
    (killed / "acknowledged").unlink()
    with pytest.raises(JournalCorrupt, match=r"journal\.db-wal is there"):
        Store.open(killed)
    assert not (killed / "journal.db").exists()


def test_a_journal_that_is_gone_is_not_replaced_by_an_empty_one(closed: Path) -> None:
    (closed / "journal.db").unlink()
    with pytest.raises(JournalCorrupt, match="but 201 was acknowledged"):
        Store.open(closed)
    assert not (closed / "journal.db").exists()


def test_with_all_its_files_moved_away_the_store_starts_empty(killed: Path, tmp_path: Path) -> None:
    for file in [*killed.glob("journal.db*"), killed / "acknowledged"]:
        file.rename(tmp_path / file.name)

    async def run() -> None:
        async with opened(killed) as store:
            assert (await put(store, "a")).revision == 2

    asyncio.run(run())


def test_a_power_cut_may_take_the_tail_but_its_revisions_are_never_used_again(killed: Path) -> None:
    overwrite(killed / "journal.db-wal", 10 * 8300, b"\xa5")
    overwrite(killed / "acknowledged", 8, b"another-boot")

    async def run() -> None:
        for _ in range(2):
            async with opened(killed) as store:
                assert store.revision == 21
                assert 0 < len(store.list("pods")) < 20
                with pytest.raises(Compacted):  # whoever saw what is lost must list afresh
                    store.watch("pods", None, 20)
                store.watch("pods", None, 21).close()
        async with opened(killed) as store:
            assert (await put(store, "next")).revision == 22
        async with opened(killed) as store:
            assert "next" in names(store.list("pods"))

    asyncio.run(run())


def test_with_full_durability_not_even_a_power_cut_excuses_a_lost_tail(tmp_path: Path) -> None:
    async def run() -> Path:
        async with opened(tmp_path / "open", durability="full") as store:
            for number in range(20):
                await put(store, f"p{number}")
            return left_by_a_kill(tmp_path / "open", tmp_path / "killed")

    killed = asyncio.run(run())
    overwrite(killed / "journal.db-wal", 10 * 8300, b"\xa5")
    with pytest.raises(JournalCorrupt, match="was acknowledged"):
        Store.open(killed)


def test_a_write_cut_short_by_the_kill_is_dropped_without_a_word(killed: Path) -> None:
    log = killed / "journal.db-wal"
    log.write_bytes(log.read_bytes() + log.read_bytes()[32 : 32 + 5000])  # a frame begun, never finished

    async def run() -> None:
        async with opened(killed) as store:
            assert len(store.list("pods")) == 20

    asyncio.run(run())


def test_a_newer_schema_is_refused_by_its_number_and_left_alone(closed: Path) -> None:
    with closing(sqlite3.connect(closed / "journal.db")) as db:
        db.execute("PRAGMA user_version = 99")
    before = (closed / "journal.db").read_bytes()
    with pytest.raises(SchemaTooNew, match="schema version 99, this longshore knows up to 3") as error:
        Store.open(closed)
    assert "Install that version or a later one" in str(error.value)
    assert (closed / "journal.db").read_bytes() == before


def test_a_database_of_somebody_else_is_refused(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "journal.db")) as db:
        db.execute("CREATE TABLE journal (x)")
    with pytest.raises(JournalCorrupt, match="not a longshore journal"):
        Store.open(tmp_path)
