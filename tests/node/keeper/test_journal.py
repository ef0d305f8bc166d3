"""What the keeper knows, on disk."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from longshore.node.keeper import keeper_journal
from longshore.node.keeper.container_records import ContainerRecord, ContainerRecords


def _entry(number: int = 0) -> ContainerRecord:
    return ContainerRecord(f"u{number}/c/0", "/log\twith\ntabs", 1.5, 7, "")


def _full(fd: int) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_what_was_written_is_read_again(tmp_path: Path) -> None:
    records = ContainerRecords(str(tmp_path / "journal"))
    entry = _entry()
    records.compact()
    records.intend([entry])
    entry.pid, entry.ticks, entry.started_at, entry.phase = 12, 34, 2.5, "running"
    records.started([entry])
    entry.phase, entry.code, entry.reason, entry.message, entry.finished_at = (
        "exited",
        3,
        "Error",
        "a\\b\n",
        3.5,
    )
    records.ended([entry])
    again = ContainerRecords(str(tmp_path / "journal"))
    again.load()
    assert [e.state() for e in again.entries.values()] == [entry.state()]
    assert again.same_boot
    assert again.entries[entry.key].log.path == "/log\twith\ntabs"


def test_a_full_disk_leaves_no_half_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    records = ContainerRecords(str(tmp_path / "journal"))
    records.intend([_entry(0)])
    real = os.write
    with monkeypatch.context() as full:
        full.setattr(keeper_journal.os, "write", lambda fd, data: real(fd, data[:10]))
        with pytest.raises(OSError, match="No space left"):
            records.intend([_entry(1)])
    records.intend([_entry(2)])
    again = ContainerRecords(str(tmp_path / "journal"))
    again.load()
    assert list(again.entries) == list(records.entries) == ["u0/c/0", "u2/c/0"]


def test_a_start_that_could_not_be_written_is_written_with_the_next_event(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    records = ContainerRecords(str(tmp_path / "journal"))
    entry = _entry()
    records.intend([entry])
    entry.pid = 5
    with monkeypatch.context() as full:
        full.setattr(keeper_journal.os, "write", lambda fd, data: 0)
        records.started([entry])
    records.intend([_entry(1)])
    again = ContainerRecords(str(tmp_path / "journal"))
    again.load()
    assert again.entries[entry.key].pid == 5


def test_it_is_made_small_when_most_of_it_is_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keeper_journal, "_MIN_COMPACTED_BYTES", 2000)
    path = tmp_path / "journal"
    records = ContainerRecords(str(path))
    records.compact()
    for number in range(100):
        records.intend([_entry(number)])
        records.entries[f"u{number}/c/0"].phase = "lost"
        if number:
            records.remove([f"u{number}/c/0"])
    assert path.stat().st_size < 3000
    again = ContainerRecords(str(path))
    again.load()
    assert list(again.entries) == ["u0/c/0"]


def test_a_disk_that_is_too_full_to_make_it_small_takes_nothing_from_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    records = ContainerRecords(str(tmp_path / "journal"))
    records.compact()
    records.intend([_entry(0)])
    records.intend([_entry(1)])
    records.entries["u0/c/0"].phase = "lost"
    with monkeypatch.context() as full:
        full.setattr(keeper_journal.Journal, "is_large", lambda _: True)
        full.setattr(keeper_journal.os, "fsync", _full)
        with pytest.raises(OSError, match="No space left"):
            records.remove(["u0/c/0"])
        full.setattr(keeper_journal.os, "write", lambda fd, data: 0)
        with pytest.raises(OSError, match="No space left"):
            records.intend([_entry(2)])
    again = ContainerRecords(str(tmp_path / "journal"))
    again.load()
    assert list(again.entries) == ["u1/c/0"]
    assert [path.name for path in tmp_path.iterdir()] == ["journal"]
