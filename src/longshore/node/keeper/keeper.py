"""The keeper's day: starts what it is asked to, once; writes down what ends; tells those who listen.

Everything happens in one loop. Requests that arrive together are served together: one line-up of intents in
the journal, the starts, one line-up of starts, one answer.
"""

from __future__ import annotations

import functools
import os
import signal
import socket
import time
from collections.abc import Callable

from longshore.node.keeper import (
    adoption,
    killing,
    launching,
    limits,
    output,
    processes,
    sampling,
    sessions,
    wire,
)
from longshore.node.keeper.book import Book
from longshore.node.keeper.connection import Connection
from longshore.node.keeper.entry import Entry
from longshore.node.keeper.loop import Loop
from longshore.node.keeper.namespaces import Namespaces
from longshore.node.keeper.refusing import Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from longshore.node.keeper.wire import Message, Spec

_IDLE = 10.0  # seconds with nothing running and nobody connected, after which it leaves
_TOGETHER = 8  # starts with one write to the journal; if it dies meanwhile, so many are lost at most
_SWEEP = 0.25  # seconds after an end until those who left its session are looked for
_FORGET = 15.0  # seconds between looks at namespaces that nobody uses
_TELL_AGAIN = 1.0  # seconds until the journal of a full disk is tried again
_LOOK = 0.1  # seconds until memory is looked at for the first time
_KILL_AGAIN = 0.05  # seconds; until they are all gone
_ASK_AGAIN = 0.02  # seconds; an adopted process' exit code is known when its own parent has reaped it
_ASK_TIMES = 25
_NO_CODE = "its exit code is not known: the keeper that started it was killed"


class Keeper:
    def __init__(
        self, directory: str, server: socket.socket, namespaces: Namespaces, *, idle: float = _IDLE
    ) -> None:
        self._idle = idle
        self._loop = Loop()
        self._book = Book(os.path.join(directory, "journal"))
        self._running: dict[int, Entry] = {}
        self._others: dict[int, Callable[[int], None]] = {}
        self._connections: set[Connection] = set()
        self._ended: list[Entry] = []
        self._stopping: list[tuple[Connection, int]] = []
        self._leaving = False
        self._idle_since = 0.0
        self._server = server
        self._namespaces = namespaces
        self._limiter = limits.choose()
        self._loop.on_signal(signal.SIGCHLD, self._reap)
        self._loop.on_signal(signal.SIGTERM, self._terminated)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        server.setblocking(False)
        self._loop.add(server.fileno(), self._accept)

    def recover(self) -> None:
        """Takes over from an earlier keeper."""
        self._book.load()
        open_ones = [e for e in self._book.entries.values() if e.phase in ("intent", "running")]
        same_boot = self._book.same_boot
        alive, gone = adoption.survivors(open_ones) if same_boot else ([], open_ones)
        self._book.compact()
        if gone:
            why = "it ended while no keeper was there" if same_boot else "the machine was restarted"
            self._book.lost(gone, why)
        if alive:
            self._book.started(alive)
        self._namespaces.messages.clean({entry.message_file for entry in alive})
        for entry in alive:
            self._running[entry.pid] = entry
            self._loop.add(entry.pidfd, functools.partial(self._adopted_ended, entry, 0))
            self._limiter.started(entry)
            if entry.memory:
                self._loop.at("limits", _LOOK, self._look)
            entry.pipe = adoption.reopen_output(entry)
            if entry.pipe >= 0:
                self._listen(entry)

    def run(self) -> None:
        self._rest()
        self._loop.run()
        self._namespaces.close()

    # Peers

    def _accept(self, mask: int) -> None:
        try:
            sock, _ = self._server.accept()
        except OSError:
            return
        self._connections.add(Connection(self._loop, sock, self._handle, self._hung_up))

    def _hung_up(self, connection: Connection) -> None:
        self._connections.discard(connection)
        for fd in connection.descriptors:
            os.close(fd)
        self._stopping = [(peer, number) for peer, number in self._stopping if peer is not connection]
        self._rest()

    def _rest(self) -> None:
        """Leaves when there has been nothing to do and nobody to do it for."""
        self._idle_since = time.monotonic()
        if self._is_idle():
            self._loop.at("idle", 0.0 if self._leaving else self._idle, self._leave_if_idle)

    def _is_idle(self) -> bool:
        return not self._connections and not self._running and not self._ended

    def _leave_if_idle(self) -> None:
        if not self._is_idle():
            return
        left = self._idle_since + self._idle - time.monotonic()
        if left <= 0 or self._leaving:
            self._loop.stop()
        else:
            self._loop.at("idle", left, self._leave_if_idle)

    def _handle(self, connection: Connection, messages: list[Message]) -> None:
        answers: list[bytes] = []
        starts: dict[str, tuple[int, Spec]] = {}
        for op, number, payload in messages:
            if starts and (op != "start" or payload["key"] in starts or len(starts) == _TOGETHER):
                self._start(list(starts.values()), answers)
                starts = {}
            if op == "start":
                starts[payload["key"]] = (number, payload)
                continue
            try:
                answer = self._answer(connection, op, number, payload)
            except (Refused, OSError) as problem:
                answers.append(_refusal(number, problem))
                continue
            if answer is not _LATER:
                answers.append(wire.pack(("ok", number, answer)))
        if starts:
            self._start(list(starts.values()), answers)
        connection.send(b"".join(answers))

    def _answer(self, connection: Connection, op: str, number: int, payload: Any) -> Any:
        match op:
            case "hello":
                connection.subscribed = True
                states = [entry.state() for entry in self._book.entries.values()]
                return {"version": wire.VERSION, "pid": os.getpid(), "states": states}
            case "signal":
                return self._signal(*payload)
            case "exec":
                key, *request = payload
                entry = self._live(key)
                sessions.execute(
                    connection, number, entry, request, self._namespaces, self._limiter, self._others
                )
                return None
            case "attach":
                sessions.attach(connection, number, self._live(payload))
                return _LATER
            case "close_input":
                entry = self._live(payload)
                if entry.spec is not None and entry.spec["stdin_once"]:
                    sessions.close_input(entry)
                return None
            case "usage":
                return self._usage(payload)
            case "features":
                return {
                    "problem": self._namespaces.problem,
                    "limits": self._limiter.name,
                    "notes": self._limiter.notes,
                }
            case "remove":
                return self._book.remove(payload)
            case "stop":
                self._leaving = True
                self._stopping.append((connection, number))
                self._kill(list(self._running.values()))
                self._all_stopped()
                return _LATER
        raise Refused("RunContainerError", f"the keeper does not know {op!r}")

    def _live(self, key: str) -> Entry:
        entry = self._book.entries.get(key)
        if entry is None or entry.phase != "running":
            raise Refused("RunContainerError", "the container is not running")
        return entry

    def _usage(self, keys: list[str]) -> list[tuple[str, float, int]]:
        snapshot = processes.Snapshot()
        found = []
        for key in keys:
            entry = self._book.entries.get(key)
            if entry is not None and entry.phase == "running":
                used = self._limiter.usage(entry, snapshot) or sampling.measure(entry, snapshot)
                found.append((key, *used))
        return found

    # Starting

    def _start(self, requests: list[tuple[int, Spec]], answers: list[bytes]) -> None:
        now = time.time()
        new: list[tuple[int, Entry]] = []
        for number, spec in requests:
            known = self._book.entries.get(spec["key"])
            if known is not None:
                answers.append(wire.pack(("ok", number, known.state())))
                continue
            entry = _entry(spec, now)
            new.append((number, entry))
        try:
            self._book.intend([entry for _, entry in new])
        except OSError as problem:
            answers += [_refusal(number, problem) for number, _ in new]
            return
        begun: list[tuple[int, Entry]] = []
        for number, entry in new:
            try:
                self._launch(entry)
            except (Refused, OSError) as problem:
                answers.append(_refusal(number, problem))
                self._book.not_started(entry)
                continue
            begun.append((number, entry))
        self._book.started([entry for _, entry in begun])
        for number, entry in begun:
            answers.append(wire.pack(("ok", number, entry.state())))

    def _launch(self, entry: Entry) -> None:
        launching.container(entry, self._namespaces, self._limiter)
        if self._namespaces.keeps_some:
            self._loop.at("namespaces", _FORGET, self._forget_namespaces)
        entry.phase = "running"
        self._running[entry.pid] = entry
        self._listen(entry)
        if entry.memory:
            self._loop.at("limits", _LOOK, self._look)

    def _look(self) -> None:
        again = self._limiter.look(list(self._running.values()))
        if again:
            self._loop.at("limits", again, self._look)

    def _forget_namespaces(self) -> None:
        if self._namespaces.forget_unused():
            self._loop.at("namespaces", _FORGET, self._forget_namespaces)

    def _listen(self, entry: Entry) -> None:
        def ready(mask: int) -> None:
            data = output.read(entry)
            if data:
                output.take(entry, data)
            elif data is not None:
                self._mute(entry)

        self._loop.add(entry.pipe, ready)

    def _mute(self, entry: Entry) -> None:
        if entry.pipe >= 0:
            self._loop.remove(entry.pipe)
            os.close(entry.pipe)
            entry.pipe = entry.master = -1

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
            if entry is not None:
                self._over(entry, status)
            elif pid in self._others:
                self._others.pop(pid)(status)
        self._tell()

    def _over(self, entry: Entry, status: int | None) -> None:
        """The first process has ended: so has the container, as with a pid namespace."""
        del self._running[entry.pid]
        entry.finished_at = time.time()
        if status is None:
            entry.phase, entry.message = "lost", _NO_CODE
        else:
            entry.phase = "exited"
            if os.WIFSIGNALED(status):
                entry.signal = os.WTERMSIG(status)
            entry.code = launching.exit_code(status)
            killed = self._limiter.ended(entry) and entry.code == 128 + signal.SIGKILL
            entry.reason = "OOMKilled" if killed else "Error" if entry.code else "Completed"
        finished = True
        if entry.pipe >= 0:
            finished = output.drain(entry)
            self._mute(entry)
        entry.log.close()
        self._namespaces.release(entry)
        sessions.close_input(entry)
        for watcher in entry.watchers:
            watcher(entry.code)
        for pid in entry.execs:
            killing.group(pid, signal.SIGKILL)
        entry.watchers = []
        entry.listeners = []
        entry.spec = None
        if entry.cgroup or entry.memory:
            self._loop.at("limits", _LOOK, self._look)
        self._ended.append(entry)
        self._loop.at("sweep", _SWEEP if finished else 0.0, self._sweep)

    def _adopted_ended(self, entry: Entry, asked: int, mask: int = 0) -> None:
        status = adoption.exit_status(entry)
        if asked == 0:
            self._loop.remove(entry.pidfd)
            killing.group(entry.pid, signal.SIGKILL)
        if status is None and asked < _ASK_TIMES:
            again = functools.partial(self._adopted_ended, entry, asked + 1)
            self._loop.at(f"ask {entry.key}", _ASK_AGAIN, again)
            return
        os.close(entry.pidfd)
        entry.pidfd = -1
        self._over(entry, status)
        killing.tagged({entry.key})
        self._tell()

    def _tell(self) -> None:
        if not self._ended:
            return
        ended, self._ended = self._ended, []
        try:
            self._book.ended(ended)
        except OSError:
            self._ended = ended  # nobody is told what could be forgotten
            self._loop.at("tell", _TELL_AGAIN, self._tell)
            return
        message = wire.pack(("ended", 0, [entry.state() for entry in ended]))
        for connection in list(self._connections):
            if connection.subscribed:
                connection.send(message)
        if not self._running:
            self._all_stopped()
            self._rest()

    def _sweep(self) -> None:
        """Ends those who left an ended container's session and group: they are our children now."""
        mine = {*self._running, *self._others}
        killing.orphans(mine, {entry.key for entry in self._running.values()})

    # Signals

    def _signal(self, key: str, number: int) -> None:
        entry = self._book.entries.get(key)
        if entry is None or entry.phase != "running":
            return
        if number == signal.SIGKILL:
            self._kill([entry])
        else:
            killing.group(entry.pid, number)

    def _kill(self, entries: list[Entry]) -> None:
        if entries:
            killing.containers(entries, {*self._running, *self._others})
            again = functools.partial(self._kill_again, entries)
            self._loop.at(f"kill {entries[0].key}", _KILL_AGAIN, again)

    def _kill_again(self, entries: list[Entry]) -> None:
        self._kill([entry for entry in entries if entry.phase == "running"])

    def _all_stopped(self) -> None:
        if self._running:
            return
        if self._stopping:
            self._sweep()
        for connection, number in self._stopping:
            connection.send(wire.pack(("ok", number, None)))
        self._stopping = []

    def _terminated(self) -> None:
        """SIGTERM: the machine or the service is stopped, and nothing may be left behind."""
        self._leaving = True
        for connection in list(self._connections):
            connection.close()
        self._kill(list(self._running.values()))
        self._rest()


def _refusal(number: int, problem: Refused | OSError) -> bytes:
    if isinstance(problem, Refused):
        return wire.pack(("refused", number, (problem.reason, problem.message)))
    return wire.pack(("refused", number, ("CreateContainerError", f"the keeper: {problem}")))


def _entry(spec: Spec, now: float) -> Entry:
    termination = spec["termination"]
    entry = Entry(spec["key"], spec["log"], now, spec["memory"] or 0, termination[0] if termination else "")
    entry.spec = spec
    return entry


_LATER = object()
