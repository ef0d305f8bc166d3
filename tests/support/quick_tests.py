"""A pytest plugin: with `--quick` only tests run that start no process.

A module starts processes if its text names a way to start one, if it imports such a module of the
tests, or if a conftest.py above it does. Under `--quick` starting a process is an error, so that a way which
`_STARTING` does not know is found by the first test that takes it.
"""

from __future__ import annotations

import functools
import platform
import re
import sys
from pathlib import Path
from typing import Any, Final

import pytest

from support.places import TESTS

_STARTING: Final = re.compile(
    r"\b(?:subprocess|multiprocessing|pty|create_subprocess_exec|forkpty|os\.fork|posix_spawn|sys\.executable)\b"
    r"|\b(?:up\.running|apiserver\.large|exec_plugin|node\.runtimes\.(?:process|podman)|pytester)\b|LONGSHORE_TEST_|busybox|node=\"process\"|\"--(?:set|nodes)\""
)
_LONG: Final = re.compile(
    r"\b(?:crashing|every_write|injected_faults|FaultyClient|schemathesis|simulation|mark\.long)\b"
)
"""Proofs and properties that take many seconds: deaths at every write, bad days, random requests."""
_IMPORTING: Final = re.compile(
    r"^\s*(?:from ([\w.]+) import (\([^)]*\)|[^\n]*)|import ([\w.]+))", re.MULTILINE
)
_EVENTS: Final = frozenset(("subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.exec"))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--quick", action="store_true", help="only tests that start no process")


@pytest.fixture(autouse=True, scope="session")
def processes_are_forbidden(request: pytest.FixtureRequest) -> None:
    if request.config.getoption("quick"):
        platform.processor()  # asks uname, once
        sys.addaudithook(_forbid_processes)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    is_test = collection_path.suffix == ".py" and collection_path.is_relative_to(TESTS)
    return True if is_test and config.getoption("quick") and starts_processes(collection_path) else None


def starts_processes(test: Path) -> bool:
    conftests = (
        folder / "conftest.py" for folder in test.parents if folder != TESTS and folder.is_relative_to(TESTS)
    )
    return any(
        _STARTING.search(_text(file)) or _LONG.search(_text(file)) for file in _closure({test, *conftests})
    )


def _closure(files: set[Path]) -> set[Path]:
    """The files and the modules of the tests that they import, at any distance."""
    found, left = set(), {file for file in files if file.exists()}
    while left:
        found |= left
        left = {imported for file in left for imported in _imported(file)} - found
    return found


@functools.cache
def _imported(file: Path) -> frozenset[Path]:
    names = set[str]()
    for package, members, module in _IMPORTING.findall(_text(file)):
        names.add(package or module)
        names.update(f"{package}.{member.strip()}" for member in members.strip("()").split(",") if package)
    paths = (TESTS / (name.replace(".", "/") + ".py") for name in names)
    return frozenset(path for path in paths if path.exists())


@functools.cache
def _text(file: Path) -> str:
    return file.read_text()


def _forbid_processes(event: str, arguments: tuple[Any, ...]) -> None:
    if event in _EVENTS:
        raise AssertionError(
            f"a test of `make quick` starts a process ({event} {arguments[:2]}): see quick_tests.py"
        )
