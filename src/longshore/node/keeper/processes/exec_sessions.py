"""Commands run beside a container (exec), and its own streams seen live (attach).

Each has a connection of its own to the keeper. The bytes of an exec do not pass through the keeper: its peer
made the pipes and handed the far ends over, or gets the near end of a terminal. An attached peer gets the
near end of the container's input, and copies of its output. A peer that goes away ends its exec, not the
container.
"""

from __future__ import annotations

import functools
import os
import signal
from collections.abc import Callable

from longshore.node.keeper.processes import killing, launching, procfs
from longshore.node.keeper.processes.procfs import Snapshot
from longshore.node.keeper.records.entry import Entry
from longshore.node.keeper.talking import frames
from longshore.node.keeper.talking.peer import Connection
from longshore.node.keeper.talking.refused import Refused
from longshore.node.keeper.walls import rights, terminals, users
from longshore.node.keeper.walls.namespaces import Namespaces

TYPE_CHECKING = False
if TYPE_CHECKING:
    from longshore.node.keeper.processes.starter import Starter
    from longshore.node.keeper.walls.limits import Limiter
    from longshore.node.keeper.walls.rights import Rights
    from longshore.node.keeper.walls.users import Identity

_OF_ANOTHER = (
    "an earlier keeper started the container, and without root this one cannot enter it: "
    "each keeper of an ordinary user has a user namespace of its own"
)
_BACKLOG = 1 << 20  # bytes that an attached peer may leave unread; more is not shown to it


def execute(
    connection: Connection,
    number: int,
    entry: Entry,
    request: tuple[list[str], bool, bool],
    namespaces: Namespaces,
    limiter: Limiter,
    starter: Starter,
    others: dict[int, Callable[[int], None]],
) -> None:
    """Runs a command where the container lives, and answers. The request is the command, whether it gets a
    terminal, and whether there is an input."""
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
                near, tty = terminals.open_for(entry, identity)
                descriptors.append(near)
            pid = starter.start((argv, env, cwd, stdin, out, err, tty), kept, identity, cgroup)
        except ValueError as problem:  # a null byte, which is nobody's fault but the command's
            raise launching.cannot_run(f"exec: {problem}") from None
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


def _ended(connection: Connection, number: int, entry: Entry, pid: int, status: int) -> None:
    entry.execs.discard(pid)
    connection.on_close = None
    connection.send(frames.pack(("exit", number, launching.exit_code(status))))


def _kill(pid: int) -> None:
    killing.group(pid, signal.SIGKILL)
    for member in Snapshot().members(pid):
        killing.one(member)


def _circumstances(entry: Entry) -> tuple[dict[str, str], str, Identity | None, Rights]:
    """Environment, working directory, user and rights: as it was started with, or as /proc has them if
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


def attach(connection: Connection, number: int, entry: Entry) -> None:
    """Shows the output from now on, and hands over the input if it has one."""

    def show(data: bytes) -> None:
        if connection.backlog < _BACKLOG:
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


def close_input(entry: Entry) -> None:
    if entry.stdin >= 0:
        os.close(entry.stdin)
        entry.stdin = -1
