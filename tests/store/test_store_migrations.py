"""The schema of the journal file goes up in numbered steps, each whole or not at all."""

from __future__ import annotations

import asyncio
import re
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from longshore.store import JournalCorrupt, journal_schema
from longshore.store.reader import reading
from store.store_support import opened, put


@pytest.fixture
def migrations(tmp_path: Path) -> Path:
    return Path(shutil.copytree(journal_schema.MIGRATIONS, tmp_path / "migrations"))


def version(file: Path) -> int:
    with closing(sqlite3.connect(file)) as db:
        return journal_schema.version(db)


def test_migrations_are_numbered_without_gaps_and_named_by_effect() -> None:
    files = [script.name for script in journal_schema.scripts(journal_schema.MIGRATIONS)]
    assert files == sorted(file.name for file in journal_schema.MIGRATIONS.iterdir())
    assert [int(name[:4]) for name in files] == list(range(1, len(files) + 1))
    assert all(re.fullmatch(r"\d{4}_[a-z_]{5,}\.sql", name) for name in files)


def test_an_old_file_is_brought_up_to_date_with_all_its_rows(tmp_path: Path, migrations: Path) -> None:
    async def run() -> None:
        async with opened(tmp_path / "data") as store:
            await put(store, "a", 1)

    asyncio.run(run())
    file = tmp_path / "data" / "journal.db"
    (migrations / "0004_remember_owners.sql").write_text(
        "CREATE TABLE owners (uid TEXT PRIMARY KEY) STRICT;\nINSERT INTO owners SELECT name FROM journal;"
    )
    for _ in range(2):  # the second time there is nothing left to do
        with reading(file, migrations) as reader:
            assert [row.name for row in reader.rows()] == ["a"]
        assert version(file) == 4
    with closing(sqlite3.connect(file)) as db:
        assert db.execute("SELECT uid FROM owners").fetchall() == [("a",)]


def test_a_migration_that_fails_changes_nothing(tmp_path: Path, migrations: Path) -> None:
    file = tmp_path / "journal.db"
    with reading(file, migrations):
        pass
    (migrations / "0004_half_of_it_fails.sql").write_text(
        "CREATE TABLE half (x INTEGER) STRICT;\nINSERT INTO nowhere VALUES (1);"
    )
    with pytest.raises(JournalCorrupt, match="nowhere"), reading(file, migrations):
        pass
    with closing(sqlite3.connect(file)) as db:
        assert journal_schema.version(db) == 3
        assert db.execute("SELECT count(*) FROM sqlite_master WHERE name = 'half'").fetchone() == (0,)


def test_a_file_whose_making_was_interrupted_is_made_again(tmp_path: Path) -> None:
    (tmp_path / "journal.db.new").write_bytes(b"half a file")

    async def run() -> None:
        async with opened(tmp_path) as store:
            await put(store, "a")
        assert not (tmp_path / "journal.db.new").exists()

    asyncio.run(run())
