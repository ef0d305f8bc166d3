"""Creates a new journal file and upgrades an old one. Knows nothing of its rows.

Migrations are `migrations/NNNN_effect.sql`, numbered from 1 without gaps; the schema version of a file is
the number of the last migration that ran on it (SQLite's user_version). A file from a newer longshore, or
from another program, is refused and left as it is.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

from longshore.store import sql
from longshore.store.errors import JournalCorrupt, SchemaTooNew

MIGRATIONS = Path(__file__).parent / "migrations"


def create(file: Path, migrations: Path = MIGRATIONS) -> None:
    """Creates an empty journal. The file appears under its name complete or not at all."""
    unfinished = file.with_name(file.name + ".new")
    unfinished.unlink(missing_ok=True)
    os.close(os.open(unfinished, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))  # it will hold Secrets
    with closing(sqlite3.connect(unfinished, isolation_level=None)) as db:
        db.execute(sql.SET_PAGE_SIZE)
        db.execute(sql.SET_INCREMENTAL_VACUUM)
        db.execute(sql.SET_APPLICATION_ID)
        _migrate(db, 0, migrations)
    unfinished.rename(file)
    directory = os.open(file.parent, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def check(db: sqlite3.Connection, file: Path, migrations: Path = MIGRATIONS) -> bool:
    """Whether the file is up to date; False means that `upgrade` has work to do."""
    found = version(db)
    known = len(scripts(migrations))
    if db.execute(sql.READ_APPLICATION_ID).fetchone()[0] != sql.APPLICATION_ID or found < 1:
        raise JournalCorrupt(file, "not a longshore journal")
    if found > known:
        raise SchemaTooNew(file, found, known)
    return found == known


def upgrade(file: Path, migrations: Path = MIGRATIONS) -> None:
    """Runs the migrations that are missing in this file, each in a transaction of its own."""
    with closing(sqlite3.connect(file, isolation_level=None)) as db:
        _migrate(db, version(db), migrations)


def version(db: sqlite3.Connection) -> int:
    """The number of the last migration that ran on the file."""
    number: int = db.execute(sql.READ_SCHEMA_VERSION).fetchone()[0]
    return number


def scripts(migrations: Path) -> list[Path]:
    """The migrations in order; the n-th one makes schema version n."""
    return sorted(migrations.glob("[0-9][0-9][0-9][0-9]_*.sql"))


def _migrate(db: sqlite3.Connection, done: int, migrations: Path) -> None:
    for number, script in enumerate(scripts(migrations), start=1):
        if number > done:
            db.executescript(sql.MIGRATE.format(script=script.read_text(), version=number))
