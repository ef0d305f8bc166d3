"""The pytest plugin as its users have it: each test here runs a pytest of its own over a test file.

Without other plugins, as loading all that are installed takes longer than the tests.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

import longshore.testing  # noqa: F401 - the pytests that run in this process then need not load it each

pytest_plugins = ["pytester"]

# The pytest around them has imported the plugin already.
_TWICE = ("-W", "ignore:Module already imported:pytest.PytestAssertRewriteWarning")
PLUGIN = ("-p", "longshore.pytest_plugin", "-p", "no:cacheprovider", "-W", "error", *_TWICE)
START = """
import pytest
from longshore.testing import Cluster, Exit, Run

JOB = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "report"}, "spec": {"backoffLimit": 0,
       "template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}}}
"""


@pytest.fixture(autouse=True)
def _no_other_plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")


def run(pytester: pytest.Pytester, source: str, *arguments: str) -> pytest.RunResult:
    pytester.makepyfile(START + source)
    return pytester.runpytest_inprocess(*PLUGIN, *arguments)


def test_the_fixture_is_fresh_for_each_test_and_the_wider_ones_are_shared(pytester: pytest.Pytester) -> None:
    source = """
seen = []

@pytest.mark.parametrize("n", [1, 2])
def test_each(longshore, longshore_module, longshore_session, n):
    assert isinstance(longshore, Cluster)
    assert longshore.list("jobs") == []
    longshore.apply(JOB)
    longshore.wait("job/report", "Complete")
    seen.append((longshore.url, longshore_module.url, longshore_session.url))

def test_all():
    first, second = seen
    assert first[0] != second[0]
    assert first[1:] == second[1:]
    assert first[1] != first[2]
"""
    run(pytester, source).assert_outcomes(passed=3)


def test_the_marker_sets_options_of_a_test_and_of_a_module(pytester: pytest.Pytester) -> None:
    source = """
pytestmark = pytest.mark.longshore(seed=7, volcano=False)

def test_module(longshore_module):
    assert longshore_module.settings.seed == 7

@pytest.mark.longshore(clock="real", node="none", controllers=["job"])
def test_own(longshore):
    assert (longshore.settings.clock, longshore.settings.controllers) == ("real", ["job"])
"""
    run(pytester, source, "--strict-markers").assert_outcomes(passed=2)


def test_a_wrong_option_is_an_error_that_names_what_there_is(pytester: pytest.Pytester) -> None:
    source = """
@pytest.mark.longshore(clock="fast")
def test_wrong(longshore): ...

@pytest.mark.longshore(speed=3)
def test_unknown(longshore): ...
"""
    result = run(pytester, source)
    result.assert_outcomes(errors=2)
    result.stdout.fnmatch_lines(
        [
            "*clock: there is no 'fast'; there are: virtual, real*",
            "*there is no option 'speed'; there are: *, seed*",
        ]
    )


def test_a_marker_that_a_shared_fixture_would_not_read_is_an_error(pytester: pytest.Pytester) -> None:
    source = """
@pytest.mark.longshore(seed=3)
def test_module(longshore_module): ...

@pytest.mark.longshore(seed=3)
def test_session(longshore_session): ...

@pytest.mark.longshore(seed=3)
def test_both(longshore, longshore_module): ...
"""
    result = run(pytester, source)
    result.assert_outcomes(errors=2, passed=1)
    result.stdout.fnmatch_lines(
        [
            "*longshore_module is shared with other tests, so the marker would not count; take the fixture "
            "longshore, or the module's pytestmark",
            "*longshore_session is shared with other tests, *, or a fixture of your own with Cluster(…)",
        ]
    )


def test_a_script_that_raises_and_a_strict_test_that_used_nothing_fail(pytester: pytest.Pytester) -> None:
    source = """
def test_raises(longshore):
    longshore.pods.script("report", Exit(1, after="10m"), lambda pod: 1 / 0)
    longshore.apply(JOB | {"spec": JOB["spec"] | {"backoffLimit": 3}})
    with longshore.clock.flowing(3600):
        while longshore.inside.mistake is None:
            pass

@pytest.mark.longshore(strict=True)
def test_strict(longshore):
    longshore.pods.script("reprot", Exit(1))
"""
    result = run(pytester, source)
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(["*ZeroDivisionError*", "*the script of 'reprot'*"])


def test_a_failing_test_gets_a_section_with_the_story(pytester: pytest.Pytester) -> None:
    source = """
@pytest.mark.longshore(seed=3)
def test_fails(longshore):
    longshore.pods.script("*", Exit(3, logs="out of paper"))
    longshore.apply(JOB)
    longshore.clock.advance("1m")
    assert longshore.get("job/report")["status"].get("succeeded") == 1
"""
    result = run(pytester, source)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "*longshore fixture*",
            "*job/report: Failed (BackoffLimitExceeded*",
            "*exit code 3*",
            "*out of paper*",
            "*to repeat it: @pytest.mark.longshore(*seed=3)*",
        ]
    )


def test_a_report_ends_at_the_line_of_the_test(pytester: pytest.Pytester) -> None:
    source = """
def test_no_kind(longshore): longshore.get("jobx/z")
def test_no_job(longshore): longshore.wait("job/none", "Complete", timeout="1s")
"""
    result = run(pytester, source)
    result.assert_outcomes(failed=2)
    said = result.stdout.str()
    assert "there is no kind 'jobx'" in said
    assert "job/none is not Complete after 1 s" in said
    for file in ("held_loop.py", "cluster_for_tests.py", "object_names.py", "_base.py"):
        assert file not in said


def test_a_failed_wait_tells_the_story_once_in_the_error(pytester: pytest.Pytester) -> None:
    source = """
@pytest.mark.longshore(volcano=False)
def test_waits(longshore):
    longshore.pods.script("*", Exit(3, logs="out of paper"))
    longshore.apply(JOB)
    longshore.wait("job/report", "Complete")

def test_waits_before(longshore):
    longshore.pods.script("*", Exit(3, logs="out of ink"))
    longshore.apply(JOB)
    with pytest.raises(AssertionError):
        longshore.wait("job/report", "Complete")
    assert longshore.list("jobs") == []
"""
    result = run(pytester, source)
    result.assert_outcomes(failed=2)
    said = result.stdout.str().partition(" short test summary ")[0]  # which repeats errors where CI is set
    assert (
        said.count("out of paper") == said.count("out of ink") == 2
    )  # in the script's line, and in the story
    assert said.count("(its story is above)") == 1
    assert said.count("job/report: Failed (BackoffLimitExceeded") == 3


def test_errors_of_the_api_show_no_frame_of_longshore(pytester: pytest.Pytester) -> None:
    source = """
def broken(job): raise LookupError("in my own function")

def test_not_found(longshore): longshore.get("job/none")
def test_invalid(longshore): longshore.apply({**JOB, "spec": {"template": {}}})
def test_own(longshore):
    longshore.apply(JOB)
    longshore.wait("job/report", broken)
"""
    result = run(pytester, source)
    result.assert_outcomes(failed=3)
    said = result.stdout.str()
    assert "src/longshore" not in said
    assert "def broken(job): raise LookupError" in said
    shown = run(pytester, source, "--full-trace")
    assert "src/longshore/client/local.py" in shown.stdout.str()


def test_a_passing_test_gets_no_section(pytester: pytest.Pytester) -> None:
    result = run(pytester, "def test_passes(longshore): assert longshore.url\n", "-rA")
    result.assert_outcomes(passed=1)
    assert "longshore fixture" not in result.stdout.str()


def test_a_fixture_of_the_suites_own_by_that_name_gets_no_section(pytester: pytest.Pytester) -> None:
    source = """
@pytest.fixture
def longshore(): return "a ship"

def test_fails(longshore): assert longshore == "a boat"
"""
    result = run(pytester, source)
    result.assert_outcomes(failed=1)
    assert "longshore fixture" not in result.stdout.str()


def test_it_works_in_xdist_workers_at_once(pytester: pytest.Pytester) -> None:
    source = """
@pytest.mark.parametrize("n", range(4))
def test_each(longshore, n):
    longshore.apply(JOB)
    longshore.wait("job/report", "Complete")
"""
    pytester.makepyfile(START + source)
    result = pytester.runpytest_subprocess(*PLUGIN, "-p", "xdist.plugin", "-n", "2")
    result.assert_outcomes(passed=4)


ASYNC_TESTS = """
import asyncio
from longshore.client.config.connection import from_kubeconfig
from longshore.client.http import HttpClient

{marks}

async def test_async(longshore):
    async with HttpClient(from_kubeconfig(longshore.kubeconfig)) as client:
        await client.create(("batch/v1", "Job"), JOB, "default")
        await asyncio.to_thread(longshore.wait, "job/report", "Complete")
        assert (await client.get(("batch/v1", "Job"), "report", "default"))["status"]["succeeded"] == 1

async def test_async_with():
    async with Cluster() as c:
        assert c.list("jobs") == []
"""
ANYIO = """
pytestmark = pytest.mark.anyio

@pytest.fixture
def anyio_backend():
    return "asyncio"
"""
ASYNCIO = ("-o", "asyncio_default_fixture_loop_scope=function")  # it warns of its own default


@pytest.mark.parametrize(
    ("plugin", "marks", "arguments"),
    [
        pytest.param("anyio.pytest_plugin", ANYIO, (), id="anyio"),
        pytest.param(
            "pytest_asyncio.plugin", "pytestmark = pytest.mark.asyncio", ASYNCIO, id="asyncio strict"
        ),
        pytest.param("pytest_asyncio.plugin", "", (*ASYNCIO, "--asyncio-mode=auto"), id="asyncio auto"),
    ],
)
def test_it_works_in_async_tests_with_clients_of_the_tests_own_loop(
    pytester: pytest.Pytester, plugin: str, marks: str, arguments: tuple[str, ...]
) -> None:
    source = ASYNC_TESTS.format(marks=marks)
    run(pytester, source, "-p", plugin, *arguments).assert_outcomes(passed=2)


def test_it_works_in_unittest_and_several_at_once(pytester: pytest.Pytester) -> None:
    source = """
import unittest

class TestIt(unittest.TestCase):
    def test_two(self):
        with Cluster() as one, Cluster() as two:
            one.apply(JOB)
            assert (len(one.list("jobs")), len(two.list("jobs"))) == (1, 0)
"""
    run(pytester, source).assert_outcomes(passed=1)


def test_it_works_in_doctest(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        report='''
        def names():
            """
            >>> from longshore.testing import Cluster
            >>> with Cluster() as c:
            ...     [each["metadata"]["name"] for each in c.list("namespaces")]
            ['default', 'kube-node-lease', 'kube-public', 'kube-system']
            """
        '''
    )
    pytester.runpytest_inprocess("-p", "no:cacheprovider", "--doctest-modules").assert_outcomes(passed=1)


def test_unused_it_imports_no_room_of_longshore() -> None:
    program = (
        "import sys, pytest, longshore.pytest_plugin\n"
        "print(sorted(name for name in sys.modules if name.startswith('longshore')))"
    )
    said = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout
    assert said == "['longshore', 'longshore.late_modules', 'longshore.pytest_plugin']\n"
