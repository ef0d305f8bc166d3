"""A pytest plugin: a test that fails, or is interrupted, ends the processes that it started.

Processes are known by a variable of their environment, which daemons keep too. Fixtures end what is theirs;
what a test itself starts, and perhaps a child of it, has nobody else when `subprocess.run` gives up on it.
SIGTERM interrupts the tests as Ctrl-C does, so that failures so far are reported.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
from collections.abc import Generator
from pathlib import Path
from typing import Final

import pytest

VARIABLE: Final = "LONGSHORE_TEST_MARK"
_numbers = itertools.count()


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):  # workers have the mark of the process that started them
        os.environ[VARIABLE] = f"{os.getpid()}."
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None, object, object]:
    session = os.environ.get(VARIABLE, "")
    mark = os.environ[VARIABLE] = f"{session}{os.getpid()}.{next(_numbers)}."
    try:
        return (yield)
    except BaseException:
        end(mark)
        raise
    finally:
        os.environ[VARIABLE] = session


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    if exitstatus and not hasattr(session.config, "workerinput"):
        end(os.environ[VARIABLE])  # a worker that was killed could not


def end(mark: str) -> None:
    """Kills the processes whose mark begins so, and all below them, but no ancestor of this process."""
    parents, found = {}, set()
    for directory in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, IndexError):
            pid = int(directory.name)
            parents[pid] = int((directory / "stat").read_text().rpartition(")")[2].split()[1])
            if f"\0{VARIABLE}={mark}".encode() in b"\0" + (directory / "environ").read_bytes():
                found.add(pid)
    spared, above = set(), os.getpid()
    while above:
        spared.add(above)
        above = parents.get(above, 0)
    below = {pid for pid in parents if found & {*_line(pid, parents)}}
    for pid in below - spared:
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)


def _line(pid: int, parents: dict[int, int]) -> Generator[int, None, None]:
    while pid:
        yield pid
        pid = parents.get(pid, 0)
