"""The records of all containers that the keeper knows. A change is written to the journal before it
counts."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator

from longshore.node.keeper import keeper_journal, procfs
from longshore.node.keeper.keeper_journal import escape, line
from longshore.node.keeper.logfile import LogFile

TYPE_CHECKING = False

if TYPE_CHECKING:
    from longshore.node.keeper.frames import Spec, State
    from longshore.node.keeper.walls.pid_namespace import PidNamespace


class ContainerRecord:
    """One container, until it is removed. Fields that only a running container needs are cleared at its
    end."""

    __slots__ = (
        "adopted",
        "cgroup",
        "code",
        "copy",
        "error_inode",
        "error_log",
        "error_pipe",
        "execs",
        "finished_at",
        "intended_at",
        "key",
        "known_first",
        "listeners",
        "log",
        "master",
        "memory",
        "message",
        "message_file",
        "oom",
        "phase",
        "pid",
        "pid_namespace",
        "pidfd",
        "pipe",
        "pipe_inode",
        "reason",
        "signal",
        "spec",
        "started_at",
        "stdin",
        "tag",
        "termination",
        "ticks",
        "watchers",
    )

    def __init__(
        self,
        key: str,
        log: str,
        intended_at: float,
        memory: int,
        termination: str,
        *,
        whole_log: bool = False,
    ) -> None:
        self.key = key
        self.tag = ""
        """The mark in the processes' environment: the keeper's id and the key; see procfs.py."""
        self.intended_at = intended_at
        self.phase = "intent"
        self.pid = 0
        self.ticks = 0
        self.started_at = 0.0
        self.finished_at = 0.0
        self.code = 0
        self.signal = 0
        self.reason = ""
        self.message = ""
        self.log = LogFile(log, whole=whole_log)
        self.spec: Spec | None = None
        self.adopted = False
        """Whether an earlier keeper started it, so that this one is not its parent."""
        self.pidfd = -1
        self.pipe = -1
        self.pipe_inode = 0
        self.error_pipe = -1
        """The keeper's end of standard error, if that is logged as a separate stream."""
        self.error_inode = 0
        self.error_log: LogFile | None = None
        """The log of standard error, if that is a separate stream."""
        self.stdin = -1
        """The keeper's end of standard input, open until the container or its only session ends."""
        self.master = -1
        """The keeper's end of the terminal; `pipe` is the same descriptor then."""
        self.oom = 0
        """The bytes that the container used when it was killed for its memory, else 0."""
        self.memory = memory
        """The memory limit in bytes, or 0."""
        self.termination = termination
        """The file on this machine for the container's termination message, or ""."""
        self.message_file = ""
        """The file that is mounted for the termination message while the container runs."""
        self.copy: tuple[object, int] | None = None
        """Key and descriptor of the mount namespace of which the container has a copy; see kept_mounts.py."""
        self.pid_namespace: PidNamespace | None = None
        """The PID namespace of a container with walls."""
        self.known_first = (0, 0)
        """First process of the PID namespace and its start, as another keeper recorded them."""
        self.cgroup = ""
        self.execs: set[int] = set()
        """The pids of commands that exec started in the container; they are killed when it ends."""
        self.listeners: list[Callable[[bytes], None]] = []
        """Attached sessions: each gets the output as it is read."""
        self.watchers: list[Callable[[int], None]] = []
        """Attached sessions: each gets the exit code."""

    @property
    def first(self) -> int:
        """The pid of the first process of its PID namespace, or 0 if it has none of its own."""
        return self.pid_namespace.first if self.pid_namespace is not None else 0

    def separate(self) -> None:
        """Prepares a log of standard error beside that of standard output."""
        self.error_log = LogFile(self.log.path, whole=True, stream=b"stderr")

    def state(self) -> State:
        return (
            self.key,
            self.phase,
            self.pid,
            self.started_at,
            self.finished_at,
            self.code,
            self.signal,
            self.reason,
            self.message,
        )

    def lines(self) -> Iterator[str]:
        """All lines of the journal about the container."""
        yield self.intent_line()
        if self.pid:
            yield self.started_line()
        if self.phase in ("exited", "lost"):
            yield self.ended_line()

    def intent_line(self) -> str:
        return line(
            "intent",
            self.key,
            f"{self.intended_at:.6f}",
            escape(self.log.path),
            self.memory,
            escape(self.termination),
            *(("whole-log",) if self.log.whole else ()),
        )

    def started_line(self) -> str:
        pid_namespace = self.pid_namespace
        first, ticks = (
            self.known_first if pid_namespace is None else (pid_namespace.first, pid_namespace.first_ticks)
        )
        return line(
            "started",
            self.key,
            self.pid,
            self.ticks,
            f"{self.started_at:.6f}",
            self.pipe_inode,
            escape(self.message_file),
            *((self.error_inode,) if self.error_inode else ()),
            *((f"first={first}:{ticks}",) if first else ()),
        )

    def ended_line(self) -> str:
        finished = f"{self.finished_at:.6f}"
        if self.phase == "lost":
            return line("lost", self.key, finished, escape(self.message))
        return line("exited", self.key, finished, self.code, self.signal, self.reason, escape(self.message))


class ContainerRecords:
    def __init__(self, path: str) -> None:
        self._journal = keeper_journal.Journal(path)
        self.entries: dict[str, ContainerRecord] = {}
        self.pods: dict[str, tuple[int, int]] = {}
        """By pod, the pid of the process that holds its namespaces, and the start of that process."""
        self._late: list[str] = []
        directory = os.stat(os.path.dirname(path))
        self._place = directory.st_dev, directory.st_ino
        self.home = ""
        """The id of this keeper's directory, in the environment of each process that the keeper starts. Empty
        while containers run that were started before directories had an id."""
        self.copied = False
        """Whether the journal is a copy from another directory, whose keeper has the processes."""
        self.same_boot = True
        """Whether the machine was not restarted since the journal was written."""

    def load(self) -> None:
        """Reads the journal. Containers that ran are still recorded as running; see adoption.py."""
        here = keeper_journal.boot_id()
        for fields in self._journal.read():
            match fields:
                case ["boot", boot]:
                    self.same_boot = boot == here
                case ["home", home, device, inode]:
                    self.home = home
                    self.copied = self.same_boot and (int(device), int(inode)) != self._place
                case ["intent", key, at, log, memory, message, *more]:
                    self.entries[key] = ContainerRecord(
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
                case ["pod", uid, pid, ticks]:
                    self.pods[uid] = int(pid), int(ticks)
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
        lines += [keeper_journal.line("pod", uid, *pause) for uid, pause in self.pods.items()]
        for entry in self.entries.values():
            lines += entry.lines()
        self._journal.rewrite(lines)
        self.same_boot = True

    def intend(self, entries: list[ContainerRecord]) -> None:
        self._write([entry.intent_line() for entry in entries])
        for entry in entries:
            entry.tag = procfs.tag(self.home, entry.key)
            self.entries[entry.key] = entry

    def started(self, entries: list[ContainerRecord]) -> None:
        """Records starts. On a full disk a start is recorded later, because it cannot be undone; until then a
        new keeper finds the process by its tag."""
        self._write_sometime([entry.started_line() for entry in entries])

    def holds(self, uid: str, pause: int, ticks: int) -> None:
        """Records the process that holds the namespaces of a pod."""
        self.pods[uid] = pause, ticks
        self._write_sometime([keeper_journal.line("pod", uid, pause, ticks)])

    def not_started(self, entry: ContainerRecord) -> None:
        del self.entries[entry.key]
        self._write_sometime([keeper_journal.line("removed", entry.key)])

    def ended(self, entries: list[ContainerRecord]) -> None:
        self._write([entry.ended_line() for entry in entries])

    def remove(self, keys: Iterable[str]) -> None:
        """Removes the records of these containers, except running ones."""
        gone = [
            key for key in keys if (entry := self.entries.get(key)) is not None and entry.phase != "running"
        ]
        if gone:
            self._write([keeper_journal.line("removed", key) for key in gone])
            for key in gone:
                del self.entries[key]
        if self._journal.is_large():
            self.compact()

    def lost(self, entries: list[ContainerRecord], message: str) -> None:
        """Marks containers as lost: they may have run, and their exit code is unknown."""
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
