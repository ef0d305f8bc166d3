"""The pytest plugin: fixtures `longshore`, `longshore_module`, `longshore_session`, and their marker.

    @pytest.mark.longshore(clock="real")
    def test_report(longshore):
        ...

pytest loads this module in every run (entry point `pytest11`), so it imports nothing of longshore until a
test asks for a cluster: unused it costs less than 5 ms (bench/testing.py). To a failing test it adds a
section about its clusters: objects, events, why, requests, and how to repeat the run.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from longshore.testing import Cluster

_MARKER = (
    "longshore(clock, node, controllers, volcano, strict, start, patience, seed): options of the fixtures; "
    'clock="virtual" (stands still until the test moves it) or "real", node="scripted", "process" or "none"'
)
_FIXTURES = ("longshore", "longshore_module", "longshore_session")


def pytest_configure(config: pytest.Config) -> None:
    """Makes the marker known."""
    config.addinivalue_line("markers", _MARKER)


@pytest.fixture
def longshore(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """A Kubernetes of the test's own: real API and controllers, pods on script, time that the test moves."""
    cluster = _cluster(request).start()
    try:
        yield cluster
    finally:
        cluster.close()


@pytest.fixture(scope="module")
def longshore_module(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """One Kubernetes for all tests of a module; options by `pytestmark`."""
    with _cluster(request) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def longshore_session(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """One Kubernetes for all tests of a run, or of an xdist worker."""
    with _cluster(request) as cluster:
        yield cluster


def _cluster(request: pytest.FixtureRequest) -> Cluster:
    from longshore.testing import Cluster

    marker = request.node.get_closest_marker("longshore")
    options = marker.kwargs if marker else {}
    try:
        if odd := options.keys() - (known := [*inspect.signature(Cluster).parameters]):
            raise ValueError(f"there is no option {min(odd)!r}; there are: {', '.join(known)}")
        return Cluster(*(marker.args if marker else ()), **options)
    except (TypeError, ValueError) as err:
        raise pytest.UsageError(f"@pytest.mark.longshore of {request.node.nodeid}: {err}") from None


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Refuses a marker without effect: the test's fixture is shared with other tests and does not read it."""
    wanted = [name for name in _FIXTURES if name in getattr(item, "fixturenames", ())]
    if "longshore" in wanted or not wanted:
        return
    for node, _ in item.iter_markers_with_node("longshore"):
        if "longshore_module" in wanted and not isinstance(node, pytest.Function | pytest.Class):
            continue
        place = (
            "the module's pytestmark"
            if wanted == ["longshore_module"]
            else "a fixture of your own with Cluster(…)"
        )
        raise pytest.UsageError(
            f"@pytest.mark.longshore of {item.nodeid}: {wanted[0]} is shared with other tests, so the marker "
            f"would not count; take the fixture longshore, or {place}"
        )


@pytest.hookimpl(trylast=True)
def pytest_runtest_call(item: pytest.Item) -> None:
    """Fails a test whose script raised an error, or a strict test with a script, answer or fault that matched
    nothing.
    """
    cluster = getattr(item, "funcargs", {}).get("longshore")
    if cluster is not None and _is_ours(cluster):
        cluster.check_test()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, None]:
    """Adds the clusters of a failed test to its report, and ends the traceback at the test's own call."""
    clusters = [getattr(item, "funcargs", {}).get(name) for name in _FIXTURES]
    if call.excinfo is not None and any(each is not None and _is_ours(each) for each in clusters):
        _hide_ours(call.excinfo)
    outcome = yield
    report: pytest.TestReport = outcome.get_result()
    if report.when != "call" or not report.failed:
        return
    for name in _FIXTURES:
        cluster = getattr(item, "funcargs", {}).get(name)
        if cluster is not None and _is_ours(cluster):
            report.sections.append((f"{name} fixture", _summary(cluster, call)))


def _hide_ours(excinfo: pytest.ExceptionInfo[BaseException]) -> None:
    """Makes pytest hide the frames of longshore, by setting `__tracebackhide__` in its modules."""
    package = str(Path(__file__).parent) + os.sep
    for entry in excinfo.traceback:
        if str(entry.path).startswith(package):
            entry.frame.f_globals["__tracebackhide__"] = True


def _is_ours(cluster: object) -> bool:
    """Whether longshore made the fixture: a test suite may define another one of the same name."""
    from longshore.testing import Cluster

    return isinstance(cluster, Cluster)


def _summary(cluster: Cluster, call: pytest.CallInfo[None]) -> str:
    try:
        return cluster.summary(call.excinfo.value if call.excinfo is not None else None)
    except Exception as err:  # the test's own failure is what counts
        return f"nothing can be told of the cluster: {err!r}"
