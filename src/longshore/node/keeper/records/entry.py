"""One container in the keeper's memory, and the lines of the journal that it stands for."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from longshore.node.keeper.records.keeper_journal import escape, line
from longshore.node.keeper.records.logfile import LogFile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from longshore.node.keeper.talking.frames import Spec, State
    from longshore.node.keeper.walls.pid_cells import Cell


class Entry:
    """From the intent until it is removed. What only a running container needs is dropped at its end."""

    __slots__ = (
        "adopted",
        "cell",
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
        """Found running by a keeper that did not start it, and so is not its parent."""
        self.pidfd = -1
        self.pipe = -1
        self.pipe_inode = 0
        self.error_pipe = -1
        """Our end of its standard error, where that is told from its output,"""
        self.error_inode = 0
        self.error_log: LogFile | None = None
        """and the writer of its lines."""
        self.stdin = -1
        """Our end of its standard input, held open until it or its one reader is done."""
        self.master = -1
        """Our end of its terminal; then also `pipe`."""
        self.oom = False
        """Whether the container was killed for its memory."""
        self.memory = memory
        """The memory limit in bytes, or 0."""
        self.termination = termination
        """The file its last words go to, or ""."""
        self.message_file = ""
        """The mounts for the container meanwhile,"""
        self.copy: tuple[object, int] | None = None
        """and the namespace that it is mounted in; see kept_mounts.py."""
        self.cell: Cell | None = None
        """The walls around it; see pid_cells.py."""
        self.known_first = (0, 0)
        """The first process of its cell and the start of that, as another keeper wrote them down."""
        self.cgroup = ""
        self.execs: set[int] = set()
        """Commands run beside it, which end with it."""
        self.listeners: list[Callable[[bytes], None]] = []
        """The sessions that see the output live,"""
        self.watchers: list[Callable[[int], None]] = []
        """and hear its exit code."""

    @property
    def first(self) -> int:
        """The pid of the first process of its PID namespace, or 0 if it has none of its own."""
        return self.cell.first if self.cell is not None else 0

    def separate(self) -> None:
        """Prepares a log in which standard error is told from output."""
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
        """All that the journal must say about it."""
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
        cell = self.cell
        first, ticks = self.known_first if cell is None else (cell.first, cell.first_ticks)
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
