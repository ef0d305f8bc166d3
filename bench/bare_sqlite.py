"""The other limit: the same rows in the same SQLite settings, without anything around them."""

from __future__ import annotations

import sqlite3
import tempfile
import time
from pathlib import Path

from longshore.store import journal_schema, sql
from longshore.store.sqlite import checksum

_GROUP = 32  # rows a transaction: what 32 connections bring together at most


def _open(directory: Path) -> sqlite3.Connection:
    journal_schema.create(directory / "bare.db")
    db = sqlite3.connect(directory / "bare.db", isolation_level=None)
    for setting in (
        sql.LOCK_EXCLUSIVELY,
        sql.USE_WRITE_AHEAD_LOG,
        sql.SYNC_ON_CHECKPOINT,
        sql.CHECKPOINT_ONLY_WHEN_TOLD,
    ):
        db.execute(setting)
    return db


def _row(revision: int, value: bytes) -> tuple[object, ...]:
    key = ("pods", "default", f"pod-{revision:07}")
    return (revision, *key, 0, checksum(revision, *key, 0, value), value)


def rows_per_second(size: int, seconds: float) -> float:
    """Rows of `size` bytes made durable in a second, in groups."""
    value = b"x" * size
    statement = sql.append(_GROUP)
    with tempfile.TemporaryDirectory() as directory:
        db = _open(Path(directory))
        revision, began = 0, time.perf_counter()
        while time.perf_counter() - began < seconds:
            values: list[object] = []
            for _ in range(_GROUP):
                revision += 1
                values += _row(revision, value)
            db.execute(statement, values)
        spent = time.perf_counter() - began
        db.close()
    return revision / spent


def read_milliseconds(size: int, rows: int) -> float:
    """What reading so many rows of that size costs."""
    value = b"x" * size
    with tempfile.TemporaryDirectory() as directory:
        db = _open(Path(directory))
        for first in range(1, rows + 1, _GROUP):
            values = [part for n in range(first, first + _GROUP) for part in _row(n, value)]
            db.execute(sql.append(_GROUP), values)
        began = time.perf_counter()
        db.execute(sql.READ_ALL).fetchall()
        spent = time.perf_counter() - began
        db.close()
    return 1000 * spent
