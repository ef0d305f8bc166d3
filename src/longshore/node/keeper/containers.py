"""The containers of a keeper, from their start to their end.

Starts that are asked for together are served together: one line-up of intents in the journal, the starts, one
line-up of starts. Ends are told when the journal has them.
"""

from __future__ import annotations

import functools
import os
import signal
import time
from collections.abc import Callable

from longshore.node.keeper.processes import adoption, exec_sessions, killing, launching, output, procfs
from longshore.node.keeper.processes.starter import Starter
from longshore.node.keeper.records.book import Book
from longshore.node.keeper.records.entry import Entry
from longshore.node.keeper.records.logfile import LogFile
from longshore.node.keeper.talking.loop import Loop
from longshore.node.keeper.talking.refused import Refused
from longshore.node.keeper.walls import sampling
from longshore.node.keeper.walls.namespaces import Namespaces

TYPE_CHECKING = False
if TYPE_CHECKING:
    from longshore.node.keeper.talking.frames import Spec
    from longshore.node.keeper.walls.limits import Limiter
    from longshore.node.keeper.walls.pid_cells import Cell

_SWEEP_SECONDS = 0.25  # seconds after an end until those who left its session are looked for
_FORGET_SECONDS = 15.0  # seconds between looks at namespaces that nobody uses
_TELL_AGAIN_SECONDS = 1.0  # seconds until the journal of a full disk is tried again
_FIRST_LOOK_SECONDS = 0.1  # seconds until memory is looked at for the first time
_KILL_AGAIN_SECONDS = 0.05  # seconds; until they are all gone
_ASK_AGAIN_SECONDS = 0.02  # seconds; an adopted process' exit code is known when its own parent has reaped it
_ASK_TIMES = 25
_NO_CODE = "its exit code is not known: the keeper that started it was killed"


_RESTARTED = "the machine was restarted"
_FOREIGN = "it runs, or ran, for the data directory that this one is a copy of"


class Containers:
    """`told` hears of those that have ended."""

    def __init__(
        self,
        loop: Loop,
        book: Book,
        namespaces: Namespaces,
        limiter: Limiter,
        told: Callable[[list[Entry]], None],
    ) -> None:
        self._loop = loop
        self._book = book
        self._namespaces = namespaces
        self._limiter = limiter
        self.starter = Starter(namespaces)
        self._told = told
        self._running: dict[int, Entry] = {}
        self.others: dict[int, Callable[[int], None]] = {}
        """Children that are no containers, by pid, with what hears of their end."""
        self._ended: list[Entry] = []
        self._doomed: list[Entry] = []
        self.hear_ends = loop.on_signal(signal.SIGCHLD, self._reap)
        """Tells of those that have ended by now."""

    @property
    def busy(self) -> bool:
        """Whether anything runs, or has ended and could not be written down yet."""
        return bool(self._running or self._ended)

    def recover(self) -> None:
        """Takes over from an earlier keeper."""
        self._book.load()
        open_ones = [e for e in self._book.entries.values() if e.phase in ("intent", "running")]
        foreign = _FOREIGN if self._book.copied else "" if self._book.same_boot else _RESTARTED
        alive, gone = ([], open_ones) if foreign else adoption.survivors(open_ones)
        self._adopt_cells(alive, [] if foreign else gone)
        self._book.compact()
        if gone:
            self._book.lost(gone, foreign or "it ended while no keeper was there")
        if alive:
            self._book.started(alive)
        self._namespaces.messages.clean({entry.message_file for entry in alive})
        for entry in alive:
            self._running[entry.pid] = entry
            self._loop.add(entry.pidfd, functools.partial(self._adopted_ended, entry, 0))
            self._limiter.started(entry)
            if entry.memory:
                self._loop.at("limits", _FIRST_LOOK_SECONDS, self._look)
            adoption.reopen_output(entry)
            self._listen(entry)

    def _adopt_cells(self, alive: list[Entry], gone: list[Entry]) -> None:
        """Cells of the living are taken over; those whose container ended while nobody looked are ended."""
        cells = self._namespaces.cells
        if cells is None:
            return
        known: dict[int, Cell] = {}
        for entry in (*alive, *gone):
            pid, ticks = entry.known_first
            if not pid and entry.phase == "running":
                pid, ticks = adoption.first_process(entry.pid)
            cell = known.get(pid) or (cells.adopt(pid, ticks) if pid else None)
            if cell is not None:
                known[pid] = entry.cell = cell
                cell.users += 1
        for entry in gone:
            if entry.cell is not None:
                self._namespaces.release(entry)

    def live(self, key: str) -> Entry:
        entry = self._book.entries.get(key)
        if entry is None or entry.phase != "running":
            raise Refused("RunContainerError", "the container is not running")
        return entry

    def usage(self, keys: list[str]) -> list[tuple[str, float, int]]:
        snapshot = procfs.Snapshot()
        found = []
        for key in keys:
            entry = self._book.entries.get(key)
            if entry is not None and entry.phase == "running":
                used = self._limiter.usage(entry, snapshot) or sampling.measure(entry, snapshot)
                found.append((key, *used))
        return found

    # Starting

    def start(self, specs: list[Spec]) -> list[Entry | Refused | OSError]:
        """Each with a key of its own. What became of it, now or when it was started before."""
        now = time.time()
        results: dict[str, Entry | Refused | OSError] = {}
        new: list[Entry] = []
        for spec in specs:
            known = self._book.entries.get(spec["key"])
            if known is None:
                known = _entry(spec, now)
                new.append(known)
            results[spec["key"]] = known
        try:
            self._book.intend(new)
        except OSError as problem:
            results.update((entry.key, problem) for entry in new)
            return list(results.values())
        begun: list[Entry] = []
        for entry in new:
            if self._book.home and entry.spec is not None:
                entry.spec["env"][procfs.HOME] = self._book.home
            try:
                self._launch(entry)
                begun.append(entry)
            except (Refused, OSError) as problem:
                results[entry.key] = problem
                self._book.not_started(entry)
        self._book.started(begun)
        if self._namespaces.keeps_some:
            self._loop.at("namespaces", _FORGET_SECONDS, self._forget_namespaces)
        return list(results.values())

    def _launch(self, entry: Entry) -> None:
        assert entry.spec is not None
        beside = self._beside(entry.spec)
        launching.container(entry, self._namespaces, self._limiter, self.starter, beside)
        entry.phase = "running"
        self._running[entry.pid] = entry
        self._listen(entry)
        if entry.memory:
            self._loop.at("limits", _FIRST_LOOK_SECONDS, self._look)

    def _beside(self, spec: Spec) -> Entry | None:
        """The running container that this one shares its surroundings with: its target, or another of its pod
        where both have walls."""
        if target := spec.get("target"):
            return self.live(target)
        walls = spec.get("walls")
        if walls is None or not walls["siblings"]:
            return None
        pod = spec["key"].partition("/")[0] + "/"
        mates = (e for e in self._running.values() if e.cell is not None and e.key.startswith(pod))
        return next(mates, None)

    def _look(self) -> None:
        again = self._limiter.look(list(self._running.values()))
        if again:
            self._loop.at("limits", again, self._look)

    def _forget_namespaces(self) -> None:
        if self._namespaces.forget_unused():
            self._loop.at("namespaces", _FORGET_SECONDS, self._forget_namespaces)

    def _listen(self, entry: Entry) -> None:
        def ready(mask: int) -> None:
            data = output.read(entry.pipe)
            if data:
                output.take(entry, entry.log, data)
            elif data is not None:
                self._mute(entry)

        if entry.pipe >= 0:
            self._loop.add(entry.pipe, ready)
        if entry.error_log is not None and entry.error_pipe >= 0:
            self._loop.add(entry.error_pipe, functools.partial(self._error_ready, entry, entry.error_log))

    def _error_ready(self, entry: Entry, log: LogFile, mask: int) -> None:
        data = output.read(entry.error_pipe)
        if data:
            output.take(entry, log, data)
        elif data is not None:
            self._mute_error(entry)

    def _mute(self, entry: Entry) -> None:
        if entry.pipe >= 0:
            self._loop.remove(entry.pipe)
            os.close(entry.pipe)
            entry.pipe = entry.master = -1

    def _mute_error(self, entry: Entry) -> None:
        if entry.error_pipe >= 0:
            self._loop.remove(entry.error_pipe)
            os.close(entry.error_pipe)
            entry.error_pipe = -1

    # Ending

    def _reap(self) -> None:
        while True:
            try:
                info = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            except ChildProcessError:
                break
            if info is None:
                break
            pid = info.si_pid
            entry = self._running.get(pid)
            if entry is not None:
                killing.group(pid, signal.SIGKILL)  # before its pid, which names the group, is used again
            _, status = os.waitpid(pid, 0)
            self._namespaces.reaped(pid)
            if entry is not None:
                self._over(entry, status)
            elif pid in self.others:
                self.others.pop(pid)(status)
            elif self._namespaces.nursery is not None and pid == self._namespaces.nursery.pid:
                self._loop.stop()  # without it not all can be started; the next keeper adopts what runs
        self._tell()

    def _over(self, entry: Entry, status: int | None) -> None:
        """The first process has ended: so has the container, as with a pid namespace.

        The steps in their order. What the journal gets is complete before the entry is lined up for it, and
        nobody is told before the journal has it (`_tell`); a keeper that dies on the way leaves `running`
        there, and the next one finds the process gone.
        """
        limited = entry.cgroup or entry.memory
        del self._running[entry.pid]
        self._note_end(entry, status)
        is_whole = self._close_output(entry)
        self._namespaces.release(entry)
        _let_go(entry)
        if limited:
            self._loop.at("limits", _FIRST_LOOK_SECONDS, self._look)
        self._ended.append(entry)
        self._loop.at("sweep", _SWEEP_SECONDS if is_whole else 0.0, self.sweep)

    def _note_end(self, entry: Entry, status: int | None) -> None:
        """When and how it ended; without a status nobody knows how."""
        entry.finished_at = time.time()
        if status is None:
            entry.phase, entry.message = "lost", _NO_CODE
            return
        entry.phase = "exited"
        if os.WIFSIGNALED(status):
            entry.signal = os.WTERMSIG(status)
        entry.code = launching.exit_code(status)
        killed = self._limiter.ended(entry) and entry.code == 128 + signal.SIGKILL
        entry.reason = "OOMKilled" if killed else "Error" if entry.code else "Completed"

    def _close_output(self, entry: Entry) -> bool:
        """Takes what it still said into its log. False if others hold its output open and may say more."""
        is_whole = True
        if entry.pipe >= 0:
            is_whole = output.drain(entry, entry.pipe, entry.log)
            self._mute(entry)
        entry.log.close()
        if entry.error_log is not None:
            if entry.error_pipe >= 0:
                is_whole = output.drain(entry, entry.error_pipe, entry.error_log) and is_whole
                self._mute_error(entry)
            entry.error_log.close()
        return is_whole

    def _adopted_ended(self, entry: Entry, asked: int, mask: int = 0) -> None:
        status = adoption.exit_status(entry)
        if asked == 0:
            self._loop.remove(entry.pidfd)
            killing.group(entry.pid, signal.SIGKILL)
        if status is None and asked < _ASK_TIMES:
            again = functools.partial(self._adopted_ended, entry, asked + 1)
            self._loop.at(f"ask {entry.key}", _ASK_AGAIN_SECONDS, again)
            return
        os.close(entry.pidfd)
        entry.pidfd = -1
        self._over(entry, status)
        killing.tagged({entry.tag})
        self._tell()

    def _tell(self) -> None:
        if not self._ended:
            return
        ended, self._ended = self._ended, []
        try:
            self._book.ended(ended)
        except OSError:
            self._ended = ended  # nobody is told what could be forgotten
            self._loop.at("tell", _TELL_AGAIN_SECONDS, self._tell)
            return
        self._told(ended)

    def sweep(self) -> None:
        """Ends those who left an ended container's session and group: they are our children now."""
        mine = {*self._running, *self.others, *self._namespaces.own_processes}
        killing.orphans(mine, {entry.tag for entry in self._running.values()})

    # Signals

    def signal(self, key: str, number: int) -> None:
        entry = self._book.entries.get(key)
        if entry is None or entry.phase != "running":
            return
        killing.group(entry.pid, number)
        if number == signal.SIGKILL:
            self._doom([entry])

    def kill_all(self) -> None:
        self._doom(list(self._running.values()))

    def _doom(self, entries: list[Entry]) -> None:
        """All that are killed in one turn share one walk through /proc."""
        self._doomed += entries
        self._loop.at("kill", 0.0, self._kill)

    def _kill(self) -> None:
        self._doomed = [entry for entry in self._doomed if entry.phase == "running"]
        if self._doomed:
            ours = {*self._running, *self.others, *self._namespaces.own_processes}
            killing.containers(self._doomed, ours)
            self._loop.at("kill", _KILL_AGAIN_SECONDS, self._kill)


def _let_go(entry: Entry) -> None:
    """Ends what people have open to it: its input, its watchers and the commands they run in it."""
    exec_sessions.close_input(entry)
    for watcher in entry.watchers:
        watcher(entry.code)
    for pid in entry.execs:
        killing.group(pid, signal.SIGKILL)
    entry.watchers = []
    entry.listeners = []
    entry.spec = None


def _entry(spec: Spec, now: float) -> Entry:
    termination = spec["termination"]
    entry = Entry(
        spec["key"],
        spec["log"],
        now,
        spec["memory"] or 0,
        termination[0] if termination else "",
        whole_log=spec.get("whole_log", False),
    )
    entry.spec = spec
    if spec.get("separate_streams"):
        entry.separate()
    return entry
