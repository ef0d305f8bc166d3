"""Starts one command, by the quickest of three ways that will do (bench/keeper.py). `posix_spawn` starts a
plain command in 0.16 ms, because the keeper is not copied. `fork` takes 0.42 ms; it is for commands that need
another user, fewer rights or a cgroup before their first instruction. The fork server takes 0.6 ms; it is for
commands that need rights or namespaces that the keeper does not have. `Starter` chooses.

The keeper changes its working directory and namespaces around a spawn, and changes them back.
"""

from __future__ import annotations

import errno
import os
import re
import signal
import time
from collections.abc import Callable, Sequence

from longshore.node.keeper import container_output, linux, procfs
from longshore.node.keeper.container_records import ContainerRecord
from longshore.node.keeper.frames import Refused
from longshore.node.keeper.walls import rights, users

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

    from longshore.node.keeper.frames import Spec
    from longshore.node.keeper.walls.limits import Limiter
    from longshore.node.keeper.walls.namespaces import Namespaces
    from longshore.node.keeper.walls.pod_namespaces import PodNamespaces
    from longshore.node.keeper.walls.rights import Rights
    from longshore.node.keeper.walls.users import Identity

    Step = Callable[[], None]
    Command = tuple[list[str], dict[str, str], str, int, int, int, str]
    """Arguments, variables, working directory, stdin (negative for nothing to read), stdout, stderr, and the
    path of a terminal or nothing."""
    ForkRequest = tuple[Command, list[int], Rights, Identity | None, bool]
    """The command, the kinds of the namespaces to enter, the rights to keep, the user to become, and whether
    there is a cgroup to join."""


RESET = [signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT, signal.SIGHUP, signal.SIGTERM]
"""Signals the keeper treats in its own way; a container begins with the default."""


def container(
    entry: ContainerRecord,
    namespaces: Namespaces,
    limiter: Limiter,
    starter: Starter,
    target: ContainerRecord | None,
    pod: PodNamespaces | None,
) -> None:
    """Starts the container and fills in its pid and start. `target` is a container whose namespaces it joins,
    `pod` the shared namespaces of its pod. Raises Refused, and leaves nothing behind."""
    spec = entry.spec
    assert spec is not None
    identity = users.identity(spec)
    given, stdin, write, error = _streams(entry, spec)
    try:
        cgroup = limiter.prepare(entry)
        if cgroup >= 0:
            given.append(cgroup)
        namespaces.enter(entry, spec, target, pod)
        try:
            tty = ""
            if spec["tty"]:
                entry.pipe, tty = container_output.open_terminal(entry, identity)
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


def _streams(entry: ContainerRecord, spec: Spec) -> tuple[list[int], int, int, int]:
    """Opens the container's streams. Returns the descriptors to close after the start; input, output and
    error output. A terminal is opened later, in the container's namespaces."""
    if spec["tty"]:
        return [], -1, -1, -1
    entry.pipe, write, entry.pipe_inode = container_output.open_pipe()
    given, error = [write], write
    if entry.error_log is not None:
        entry.error_pipe, error, entry.error_inode = container_output.open_pipe()
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
    """Changes into the working directory. Raises Refused."""
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
    """Starts the command in a session of its own. A session leader without a controlling terminal opens the
    terminal, so that becomes the controlling one."""
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
    """Forks, runs `before` in the child, and executes the command. `before` may raise Refused or OSError."""
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
    """Runs in the forked child: executes the command, or writes to `tell` why it cannot. Never returns."""
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


_PID = re.compile(rb"\0(\d+)\0")


class Starter:
    """Starts processes in the namespaces that the keeper is in (namespaces.py)."""

    def __init__(self, namespaces: Namespaces) -> None:
        self._namespaces = namespaces
        self._worn: Rights = rights.EVERYTHING

    def start(self, command: Command, wanted: Rights, identity: Identity | None, cgroup: int) -> int:
        """Returns the pid. Raises Refused or OSError. `cgroup` is the open cgroup.procs to join, or -1."""
        if not self._namespaces.can_spawn or not rights.fits(wanted, self._worn):
            return self._fork_elsewhere(command, wanted, identity, cgroup)
        if wanted != self._worn and rights.is_usual(wanted):
            rights.shrink(wanted, self._worn)
            self._worn = wanted
        if identity is None and cgroup < 0 and wanted == self._worn:
            return spawn(command)
        worn = self._worn

        def before() -> None:
            if cgroup >= 0:
                os.write(cgroup, b"0")
            if wanted != worn:
                rights.shrink(wanted, worn)
            if identity is not None:
                users.become(identity)

        return fork(before, command)

    def _fork_elsewhere(
        self, command: Command, wanted: Rights, identity: Identity | None, cgroup: int
    ) -> int:
        fork_server = self._namespaces.fork_server
        assert fork_server is not None  # without one the keeper gave up no rights
        *_, stdin, output, error, tty = command
        streams = [] if tty else [output, error, *([stdin] if stdin >= 0 else [])]
        kinds, opened = self._namespaces.here()
        told, tell = os.pipe2(os.O_CLOEXEC)
        try:
            limits = [cgroup] if cgroup >= 0 else []
            request = (command, kinds, wanted, identity, bool(limits))
            fork_server.fork_container(request, [tell, *streams, *limits, *opened])
        finally:
            _close([tell, *opened])
        with os.fdopen(told, "rb") as pipe:
            said = pipe.read()
        found = _PID.search(said)
        problem = _PID.sub(b"", said)
        pid = int(found[1]) if found else 0
        if not problem and pid:
            return pid
        if pid:
            os.waitpid(pid, 0)
        reason, _, message = problem.decode(errors="replace").partition("\n")
        raise Refused(reason or "RunContainerError", message or "the fork server could not fork")


def _close(descriptors: Sequence[int]) -> None:
    for fd in descriptors:
        os.close(fd)


def exec_container(request: ForkRequest, descriptors: list[int]) -> None:
    """Executes a request in a child of the fork server. The descriptors: the pipe for errors; output, error
    output and input, if the command has them; cgroup.procs, if it has limits; namespaces."""
    command, kinds, kept, identity, is_limited = request
    argv, env, cwd, stdin, output, error, tty = command
    tell, *given = descriptors
    if not tty:
        output, error = given.pop(0), given.pop(0)
        stdin = given.pop(0) if stdin >= 0 else -1
    cgroup = given.pop(0) if is_limited else -1
    for fd, kind in zip(given, kinds, strict=True):
        linux.setns(fd, kind)
    pid = linux.clone(linux.SIBLING) if linux.NEWPID in kinds else os.getpid()
    if pid:
        os.write(tell, b"\0%d\0" % pid)
    if pid and linux.NEWPID in kinds:
        os._exit(0)  # the new process is in the namespace

    def before() -> None:
        if is_limited:
            os.write(cgroup, b"0")
        rights.shrink(kept)
        if identity is not None:
            users.become(identity)

    become(tell, before, (argv, env, cwd, stdin, output, error, tty))
