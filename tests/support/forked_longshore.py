"""`python -m longshore …` as a fork of a process that has imported it: 0.3 s of CPU less for each start.

The process has its own directory, environment, streams, signals and exit code. Its command line and imported
modules are those of the process it is a fork of: tests of these two start Python. That process has one thread
and no event loop. The tests themselves are no process to fork: libuv and OpenSSL have locks that a fork takes
over, perhaps held, and cannot open.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import gc
import importlib
import os
import pickle
import pkgutil
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Never

import msgspec

from support import left_behind

_ENDING = threading.Lock()  # held by the thread that takes an exit code


class _Start(msgspec.Struct):
    """One longshore to be started. Its streams and the pipe for its exit code come beside it."""

    words: Sequence[str]
    env: Mapping[str, str]
    cwd: str
    before: Callable[[], object] | None
    interrupts: bool
    """Whether SIGINT interrupts it, or is ignored."""


def popen(
    words: Sequence[str],
    *,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    before: Callable[[], object] | None = None,
    **streams: Any,
) -> subprocess.Popen[str]:
    """Starts it; `before` runs in the process first, and can be pickled."""
    interrupts = signal.getsignal(signal.SIGINT) is not signal.SIG_IGN
    environment = dict(os.environ if env is None else env)
    start = _Start([*words], environment, str(cwd or Path.cwd()), before, interrupts)
    return _Fork(start, text=True, **streams)


class _Fork(subprocess.Popen[str]):
    """A process that another one started: that one sends its exit code."""

    _exit_fd: int

    # The names and the order are those of `subprocess`, which has no public place for another way to start.
    def _execute_child(
        self,
        args: _Start,
        executable: object,
        preexec_fn: object,
        close_fds: object,
        pass_fds: object,
        cwd: object,
        env: object,
        startupinfo: object,
        creationflags: object,
        shell: object,
        p2cread: int,
        p2cwrite: int,
        c2pread: int,
        c2pwrite: int,
        errread: int,
        errwrite: int,
        *more: object,
    ) -> None:
        self.args = ["longshore", *args.words]
        streams = [given if given >= 0 else own for own, given in enumerate((p2cread, c2pwrite, errwrite))]
        self._exit_fd, theirs = os.pipe()
        self.pid = _server().start(args, [*streams, theirs])
        os.close(theirs)
        self._child_created = True
        self._close_pipe_fds(p2cread, p2cwrite, c2pread, c2pwrite, errread, errwrite)  # type: ignore[attr-defined] # private

    def _internal_poll(self, *more: object, **named: object) -> int | None:
        return self._ended(0)

    def _wait(self, timeout: float | None) -> int:
        code = self._ended(timeout)
        if code is None:
            assert timeout is not None
            raise subprocess.TimeoutExpired(self.args, timeout)
        return code

    def _ended(self, timeout: float | None) -> int | None:
        if self.returncode is None:
            exits = select.poll()
            exits.register(self._exit_fd, select.POLLIN)
            if exits.poll(None if timeout is None else 1000 * timeout):
                self._take_exit()
        return self.returncode

    def _take_exit(self) -> None:
        with _ENDING:
            if self.returncode is None:  # of several threads that wait the first takes it
                said = os.read(self._exit_fd, 16)
                os.close(self._exit_fd)
                assert said, "the process that forks has ended"
                self.returncode = int(said)


class _Server:
    """The process that forks, seen from the tests."""

    def __init__(self) -> None:
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        atexit.register(self._socket.close)
        self._lock = threading.Lock()
        mark = os.environ.get(left_behind.VARIABLE, "")
        places = [str(Path(__file__).parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])]
        code = f"from support.forked_longshore import _serve; _serve({theirs.fileno()})"
        with theirs:
            subprocess.Popen(
                [sys.executable, "-c", code],
                # Not the mark of the test that happens to be the first: the process outlives it.
                env={
                    **os.environ,
                    left_behind.VARIABLE: mark.partition(".")[0] + ".",
                    "PYTHONPATH": os.pathsep.join(places),
                },
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
            ).returncode = 0  # it ends with the tests, which need not wait for it

    def start(self, start: _Start, fds: Sequence[int]) -> int:
        with self._lock:
            socket.send_fds(self._socket, [pickle.dumps(start)], fds)
            answer = self._socket.recv(16)
        assert answer, "the process that forks has ended"
        return int(answer)


_server = functools.cache(_Server)


def _serve(number: int) -> None:
    """Forks as the tests ask, until they end."""
    _import_all()
    woken, wakes = socket.socketpair()
    woken.setblocking(False)
    wakes.setblocking(False)
    signal.set_wakeup_fd(wakes.fileno())
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    exits: dict[int, int] = {}
    with socket.socket(fileno=number) as tests:
        while True:
            ready = select.select([tests, woken], [], [])[0]
            if woken in ready:
                woken.recv(4096)
                _tell_exits(exits)
            if tests not in ready:
                continue
            said, fds, _, _ = socket.recv_fds(tests, 1 << 20, 4)
            if not said:
                return
            pid = os.fork()
            if pid == 0:
                _be_longshore(pickle.loads(said), fds)
            exits[pid] = fds.pop()
            for fd in fds:
                os.close(fd)
            tests.send(str(pid).encode())


def _import_all() -> None:
    import longshore
    from longshore import late_modules

    for module in pkgutil.walk_packages(longshore.__path__, "longshore."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    for name in late_modules.LATE:
        getattr(sys.modules[name], "any_name", None)  # loads it
    gc.collect()
    gc.freeze()  # so that forks share this memory


def _tell_exits(exits: dict[int, int]) -> None:
    while exits:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if not pid:
            return
        if (fd := exits.pop(pid, None)) is not None:
            with contextlib.suppress(BrokenPipeError):
                os.write(fd, str(os.waitstatus_to_exitcode(status)).encode())
            os.close(fd)


def _be_longshore(start: _Start, fds: Sequence[int]) -> Never:
    code = 1
    try:
        for number, fd in enumerate(fds[:3]):
            os.dup2(fd, number)
        os.closerange(3, os.sysconf("SC_OPEN_MAX"))
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        if start.interrupts:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        os.environ.clear()
        os.environ.update(start.env)
        os.chdir(start.cwd)
        time.tzset()
        tempfile.tempdir = None
        sys.argv = ["longshore"]
        sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w", 1)  # noqa: SIM115 - to the end
        if start.before is not None:
            start.before()
        from longshore.cli.main import main

        code = main(start.words)
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        _end(code)


def _end(code: int) -> Never:
    try:
        threading._shutdown()  # type: ignore[attr-defined] # waits for threads, as Python does at its end
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(code)
