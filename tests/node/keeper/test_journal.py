"""What the keeper knows, on disk."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from longshore.node.keeper.records import keeper_journal
from longshore.node.keeper.records.book import Book
from longshore.node.keeper.records.entry import Entry


def _entry(number: int = 0) -> Entry:
    return Entry(f"u{number}/c/0", "/log\twith\ntabs", 1.5, 7, "")


def _full(fd: int) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_what_was_written_is_read_again(tmp_path: Path) -> None:
    book = Book(str(tmp_path / "journal"))
    entry = _entry()
    book.compact()
    book.intend([entry])
    entry.pid, entry.ticks, entry.started_at, entry.phase = 12, 34, 2.5, "running"
    book.started([entry])
    entry.phase, entry.code, entry.reason, entry.message, entry.finished_at = (
        "exited",
        3,
        "Error",
        "a\\b\n",
        3.5,
    )
    book.ended([entry])
    again = Book(str(tmp_path / "journal"))
    again.load()
    assert [e.state() for e in again.entries.values()] == [entry.state()]
    assert again.same_boot
    assert again.entries[entry.key].log.path == "/log\twith\ntabs"


def test_a_full_disk_leaves_no_half_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    book = Book(str(tmp_path / "journal"))
    book.intend([_entry(0)])
    real = os.write
    with monkeypatch.context() as full:
        full.setattr(keeper_journal.os, "write", lambda fd, data: real(fd, data[:10]))
        with pytest.raises(OSError, match="No space left"):
            book.intend([_entry(1)])
    book.intend([_entry(2)])
    again = Book(str(tmp_path / "journal"))
    again.load()
    assert list(again.entries) == list(book.entries) == ["u0/c/0", "u2/c/0"]


def test_a_start_that_could_not_be_written_is_written_with_the_next_event(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    book = Book(str(tmp_path / "journal"))
    entry = _entry()
    book.intend([entry])
    entry.pid = 5
    with monkeypatch.context() as full:
        full.setattr(keeper_journal.os, "write", lambda fd, data: 0)
        book.started([entry])
    book.intend([_entry(1)])
    again = Book(str(tmp_path / "journal"))
    again.load()
    assert again.entries[entry.key].pid == 5


def test_it_is_made_small_when_most_of_it_is_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keeper_journal, "_COMPACT_FROM", 2000)
    path = tmp_path / "journal"
    book = Book(str(path))
    book.compact()
    for number in range(100):
        book.intend([_entry(number)])
        book.entries[f"u{number}/c/0"].phase = "lost"
        if number:
            book.remove([f"u{number}/c/0"])
    assert path.stat().st_size < 3000
    again = Book(str(path))
    again.load()
    assert list(again.entries) == ["u0/c/0"]


def test_a_disk_that_is_too_full_to_make_it_small_takes_nothing_from_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    book = Book(str(tmp_path / "journal"))
    book.compact()
    book.intend([_entry(0)])
    book.intend([_entry(1)])
    book.entries["u0/c/0"].phase = "lost"
    with monkeypatch.context() as full:
        full.setattr(keeper_journal.Journal, "is_large", lambda _: True)
        full.setattr(keeper_journal.os, "fsync", _full)
        with pytest.raises(OSError, match="No space left"):
            book.remove(["u0/c/0"])
        full.setattr(keeper_journal.os, "write", lambda fd, data: 0)
        with pytest.raises(OSError, match="No space left"):
            book.intend([_entry(2)])
    again = Book(str(tmp_path / "journal"))
    again.load()
    assert list(again.entries) == ["u1/c/0"]
    assert [path.name for path in tmp_path.iterdir()] == ["journal"]
