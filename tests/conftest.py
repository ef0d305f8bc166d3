"""What holds for every test."""

from __future__ import annotations

import functools
import gc
import os
import signal
import sys
from collections.abc import Generator

import pytest
from hypothesis import HealthCheck, settings

from longshore.apiserver.api import ApiParts
from longshore.up import startup
from longshore.up.options import SHORTCUTS_VARIABLE
from support import left_behind
from support.left_behind import pytest_runtest_call, pytest_sessionfinish  # noqa: F401 - hooks of all tests
from support.quick_tests import (  # noqa: F401 - hooks and a fixture of all tests
    processes_are_forbidden,
    pytest_addoption,
    pytest_ignore_collect,
)
from support.skipped_tests import pytest_terminal_summary  # noqa: F401 - a hook of all tests

if os.environ.get(SHORTCUTS_VARIABLE) == "off":
    # APIs that tests build in this process have no shortcuts then, unless a test says which way it means.
    # No parameter reaches all of them, so every module gets parts with another default.
    for module in [module for module in [*sys.modules.values()] if vars(module).get("ApiParts") is ApiParts]:
        module.ApiParts = functools.partial(ApiParts, shortcuts=False)  # type: ignore[attr-defined] # of any module


settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")  # a busy machine is slow, and nothing is wrong with a property then

os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", "/var/tmp")
"""Where tests have their files: pods of level full, the default, have a /tmp of their own."""


def pytest_configure(config: pytest.Config) -> None:
    """Lets children begin with the default for SIGINT and SIGHUP, even if the tests began with both ignored.

    A script's `&` and `nohup` ignore them, and a child inherits that. A handler is not inherited: with one
    that does nothing the signals stay without effect here, and end a child when a test sends them.
    """
    left_behind.pytest_configure(config)
    for number in (signal.SIGINT, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, lambda *_: None)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Without the collector, which finds no garbage among modules and tests: 4.4 s of CPU instead of 6.2."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_finish() -> None:
    """Leaves the tests themselves, which live to the end, to no garbage collection: tests of api, machinery
    and why take 30.5 s of CPU instead of 35.5. With the thresholds of longshore itself requests of the fuzzer
    and proofs of the Job controller take 40 s instead of 52."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*startup.THRESHOLDS)


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Names a long text by its length: the name of a test stands in the environment of what it starts."""
    return f"{argname} of {len(val)}" if isinstance(val, (str, bytes)) and len(val) > 500 else None


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """The loop of async tests. Folders whose tests need uvloop say so."""
    return "asyncio"
