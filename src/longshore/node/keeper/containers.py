"""The containers of a keeper, from their start to their end.

Starts that are requested together share two writes to the journal: their intents before, and their starts
after. Ends are reported when the journal has them.
"""

from __future__ import annotations

import functools
import os
import signal
import time
from collections.abc import Callable

from longshore.node.keeper import adoption, container_exec, container_output, exec_sessions, killing, procfs
from longshore.node.keeper.container_exec import Starter
from longshore.node.keeper.container_records import ContainerRecord, ContainerRecords
from longshore.node.keeper.frames import Refused
from longshore.node.keeper.logfile import LogFile
from longshore.node.keeper.loop import Loop
from longshore.node.keeper.pods import Pods
from longshore.node.keeper.walls import limits
from longshore.node.keeper.walls.namespaces import Namespaces

TYPE_CHECKING = False
if TYPE_CHECKING:
    from longshore.node.keeper.frames import Spec
    from longshore.node.keeper.walls.limits import Limiter
    from longshore.node.keeper.walls.pid_namespace import PidNamespace

_SWEEP_SECONDS = 0.25  # seconds from an end to the search for processes that left its session
_FORGET_SECONDS = 15.0  # seconds between looks at unused namespaces
_TELL_AGAIN_SECONDS = 1.0  # seconds until the journal of a full disk is tried again
_FIRST_LOOK_SECONDS = 0.1  # seconds until memory is looked at for the first time
_KILL_AGAIN_SECONDS = 0.05  # seconds between kills, until all processes are gone
_ASK_AGAIN_SECONDS = 0.02  # seconds; an adopted process' exit code is known when its own parent has reaped it
_MAX_ASKS = 25
_NO_CODE = "its exit code is not known: the keeper that started it was killed"


_RESTARTED = "the machine was restarted"
_FOREIGN = "it runs, or ran, for the data directory that this one is a copy of"


class Containers:
    """`report` is called with the containers that have ended."""

    def __init__(
        self,
        loop: Loop,
        records: ContainerRecords,
        namespaces: Namespaces,
        limiter: Limiter,
        report: Callable[[list[ContainerRecord]], None],
    ) -> None:
        self._loop = loop
        self._records = records
        self._namespaces = namespaces
        self._limiter = limiter
        self._pods = Pods(namespaces, records)
        self.starter = Starter(namespaces)
        self._report = report
        self._running: dict[int, ContainerRecord] = {}
        self.others: dict[int, Callable[[int], None]] = {}
        """Callbacks for the ends of children that are not containers, by pid."""
        self._ended: list[ContainerRecord] = []
        self._doomed: list[ContainerRecord] = []
        self.hear_ends = loop.on_signal(signal.SIGCHLD, self._reap)
        """Reports the containers that have ended by now."""

    @property
    def busy(self) -> bool:
        """Whether a container runs, or has ended and is not in the journal yet."""
        return bool(self._running or self._ended)

    def recover(self) -> None:
        """Takes over from an earlier keeper."""
        self._records.load()
        open_ones = [e for e in self._records.entries.values() if e.phase in ("intent", "running")]
        foreign = _FOREIGN if self._records.copied else "" if self._records.same_boot else _RESTARTED
        alive, gone = ([], open_ones) if foreign else adoption.survivors(open_ones)
        self._adopt_pid_namespaces(alive, [] if foreign else gone)
        self._pods.recover(is_foreign=bool(foreign))
        self._records.compact()
        if gone:
            self._records.lost(gone, foreign or "it ended while no keeper was there")
        if alive:
            self._records.started(alive)
        self._namespaces.messages.clean({entry.message_file for entry in alive})
        for entry in alive:
            self._running[entry.pid] = entry
            self._loop.add(entry.pidfd, functools.partial(self._adopted_ended, entry, 0))
            self._limiter.started(entry)
            if entry.memory:
                self._loop.at("limits", _FIRST_LOOK_SECONDS, self._look)
            adoption.reopen_output(entry)
            self._listen(entry)

    def _adopt_pid_namespaces(self, alive: list[ContainerRecord], gone: list[ContainerRecord]) -> None:
        """Takes over the PID namespaces of running containers, and ends those of ended ones."""
        pid_namespaces = self._namespaces.pid_namespaces
        if pid_namespaces is None:
            return
        known: dict[int, PidNamespace] = {}
        for entry in (*alive, *gone):
            pid, ticks = entry.known_first
            if not pid and entry.phase == "running":
                pid, ticks = adoption.first_process(entry.pid)
            pid_namespace = known.get(pid) or (pid_namespaces.adopt(pid, ticks) if pid else None)
            if pid_namespace is not None:
                known[pid] = entry.pid_namespace = pid_namespace
                pid_namespace.users += 1
        for entry in gone:
            if entry.pid_namespace is not None:
                self._namespaces.release(entry)

    def live(self, key: str) -> ContainerRecord:
        entry = self._records.entries.get(key)
        if entry is None or entry.phase != "running":
            raise Refused("RunContainerError", "the container is not running")
        return entry

    def usage(self, keys: list[str]) -> list[tuple[str, float, int]]:
        snapshot = procfs.ProcessSnapshot()
        found = []
        for key in keys:
            entry = self._records.entries.get(key)
            if entry is not None and entry.phase == "running":
                used = self._limiter.usage(entry, snapshot) or limits.measure(entry, snapshot)
                found.append((key, *used))
        return found

    # Starting

    def start(self, specs: list[Spec]) -> list[ContainerRecord | Refused | OSError]:
        """Starts containers by key, if they were not started before. Returns each one's record or error."""
        now = time.time()
        results: dict[str, ContainerRecord | Refused | OSError] = {}
        new: list[ContainerRecord] = []
        for spec in specs:
            known = self._records.entries.get(spec["key"])
            if known is None:
                known = _entry(spec, now)
                new.append(known)
            results[spec["key"]] = known
        try:
            self._records.intend(new)
        except OSError as problem:
            results.update((entry.key, problem) for entry in new)
            return list(results.values())
        begun: list[ContainerRecord] = []
        for entry in new:
            if self._records.home and entry.spec is not None:
                entry.spec["env"][procfs.HOME] = self._records.home
            try:
                self._launch(entry)
                begun.append(entry)
            except (Refused, OSError) as problem:
                results[entry.key] = problem
                self._records.not_started(entry)
                self._pods.forget([entry.key])
        self._records.started(begun)
        if self._namespaces.keeps_some:
            self._loop.at("namespaces", _FORGET_SECONDS, self._forget_namespaces)
        return list(results.values())

    def _launch(self, entry: ContainerRecord) -> None:
        assert entry.spec is not None
        target = entry.spec.get("target")
        beside = self.live(target) if target else None
        pod = self._pods.of(entry.spec, self._running.values())
        container_exec.container(entry, self._namespaces, self._limiter, self.starter, beside, pod)
        entry.phase = "running"
        self._running[entry.pid] = entry
        self._listen(entry)
        if entry.memory:
            self._loop.at("limits", _FIRST_LOOK_SECONDS, self._look)

    def forget(self, keys: list[str]) -> None:
        """Forgets containers that do not run: the runtime has taken note of their ends."""
        self._records.remove(keys)
        self._pods.forget(keys)

    def close(self) -> None:
        """Prepares the keeper's exit. Running containers are left to the next keeper."""
        if not self._running:
            self._pods.close()
        self._namespaces.close()

    def _look(self) -> None:
        again = self._limiter.look(list(self._running.values()))
        if again:
            self._loop.at("limits", again, self._look)

    def _forget_namespaces(self) -> None:
        if self._namespaces.forget_unused():
            self._loop.at("namespaces", _FORGET_SECONDS, self._forget_namespaces)

    def _listen(self, entry: ContainerRecord) -> None:
        def ready(mask: int) -> None:
            data = container_output.read(entry.pipe)
            if data:
                container_output.take(entry, entry.log, data)
            elif data is not None:
                self._mute(entry)

        if entry.pipe >= 0:
            self._loop.add(entry.pipe, ready)
        if entry.error_log is not None and entry.error_pipe >= 0:
            self._loop.add(entry.error_pipe, functools.partial(self._error_ready, entry, entry.error_log))

    def _error_ready(self, entry: ContainerRecord, log: LogFile, mask: int) -> None:
        data = container_output.read(entry.error_pipe)
        if data:
            container_output.take(entry, log, data)
        elif data is not None:
            self._mute_error(entry)

    def _mute(self, entry: ContainerRecord) -> None:
        if entry.pipe >= 0:
            self._loop.remove(entry.pipe)
            os.close(entry.pipe)
            entry.pipe = entry.master = -1

    def _mute_error(self, entry: ContainerRecord) -> None:
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
            elif self._namespaces.fork_server is not None and pid == self._namespaces.fork_server.pid:
                self._loop.stop()  # without it not all can be started; the next keeper adopts what runs
        self._tell()

    def _over(self, entry: ContainerRecord, status: int | None) -> None:
        """Ends the container, because its first process has ended, as in a PID namespace.

        The order matters: the record is complete before it is queued for the journal, and peers get it when
        it is in the journal (`_tell`). If the keeper dies on the way, the journal says `running`, and the
        next keeper finds the process gone."""
        limited = entry.cgroup or entry.memory
        del self._running[entry.pid]
        self._note_end(entry, status)
        is_whole = self._close_output(entry)
        self._namespaces.release(entry)
        _close_sessions(entry)
        if limited:
            self._loop.at("limits", _FIRST_LOOK_SECONDS, self._look)
        self._ended.append(entry)
        self._loop.at("sweep", _SWEEP_SECONDS if is_whole else 0.0, self.sweep)

    def _note_end(self, entry: ContainerRecord, status: int | None) -> None:
        """Records when and how it ended; without a status the exit code is unknown."""
        entry.finished_at = time.time()
        if status is None:
            entry.phase, entry.message = "lost", _NO_CODE
            return
        entry.phase = "exited"
        if os.WIFSIGNALED(status):
            entry.signal = os.WTERMSIG(status)
        entry.code = container_exec.exit_code(status)
        killed = self._limiter.ended(entry) and entry.code == 128 + signal.SIGKILL
        entry.reason = "OOMKilled" if killed else "Error" if entry.code else "Completed"
        if killed:
            entry.message = limits.overuse(entry)

    def _close_output(self, entry: ContainerRecord) -> bool:
        """Logs the remaining output. False if other processes hold it open and may write more."""
        is_whole = True
        if entry.pipe >= 0:
            is_whole = container_output.drain(entry, entry.pipe, entry.log)
            self._mute(entry)
        entry.log.close()
        if entry.error_log is not None:
            if entry.error_pipe >= 0:
                is_whole = container_output.drain(entry, entry.error_pipe, entry.error_log) and is_whole
                self._mute_error(entry)
            entry.error_log.close()
        return is_whole

    def _adopted_ended(self, entry: ContainerRecord, asked: int, mask: int = 0) -> None:
        status = adoption.exit_status(entry)
        if asked == 0:
            self._loop.remove(entry.pidfd)
            killing.group(entry.pid, signal.SIGKILL)
        if status is None and asked < _MAX_ASKS:
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
            self._records.ended(ended)
        except OSError:
            self._ended = ended  # an end is not reported before it is recorded
            self._loop.at("tell", _TELL_AGAIN_SECONDS, self._tell)
            return
        self._report(ended)

    def sweep(self) -> None:
        """Kills processes that left an ended container's session: they are children of the keeper now."""
        mine = {*self._running, *self.others, *self._namespaces.own_processes}
        killing.orphans(mine, {entry.tag for entry in self._running.values()})

    # Signals

    def signal(self, key: str, number: int) -> None:
        entry = self._records.entries.get(key)
        if entry is None or entry.phase != "running":
            return
        killing.group(entry.pid, number)
        if number == signal.SIGKILL:
            self._doom([entry])

    def kill_all(self) -> None:
        self._doom(list(self._running.values()))

    def _doom(self, entries: list[ContainerRecord]) -> None:
        """Kills containers. All that are killed in one turn share one walk through /proc."""
        self._doomed += entries
        self._loop.at("kill", 0.0, self._kill)

    def _kill(self) -> None:
        self._doomed = [entry for entry in self._doomed if entry.phase == "running"]
        if self._doomed:
            ours = {*self._running, *self.others, *self._namespaces.own_processes}
            killing.containers(self._doomed, ours)
            self._loop.at("kill", _KILL_AGAIN_SECONDS, self._kill)


def _close_sessions(entry: ContainerRecord) -> None:
    """Closes the sessions of an ended container: its input, attached peers, and commands run in it."""
    exec_sessions.close_input(entry)
    for watcher in entry.watchers:
        watcher(entry.code)
    for pid in entry.execs:
        killing.group(pid, signal.SIGKILL)
    entry.watchers = []
    entry.listeners = []
    entry.spec = None


def _entry(spec: Spec, now: float) -> ContainerRecord:
    termination = spec["termination"]
    entry = ContainerRecord(
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
