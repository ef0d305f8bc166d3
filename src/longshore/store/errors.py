"""Every error of the store. Each docstring is the default message, with the cure."""

from __future__ import annotations

from pathlib import Path


class StoreError(Exception):
    """The store could not do this."""

    def __init__(self, detail: str = "") -> None:
        text = " ".join((type(self).__doc__ or "").split())
        super().__init__(f"{text} ({detail})" if detail else text)
        self.detail = detail


class DataDirBusy(StoreError):
    """Another longshore holds this data directory. Stop it, or pass another --data-dir."""

    def __init__(self, directory: Path, pid: int | None) -> None:
        super().__init__(f"{directory}, held by process {pid}" if pid else str(directory))
        self.pid = pid


class JournalCorrupt(StoreError):
    """The journal is damaged, so longshore does not start on it; nothing was changed.
    Copy the data directory away, then restore a backup of it, or save what is readable with
    `sqlite3 journal.db .recover`, or move `journal.db*` and `acknowledged` away to start empty."""

    def __init__(self, file: Path, what: str) -> None:
        super().__init__(f"{file}: {what}")


class RestoreCutOff(StoreError):
    """A restore into this data directory was cut off, so longshore does not start on it. Run the restore
    again; what was there before is in the directory `replaced-...` beside the journal."""

    def __init__(self, directory: Path, backup: str) -> None:
        super().__init__(f"{directory}: longshore restore {backup}")


class SchemaTooNew(StoreError):
    """This data directory was written by a newer longshore. Install that version or a later one,
    or pass another --data-dir."""

    def __init__(self, file: Path, found: int, known: int) -> None:
        super().__init__(f"{file} has schema version {found}, this longshore knows up to {known}")


class JournalUnusable(StoreError):
    """The journal cannot be opened. Check that the data directory exists on a working disk with free
    space and belongs to this user."""


class WriteFailed(StoreError):
    """The write could not be journalled and was not made; objects are as before. Try again."""


class DiskFull(WriteFailed):
    """The disk with the data directory is full: the write was not made; objects are as before.
    Free some space and try again."""


class JournalGone(WriteFailed):
    """The journal's files were removed or replaced, so nothing can be kept: the write was not made; objects
    are as before. Put the files back, or save what you need (`longshore get ... -o yaml`) and start again."""


class StoreClosed(WriteFailed):
    """The store is closed."""


class NothingOnDisk(StoreError):
    """This longshore keeps everything in memory, so there is no journal to copy. Start one without
    --in-memory."""


class Compacted(StoreError):
    """That revision is older than the history kept. List again and go on from there."""

    def __init__(self, asked: int, oldest: int) -> None:
        super().__init__(f"asked for {asked}, oldest is {oldest}")
        self.oldest = oldest


class FutureRevision(StoreError):
    """That revision does not exist yet."""

    def __init__(self, asked: int, current: int) -> None:
        super().__init__(f"asked for {asked}, current is {current}")
        self.asked = asked
        self.current = current


class WatchOverflow(StoreError):
    """This watcher fell too far behind and was cut off. List again and watch from there."""
