"""Starts one command. A plain one is started by `posix_spawn`: the keeper is not copied, which is what makes
a container cost a tenth of a millisecond. One that needs more before its first instruction (another user,
fewer rights, a cgroup) is forked, at three times that. starter.py chooses.

What the keeper itself changes around a spawn (working directory, namespaces) it changes back.
"""

from __future__ import annotations

import errno
import os
import signal
import time
from collections.abc import Callable

from longshore.node.keeper.processes import output, procfs
from longshore.node.keeper.records.entry import Entry
from longshore.node.keeper.talking.refused import Refused
from longshore.node.keeper.walls import rights, terminals, users

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

    from longshore.node.keeper.processes.starter import Starter
    from longshore.node.keeper.talking.frames import Spec
    from longshore.node.keeper.walls.limits import Limiter
    from longshore.node.keeper.walls.namespaces import Namespaces

    Step = Callable[[], None]
    Command = tuple[list[str], dict[str, str], str, int, int, int, str]
    """Arguments, variables, working directory, stdin (negative for nothing to read), stdout, stderr, and the
    path of a terminal or nothing."""

RESET = [signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT, signal.SIGHUP, signal.SIGTERM]
"""Signals the keeper treats in its own way; a container begins with the default."""


def container(
    entry: Entry, namespaces: Namespaces, limiter: Limiter, starter: Starter, beside: Entry | None = None
) -> None:
    """Starts the container and fills in its pid and start. `beside` is a container whose surroundings it is
    to share. Raises Refused, and leaves nothing behind."""
    spec = entry.spec
    assert spec is not None
    identity = users.identity(spec)
    given, stdin, write, error = _streams(entry, spec)
    try:
        cgroup = limiter.prepare(entry)
        if cgroup >= 0:
            given.append(cgroup)
        namespaces.enter(entry, spec, beside)
        try:
            tty = ""
            if spec["tty"]:
                entry.pipe, tty = terminals.open_for(entry, identity)
                entry.master = entry.pipe
            command = (spec["argv"], spec["env"], spec["cwd"] or "/", stdin, write, error, tty)
            entry.pid = starter.start(command, rights.of_spec(spec), identity, cgroup)
        finally:
            namespaces.leave()
    except BaseException as problem:
        for fd in {entry.pipe, entry.error_pipe, entry.stdin, entry.master} - {-1}:
            os.close(fd)
        entry.pipe = entry.error_pipe = entry.stdin = entry.master = -1
        limiter.ended(entry)
        namespaces.release(entry)
        if isinstance(problem, OSError | ValueError):  # a null byte is no OSError
            raise cannot_run(f"preparing the container: {problem}") from None
        raise
    finally:
        for fd in given:
            os.close(fd)
    entry.started_at = time.time()
    entry.ticks = int(time.clock_gettime(time.CLOCK_BOOTTIME) * procfs.TICKS)
    limiter.started(entry)


def _streams(entry: Entry, spec: Spec) -> tuple[list[int], int, int, int]:
    """The container's ends of its streams, to close after the start; input, output, error output. A terminal
    is opened later, where the container lives."""
    if spec["tty"]:
        return [], -1, -1, -1
    entry.pipe, write, entry.pipe_inode = output.open_pipe()
    given, error = [write], write
    if entry.error_log is not None:
        entry.error_pipe, error, entry.error_inode = output.open_pipe()
        given.append(error)
    if not spec["stdin"]:
        return given, -1, write, error
    read, entry.stdin = os.pipe2(os.O_CLOEXEC)
    os.set_blocking(entry.stdin, False)
    return [*given, read], read, write, error


def exit_code(status: int) -> int:
    """The exit code as a shell counts it."""
    return 128 + os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


def cannot_run(message: str) -> Refused:
    return Refused("RunContainerError", message)


def enter(directory: str) -> None:
    """Into the working directory."""
    try:
        os.chdir(directory)
    except OSError as error:
        raise cannot_run(f'chdir to cwd ("{directory}") failed: {_said(error)}') from None


def find(command: str, search: str) -> str:
    """The file to execute, by the container's own PATH."""
    if "/" in command:
        return command
    denied = False
    for directory in search.split(":"):
        path = f"{directory or '.'}/{command}"
        if os.access(path, os.X_OK) and not os.path.isdir(path):
            return path
        denied = denied or os.path.isfile(path)
    if denied:
        raise cannot_run(f'exec: "{command}": permission denied')
    raise cannot_run(f'exec: "{command}": executable file not found in $PATH')


def spawn(command: Command) -> int:
    """Starts it in a session of its own. A terminal becomes the controlling one, because a session leader
    without one opens it."""
    argv, env, cwd, stdin, output, error, tty = command
    actions: list[tuple[object, ...]]
    if tty:
        actions = [
            (os.POSIX_SPAWN_OPEN, 0, tty, os.O_RDWR, 0),
            (os.POSIX_SPAWN_DUP2, 0, 1),
            (os.POSIX_SPAWN_DUP2, 0, 2),
        ]
    else:
        actions = [(os.POSIX_SPAWN_DUP2, output, 1), (os.POSIX_SPAWN_DUP2, error, 2)]
        if stdin >= 0:
            actions.append((os.POSIX_SPAWN_DUP2, stdin, 0))
    try:
        if cwd != "/":
            enter(cwd)
        path = find(argv[0], env.get("PATH", os.defpath))
        try:
            return os.posix_spawn(
                path, argv, env, file_actions=actions, setsid=True, setsigmask=(), setsigdef=RESET
            )
        except OSError as problem:
            raise _exec_failed(path, argv[0], problem) from None
        except ValueError as problem:
            raise cannot_run(f'exec: "{argv[0]}": {problem}') from None
    finally:
        if cwd != "/":
            os.chdir("/")


def fork(before: Step, command: Command) -> int:
    """Starts it after `before` ran in the child, which may raise Refused or OSError."""
    told, tell = os.pipe2(os.O_CLOEXEC)
    pid = os.fork()
    if pid == 0:
        become(tell, before, command)
    os.close(tell)
    try:
        with os.fdopen(told, "rb") as pipe:
            problem = pipe.read()
    except OSError:
        problem = b""
    if problem:
        os.waitpid(pid, 0)
        reason, _, message = problem.decode(errors="replace").partition("\n")
        raise Refused(reason, message)
    return pid


def become(tell: int, before: Step, command: Command) -> NoReturn:
    """The forked half: it executes the command or says why not, and never returns into the keeper's loop."""
    argv, env, cwd, stdin, output, error, tty = command
    problem = Refused("RunContainerError", "the container's process could not be prepared")
    try:
        signal.set_wakeup_fd(-1)
        for number in (*RESET, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        os.setsid()
        if tty:
            terminal = os.open(tty, os.O_RDWR)
            stdin = output = error = terminal
        if stdin >= 0:
            os.dup2(stdin, 0)
        os.dup2(output, 1)
        os.dup2(error, 2)
        before()
        enter(cwd)
        path = find(argv[0], env.get("PATH", os.defpath))
        try:
            os.execve(path, argv, env)
        except OSError as failed:
            problem = _exec_failed(path, argv[0], failed)
    except Refused as refused:
        problem = refused
    except BaseException as unexpected:
        problem = cannot_run(f"preparing the container's process: {unexpected}")
    finally:
        os.write(tell, f"{problem.reason}\n{problem.message}".encode(errors="replace")[:4096])
        os._exit(127)


def _exec_failed(path: str, command: str, error: OSError) -> Refused:
    if error.errno == errno.ENOENT and not os.path.exists(path):
        return cannot_run(f'exec: "{command}": stat {path}: no such file or directory')
    if os.path.isdir(path):
        return cannot_run(f'exec: "{command}": is a directory')
    if error.errno == errno.ENOENT:
        return cannot_run(f'exec: "{command}": its interpreter was not found: no such file or directory')
    if error.errno == errno.ENOEXEC:
        return cannot_run(f"exec {path}: exec format error")
    if error.errno == errno.E2BIG:
        return cannot_run(f'exec: "{command}": argument list too long')
    return cannot_run(f'exec: "{command}": {_said(error)}')


def _said(error: OSError) -> str:
    return os.strerror(error.errno or 0).lower()
