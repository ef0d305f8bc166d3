"""The keeper's main loop: answers requests, reports ends, and exits when it is idle.

Everything happens in one loop. Requests that arrive together get one answer. The answer to a start waits a
moment, so that it can include the end of a very short container.
"""

from __future__ import annotations

import os
import signal
import socket
import time

from longshore.node.keeper import exec_sessions, frames
from longshore.node.keeper.container_records import ContainerRecord, ContainerRecords
from longshore.node.keeper.containers import Containers
from longshore.node.keeper.frames import Refused
from longshore.node.keeper.loop import Loop
from longshore.node.keeper.peer import Connection
from longshore.node.keeper.walls import limits
from longshore.node.keeper.walls.namespaces import Namespaces

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from longshore.node.keeper.frames import Message, Spec
    from longshore.node.keeper.peer import Late

_IDLE_SECONDS = 10.0  # seconds without containers and peers, after which the keeper exits
_ANSWER_SECONDS = 0.01  # seconds that the answer to a start waits for the end of what was started
_MAX_STARTS_PER_WRITE = 4  # so many starts are lost at most if the keeper dies before the journal has them


class Keeper:
    def __init__(self, directory: str, server: socket.socket, namespaces: Namespaces) -> None:
        self._loop = Loop()
        self._records = ContainerRecords(os.path.join(directory, "journal"))
        self._namespaces = namespaces
        self._limiter = limits.choose()
        self._containers = Containers(self._loop, self._records, namespaces, self._limiter, self._ended)
        self._connections: set[Connection] = set()
        self._owner: Connection | None = None
        """The connection of a longshore whose containers are killed when it closes."""
        self._stopping: list[tuple[Connection, int]] = []
        self._leaving = False
        self._idle_since = 0.0
        self._server = server
        self._loop.on_signal(signal.SIGTERM, self._terminated)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        server.setblocking(False)
        self._loop.add(server.fileno(), self._accept)

    def recover(self) -> None:
        """Takes over from an earlier keeper."""
        self._containers.recover()

    def run(self) -> None:
        self._rest()
        self._loop.run()
        self._containers.close()

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
        if connection is self._owner and not self._leaving:
            self._end_all()
        self._rest()

    def _rest(self) -> None:
        """Exits after some seconds without containers and peers."""
        self._idle_since = time.monotonic()
        if self._is_idle():
            self._loop.at("idle", 0.0 if self._leaving else _IDLE_SECONDS, self._leave_if_idle)

    def _is_idle(self) -> bool:
        return not self._connections and not self._containers.busy

    def _leave_if_idle(self) -> None:
        if not self._is_idle():
            return
        left = self._idle_since + _IDLE_SECONDS - time.monotonic()
        if left <= 0 or self._leaving:
            self._loop.stop()
        else:
            self._loop.at("idle", left, self._leave_if_idle)

    def _handle(self, connection: Connection, messages: list[Message]) -> None:
        answers: list[bytes] = []
        starts: dict[str, tuple[int, Spec]] = {}
        for op, number, payload in messages:
            if starts and (op != "start" or payload["key"] in starts or len(starts) == _MAX_STARTS_PER_WRITE):
                answers += self._start(connection, starts)
                starts = {}
                self._containers.hear_ends()  # longshore handles these ends while other containers start
                if connection.is_closed:
                    return  # no peer waits for the other starts
            if op == "start":
                starts[payload["key"]] = (number, payload)
                continue
            try:
                answer = self._answer(connection, op, number, payload)
            except (Refused, OSError) as problem:
                answers.append(_refusal(number, problem))
                continue
            if answer is not _LATER:
                answers.append(frames.pack(("ok", number, answer)))
        if starts:
            answers += self._start(connection, starts)
        connection.send(b"".join(answers))

    def _answer(self, connection: Connection, op: str, number: int, payload: Any) -> Any:
        match op:
            case "hello":
                connection.subscribed = True
                if payload and payload["owned"]:
                    self._owner = connection
                states = [entry.state() for entry in self._records.entries.values()]
                return {
                    "version": frames.VERSION,
                    "pid": os.getpid(),
                    "states": states,
                    "copied": self._records.copied,
                }
            case "signal":
                return self._containers.signal(*payload)
            case "exec":
                key, *request = payload
                entry = self._containers.live(key)
                exec_sessions.execute(
                    connection,
                    number,
                    entry,
                    request,
                    self._namespaces,
                    self._limiter,
                    self._containers.starter,
                    self._containers.others,
                )
                return _LATER
            case "attach":
                exec_sessions.attach(connection, number, self._containers.live(payload))
                return _LATER
            case "close_input":
                entry = self._containers.live(payload)
                if entry.spec is not None and entry.spec["stdin_once"]:
                    exec_sessions.close_input(entry)
                return None
            case "usage":
                return self._containers.usage(payload)
            case "features":
                return {
                    "problem": self._namespaces.problem,
                    "walls_problem": self._namespaces.walls_problem,
                    "full_problem": self._namespaces.full_problem,
                    "limits": self._limiter.name,
                    "notes": self._limiter.notes,
                }
            case "remove":
                return self._containers.forget(payload)
            case "stop":
                self._leaving = True
                self._stopping.append((connection, number))
                self._containers.kill_all()
                self._all_stopped()
                return _LATER
        raise Refused("RunContainerError", f"the keeper does not know {op!r}")

    def _start(self, connection: Connection, requests: dict[str, tuple[int, Spec]]) -> list[bytes]:
        """Starts containers. Returns the answers to send now; answers about running ones wait a moment."""
        results = self._containers.start([spec for _, spec in requests.values()])
        answers, due = [], time.monotonic() + _ANSWER_SECONDS
        for (number, _), result in zip(requests.values(), results, strict=True):
            if not isinstance(result, ContainerRecord):
                answers.append(_refusal(number, result))
            elif result.phase == "running":
                connection.late.append((due, number, result.state()))
                self._loop.at("answers", _ANSWER_SECONDS, self._answer_late)
            else:
                answers.append(frames.pack(("ok", number, result.state())))
        return answers

    def _answer_late(self) -> None:
        now = time.monotonic()
        for connection in list(self._connections):
            waiting = [each for each in connection.late if each[0] > now]
            told = connection.late[: len(connection.late) - len(waiting)]
            connection.late = waiting
            connection.send(_answers(told))
            if waiting:
                self._loop.at("answers", waiting[0][0] - now, self._answer_late)

    def _ended(self, ended: list[ContainerRecord]) -> None:
        keys = {entry.key for entry in ended}
        message = frames.pack(("ended", 0, [entry.state() for entry in ended]))
        for connection in list(self._connections):
            told = [each for each in connection.late if each[2][0] in keys]
            if told:
                connection.late = [each for each in connection.late if each[2][0] not in keys]
            connection.send(_answers(told) + (message if connection.subscribed else b""))
        if not self._containers.busy:
            self._all_stopped()
            self._rest()

    def _all_stopped(self) -> None:
        if self._containers.busy:
            return
        if self._stopping:
            self._containers.sweep()
        for connection, number in self._stopping:
            connection.send(frames.pack(("ok", number, None)))
        self._stopping = []

    def _terminated(self) -> None:
        """Handles SIGTERM: kills all containers, because the machine or the service is being stopped."""
        self._end_all()
        self._rest()

    def _end_all(self) -> None:
        self._leaving = True
        for connection in list(self._connections):
            connection.close()
        self._containers.kill_all()


def _answers(late: list[Late]) -> bytes:
    return b"".join([frames.pack(("ok", number, state)) for _, number, state in late])


def _refusal(number: int, problem: Refused | OSError) -> bytes:
    if isinstance(problem, Refused):
        return frames.pack(("refused", number, (problem.reason, problem.message)))
    return frames.pack(("refused", number, ("CreateContainerError", f"the keeper: {problem}")))


_LATER = object()
