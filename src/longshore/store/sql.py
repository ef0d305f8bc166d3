"""Every SQL statement of the store, each with one sentence. The tables are in `migrations/`."""

from __future__ import annotations

APPLICATION_ID = 0x6C6F6E67
"""`long` in ASCII: tells our file from any other SQLite database."""

PAGE_SIZE = 8192
"""Bytes of a page, for three usual pods. SQLite's own 4096 would hold one and waste the rest."""

# Settings of a new file. Both hold only if they are there before the first table.
SET_PAGE_SIZE = f"PRAGMA page_size = {PAGE_SIZE}"
SET_INCREMENTAL_VACUUM = "PRAGMA auto_vacuum = INCREMENTAL"
SET_APPLICATION_ID = f"PRAGMA application_id = {APPLICATION_ID}"

# Settings of each connection that writes.
LOCK_EXCLUSIVELY = "PRAGMA locking_mode = EXCLUSIVE"  # one process anyway, so no shared index to keep
USE_WRITE_AHEAD_LOG = "PRAGMA journal_mode = WAL"
USE_NO_LOG = "PRAGMA journal_mode = DELETE"  # of a copy: nothing beside the file
SYNC_ON_CHECKPOINT = "PRAGMA synchronous = NORMAL"  # a commit survives kill -9
SYNC_ON_COMMIT = "PRAGMA synchronous = FULL"  # a commit survives power loss
CHECKPOINT_ONLY_WHEN_TOLD = "PRAGMA wal_autocheckpoint = 0"  # never between a write and its answer

# Setting of a connection that reads a whole file: no copy and no system call for each page.
MAP_INTO_MEMORY = f"PRAGMA mmap_size = {1 << 40}"

# Facts about a file.
READ_APPLICATION_ID = "PRAGMA application_id"
READ_SCHEMA_VERSION = "PRAGMA user_version"
CHECK_STRUCTURE = "PRAGMA quick_check(1)"

# Runs one migration and notes its number, both or neither.
MIGRATE = "BEGIN IMMEDIATE;\n{script}\nPRAGMA user_version = {version};\nCOMMIT;"

# Reads the whole journal in the order it was written.
READ_ALL = (
    "SELECT revision, storage, namespace, name, deleted, checksum, value FROM journal ORDER BY revision"
)

# Reads up to where history has been compacted.
READ_COMPACTED = "SELECT revision FROM compacted"

# Notes up to where history has been compacted; it never goes back.
SET_COMPACTED = "UPDATE compacted SET revision = max(revision, ?)"

# Reads the notes of all shelves, each oldest first.
READ_NOTES = "SELECT shelf, number, at, notes, data FROM notes ORDER BY shelf, number"

# Keeps a bundle of notes.
KEEP_NOTES = "INSERT INTO notes VALUES (?,?,?,?,?)"

# Removes the bundles of notes on a shelf before this one.
FORGET_NOTES = "DELETE FROM notes WHERE shelf = ? AND number < ?"

BEGIN = "BEGIN IMMEDIATE"
COMMIT = "COMMIT"
ROLLBACK = "ROLLBACK"

# Moves the write-ahead log into the database and starts over at its beginning. The file stays: writing over
# it takes two thirds of the time of making it longer.
CHECKPOINT = "PRAGMA wal_checkpoint(RESTART)"

# Also gives the disk space of the log back.
CHECKPOINT_AND_EMPTY = "PRAGMA wal_checkpoint(TRUNCATE)"

# How many pages the file has, and how many of them hold nothing.
READ_PAGE_COUNT = "PRAGMA page_count"
READ_FREE_COUNT = "PRAGMA freelist_count"

# Gives some empty pages back to the file system.
VACUUM_SOME = "PRAGMA incremental_vacuum({})"


def append(rows: int) -> str:
    """The statement that adds this many rows, in one transaction.

    One statement releases the interpreter lock once, `executemany` once a row. Under a busy event loop each
    release costs up to 5 ms.
    """
    return "INSERT INTO journal VALUES " + ",".join(["(?,?,?,?,?,?,?)"] * rows)


def remove(rows: int) -> str:
    """The statement that removes this many dead rows."""
    return f"DELETE FROM journal WHERE revision IN ({','.join('?' * rows)})"
