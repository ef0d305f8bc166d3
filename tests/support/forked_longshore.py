"""`python -m longshore …` as a fork of the tests, which have imported it: 0.3 s of CPU less for each start.

The process has its own directory, environment, streams, signals and exit code, and no open file of the
tests. Its command line and imported modules are those of the tests: tests of these two start Python.
"""

from __future__ import annotations

import atexit
import faulthandler
import functools
import gc
import importlib
import logging
import os
import pkgutil
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Never

import longshore
from longshore.cli.main import main

_IGNORED = DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning
"""Warnings that Python keeps to itself outside of tests."""


def popen(
    words: Sequence[str],
    *,
    env: Mapping[str, str] | None = None,
    before: Callable[[], None] | None = None,
    **more: Any,
) -> subprocess.Popen[str]:
    """Starts it; `more` is for Popen, and `before` runs in the process first."""
    _import_all()
    environment = dict(os.environ if env is None else env)
    kept = more.get("pass_fds", ())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of Python 3.12: the tests may have threads
        return subprocess.Popen(
            [sys.executable, "-m", "longshore", *words],
            preexec_fn=lambda: _be_longshore(words, environment, kept, before),
            text=True,
            **more,
        )


@functools.cache
def _import_all() -> None:
    for module in pkgutil.walk_packages(longshore.__path__, "longshore."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)


def _be_longshore(
    words: Sequence[str],
    environment: Mapping[str, str],
    kept: Sequence[int],
    before: Callable[[], None] | None,
) -> Never:
    code = 1
    try:
        _forget_the_tests(environment, kept)
        if before is not None:
            before()
        code = main(words)
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        _end(code)


def _forget_the_tests(environment: Mapping[str, str], kept: Sequence[int]) -> None:
    first = 3
    for fd in sorted(kept):
        os.closerange(first, fd)
        first = fd + 1
    os.closerange(first, resource.getrlimit(resource.RLIMIT_NOFILE)[0])
    faulthandler.disable()
    signal.set_wakeup_fd(-1)
    for number in signal.valid_signals():
        if callable(signal.getsignal(number)):
            signal.signal(number, signal.SIG_DFL)
    if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_IGN)
    os.environ.clear()
    os.environ.update(environment)
    time.tzset()
    tempfile.tempdir = None
    sys.argv = ["longshore"]
    sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w", 1)  # noqa: SIM115 - to the end
    sys.excepthook, sys.unraisablehook = sys.__excepthook__, sys.__unraisablehook__
    threading.excepthook = threading.__excepthook__
    logging.root.handlers.clear()
    logging.root.setLevel(logging.WARNING)
    warnings.resetwarnings()
    for category in _IGNORED:
        warnings.simplefilter("ignore", category)
    atexit._clear()
    gc.enable()


def _end(code: int) -> Never:
    try:
        threading._shutdown()  # type: ignore[attr-defined] # waits for threads, as Python does at its end
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(code)
