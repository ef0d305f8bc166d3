"""A data directory, opened: its lock, its journal, and the mark of what was acknowledged.

lock            held while a process uses the directory; names its pid
journal.db      the journal (with journal.db-wal beside it)
acknowledged    the last acknowledged revision
reserve         space on the disk, which a start on a full disk frees
restoring       the name of a backup, while it is being restored here
"""

from __future__ import annotations

from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Final

import msgspec

from longshore.store.acknowledged import Acknowledged
from longshore.store.contents import FIRST_REVISION, Contents, recover
from longshore.store.errors import JournalUnusable, RestoreCutOff
from longshore.store.journal import Durability
from longshore.store.lock import DataDirLock
from longshore.store.memory_limits import Limits
from longshore.store.reader import reading
from longshore.store.reserve import make_room
from longshore.store.sqlite import SqliteJournal

RESTORING: Final = "restoring"


class Disk(msgspec.Struct):
    """The open files of a data directory, to be closed again."""

    journal: SqliteJournal
    _lock: DataDirLock
    _acknowledged: Acknowledged

    def acknowledge(self, revision: int) -> None:
        """Notes that this revision is durable, before any write is acknowledged."""
        with suppress(OSError):  # an older mark detects less damage; the write itself is safe
            self._acknowledged.note(revision)

    @property
    def is_short(self) -> bool:
        """Whether the disk is full: new objects are refused, changes and deletions are not."""
        return self.journal.reserve.is_short

    def release(self) -> None:
        """Unlocks the directory. The journal must be closed."""
        self._acknowledged.close()
        self._lock.release()


def open_disk(directory: Path, durability: Durability, limits: Limits) -> tuple[Disk, Contents]:
    """Locks the directory, creates it if it is missing, and reads its journal."""
    with ExitStack() as undo:
        try:
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            make_room(directory)
            lock = DataDirLock(directory)
            undo.callback(lock.release)
            acknowledged = Acknowledged(directory / "acknowledged")
            undo.callback(acknowledged.close)
            if (directory / RESTORING).exists():
                raise RestoreCutOff(directory, (directory / RESTORING).read_text(errors="replace"))
        except OSError as error:
            raise JournalUnusable(str(error)) from error
        file = directory / "journal.db"
        if not file.exists():
            acknowledged.check(file, FIRST_REVISION)  # before an empty one is made in its place
        with reading(file) as reader:
            contents = recover(reader, limits)
        acknowledged.check(file, contents.revision)
        journal = SqliteJournal(file, durability)
        undo.callback(journal.close)
        if acknowledged.revision > contents.revision:
            # A power cut took writes that were acknowledged, as `normal` durability allows. Their
            # revisions are not used again, and clients that saw them must list again.
            contents.window.forget(acknowledged.revision)
            contents.revision = acknowledged.revision
            journal.compact([], acknowledged.revision)
        journal.hold()
        acknowledged.begin(contents.revision, survives_power_loss=durability == "full")
        undo.pop_all()
        return Disk(journal, lock, acknowledged), contents
