"""All containers the keeper knows, by key, in step with the journal: written first, then believed."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable

from longshore.node.keeper.processes import procfs
from longshore.node.keeper.records import keeper_journal
from longshore.node.keeper.records.entry import Entry


class Book:
    def __init__(self, path: str) -> None:
        self._journal = keeper_journal.Journal(path)
        self.entries: dict[str, Entry] = {}
        self._late: list[str] = []
        directory = os.stat(os.path.dirname(path))
        self._place = directory.st_dev, directory.st_ino
        self.home = ""
        """The id of this keeper's directory, which the processes it starts carry. Empty while containers run
        that were started before directories had one."""
        self.copied = False
        """Whether the journal was written in another directory, of which this one is a copy: then the
        processes it speaks of belong to the other one's keeper."""
        self.same_boot = True
        """Whether the processes of the journal can still be there."""

    def load(self) -> None:
        """Reads the journal. What was running is still said to run: see adoption.py."""
        here = keeper_journal.boot_id()
        for fields in self._journal.read():
            match fields:
                case ["boot", boot]:
                    self.same_boot = boot == here
                case ["home", home, device, inode]:
                    self.home = home
                    self.copied = self.same_boot and (int(device), int(inode)) != self._place
                case ["intent", key, at, log, memory, message, *more]:
                    self.entries[key] = Entry(
                        key,
                        keeper_journal.unescape(log),
                        float(at),
                        int(memory),
                        keeper_journal.unescape(message),
                        whole_log="whole-log" in more,
                    )
                case ["started", key, pid, ticks, at, inode, file, *more] if key in self.entries:
                    entry = self.entries[key]
                    entry.phase, entry.pid, entry.ticks = "running", int(pid), int(ticks)
                    entry.started_at, entry.pipe_inode = float(at), int(inode)
                    entry.message_file = keeper_journal.unescape(file)
                    for word in more:
                        if word.startswith("first="):
                            pid, _, ticks = word[6:].partition(":")
                            entry.known_first = int(pid), int(ticks)
                        else:
                            entry.error_inode = int(word)
                            entry.separate()
                case ["exited", key, at, code, number, reason, message] if key in self.entries:
                    entry = self.entries[key]
                    entry.phase, entry.finished_at = "exited", float(at)
                    entry.code, entry.signal = int(code), int(number)
                    entry.reason, entry.message = reason, keeper_journal.unescape(message)
                case ["lost", key, at, message] if key in self.entries:
                    entry = self.entries[key]
                    entry.phase, entry.finished_at = "lost", float(at)
                    entry.message = keeper_journal.unescape(message)
                case ["removed", key]:
                    self.entries.pop(key, None)
                case _:
                    pass  # a line that a full disk cut in the middle
        for entry in self.entries.values():
            entry.tag = procfs.tag(self.home, entry.key)
        if self.copied or not (self.home or any(entry.phase == "running" for entry in self.entries.values())):
            self.home = os.urandom(8).hex()

    def compact(self) -> None:
        lines = [
            keeper_journal.line("boot", keeper_journal.boot_id()),
            keeper_journal.line("home", self.home, *self._place),
        ]
        for entry in self.entries.values():
            lines += entry.lines()
        self._journal.rewrite(lines)
        self.same_boot = True

    def intend(self, entries: list[Entry]) -> None:
        self._write([entry.intent_line() for entry in entries])
        for entry in entries:
            entry.tag = procfs.tag(self.home, entry.key)
            self.entries[entry.key] = entry

    def started(self, entries: list[Entry]) -> None:
        """That cannot be taken back, so it is written later if the disk is full; the tag helps meanwhile."""
        self._write_sometime([entry.started_line() for entry in entries])

    def not_started(self, entry: Entry) -> None:
        del self.entries[entry.key]
        self._write_sometime([keeper_journal.line("removed", entry.key)])

    def ended(self, entries: list[Entry]) -> None:
        self._write([entry.ended_line() for entry in entries])

    def remove(self, keys: Iterable[str]) -> None:
        """Forgets those that do not run."""
        gone = [
            key for key in keys if (entry := self.entries.get(key)) is not None and entry.phase != "running"
        ]
        if gone:
            self._write([keeper_journal.line("removed", key) for key in gone])
            for key in gone:
                del self.entries[key]
        if self._journal.is_large():
            self.compact()

    def lost(self, entries: list[Entry], message: str) -> None:
        """Marks containers as lost: they ran or were about to, and nobody knows their end."""
        now = time.time()
        for entry in entries:
            entry.phase, entry.finished_at, entry.message = "lost", now, message
        self.ended(entries)

    def _write(self, lines: list[str]) -> None:
        self._journal.write([*self._late, *lines])
        self._late = []

    def _write_sometime(self, lines: list[str]) -> None:
        try:
            self._write(lines)
        except OSError:
            self._late += lines
