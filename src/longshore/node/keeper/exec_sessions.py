"""Runs commands in a container (exec), and connects peers to its own streams (attach).

Each session has its own connection to the keeper. The bytes of an exec do not pass through the keeper: its
peer creates the pipes and sends their far ends, or gets the near end of a terminal. An attached peer gets the
near end of the container's input, and copies of its output. A peer that disconnects ends its exec, not the
container.
"""

from __future__ import annotations

import functools
import os
import signal
from collections.abc import Callable

from longshore.node.keeper import container_exec, container_output, frames, killing, procfs
from longshore.node.keeper.container_records import ContainerRecord
from longshore.node.keeper.frames import Refused
from longshore.node.keeper.peer import Connection
from longshore.node.keeper.procfs import ProcessSnapshot
from longshore.node.keeper.walls import rights, users
from longshore.node.keeper.walls.namespaces import Namespaces

TYPE_CHECKING = False
if TYPE_CHECKING:
    from longshore.node.keeper.container_exec import Starter
    from longshore.node.keeper.walls.limits import Limiter
    from longshore.node.keeper.walls.rights import Rights
    from longshore.node.keeper.walls.users import Identity

_OF_ANOTHER = (
    "an earlier keeper started the container, and without root this one cannot enter it: "
    "each keeper of an ordinary user has a user namespace of its own"
)
_MAX_BACKLOG_BYTES = 1 << 20  # bytes that an attached peer may leave unread; more output is dropped


def execute(
    connection: Connection,
    number: int,
    entry: ContainerRecord,
    request: tuple[list[str], bool, bool],
    namespaces: Namespaces,
    limiter: Limiter,
    starter: Starter,
    others: dict[int, Callable[[int], None]],
) -> None:
    """Runs a command in the container's namespaces, and answers. The request is the command, whether it gets
    a terminal, and whether there is an input."""
    argv, has_terminal, has_input = request
    descriptors, connection.descriptors = connection.descriptors, []
    stdin, out, err, tty, near = -1, -1, -1, "", -1
    if not has_terminal:
        stdin = descriptors[0] if has_input else -1
        out, err = descriptors[-2:]
    try:
        try:
            env, cwd, identity, kept = _circumstances(entry)
        except PermissionError:
            raise Refused("RunContainerError", _OF_ANOTHER) from None
        cgroup = limiter.join(entry)
        if cgroup >= 0:
            descriptors.append(cgroup)
        namespaces.enter_of(entry.pid)
        try:
            if has_terminal:
                env["TERM"] = env.get("TERM", "xterm")
                near, tty = container_output.open_terminal(entry, identity)
                descriptors.append(near)
            pid = starter.start((argv, env, cwd, stdin, out, err, tty), kept, identity, cgroup)
        except ValueError as problem:  # a null byte in the command
            raise container_exec.cannot_run(f"exec: {problem}") from None
        finally:
            namespaces.leave()
        entry.execs.add(pid)
        others[pid] = functools.partial(_ended, connection, number, entry, pid)
        connection.on_close = functools.partial(_kill, pid)
        answer = frames.pack(("ok", number, None))
        if has_terminal:
            connection.send_descriptors(answer, [near])
        else:
            connection.send(answer)
    finally:
        for fd in descriptors:
            os.close(fd)


def _ended(connection: Connection, number: int, entry: ContainerRecord, pid: int, status: int) -> None:
    entry.execs.discard(pid)
    connection.on_close = None
    connection.send(frames.pack(("exit", number, container_exec.exit_code(status))))


def _kill(pid: int) -> None:
    killing.group(pid, signal.SIGKILL)
    for member in ProcessSnapshot().members(pid):
        killing.one(member)


def _circumstances(entry: ContainerRecord) -> tuple[dict[str, str], str, Identity | None, Rights]:
    """The container's environment, working directory, user and rights: from its spec, or from /proc if
    another keeper started it."""
    spec = entry.spec
    if spec is not None:
        return dict(spec["env"]), spec["cwd"] or "/", users.identity(spec), rights.of_spec(spec)
    env = {}
    for item in procfs.read(f"/proc/{entry.pid}/environ").split(b"\0"):
        name, equals, value = item.partition(b"=")
        if equals:
            env[os.fsdecode(name)] = os.fsdecode(value)
    cwd = os.readlink(f"/proc/{entry.pid}/cwd")
    return env, cwd, users.of_process(entry.pid), rights.of_process(entry.pid)


def attach(connection: Connection, number: int, entry: ContainerRecord) -> None:
    """Sends the container's output from now on, and the descriptor of its input if it has one."""

    def show(data: bytes) -> None:
        if connection.backlog < _MAX_BACKLOG_BYTES:
            connection.send(frames.pack(("out", number, data)))

    def over(code: int) -> None:
        connection.on_close = None
        connection.send(frames.pack(("exit", number, code)))

    def left() -> None:
        entry.listeners.remove(show)
        entry.watchers.remove(over)
        spec = entry.spec
        if spec is not None and spec["stdin_once"]:
            close_input(entry)

    entry.listeners.append(show)
    entry.watchers.append(over)
    connection.on_close = left
    near = [fd for fd in (entry.master, entry.stdin) if fd >= 0][:1]
    answer = frames.pack(("ok", number, {"tty": entry.master >= 0, "stdin": bool(near)}))
    if near:
        connection.send_descriptors(answer, near)
    else:
        connection.send(answer)


def close_input(entry: ContainerRecord) -> None:
    if entry.stdin >= 0:
        os.close(entry.stdin)
        entry.stdin = -1
