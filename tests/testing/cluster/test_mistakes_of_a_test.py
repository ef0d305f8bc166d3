"""A mistake in a test fails the test, with one sentence that says what there is."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from longshore.api.errors import StatusError
from longshore.testing import Chance, Cluster, Exec, Exit, WaitFailed
from testing.cluster.cluster_manifests import a_job, a_pod

Wrong = Callable[[Cluster], object]


def nobody(c: Cluster) -> Any:
    """An argument that mypy would refuse, as tests without types have it."""
    return "everybody"


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        pytest.param(
            lambda c: c.faults.conflict(on="PUT job/status"),
            "on='PUT job/status': nothing that is served here is 'job/status'; did you mean jobs/status",
            id="singular",
        ),
        pytest.param(
            lambda c: c.faults.conflict(on="PUT gears"),
            "on='PUT gears': nothing that is served here is 'gears'; name a plural, as in 'PUT jobs/status'",
            id="no such thing",
        ),
        pytest.param(
            lambda c: c.faults.slow("1s", on="PUT pods/log"),
            "on='PUT pods/log': pods/log takes no PUT, only GET",
            id="method",
        ),
        pytest.param(
            lambda c: c.faults.conflict(who=nobody(c)),
            "who: there is no 'everybody'; there are: all, clients, controllers",
            id="who",
        ),
        pytest.param(lambda c: c.faults.drop_watch(who=nobody(c)), "who: there is no 'everybody'", id="drop"),
        pytest.param(lambda c: c.faults.compact(who=nobody(c)), "who: there is no 'everybody'", id="compact"),
        pytest.param(
            lambda c: c.wait("job/report", "Completed"),
            "'Completed' is never true of a jobs.batch; known are: Complete, Failed, FailureTarget, "
            "SuccessCriteriaMet, Suspended, exists, deleted, finished, or a function",
            id="condition",
        ),
        pytest.param(
            lambda c: c.wait("cronjob/x", "Complete"),
            "'Complete' is never true of a cronjobs.batch; known are: exists, deleted, or a function",
            id="condition of a kind without any",
        ),
        pytest.param(lambda c: c.wait("job/x", 3), "3 is no condition", id="number"),  # type: ignore[arg-type]
        pytest.param(
            lambda c: c.clock.until(lambda: True, "1d"),  # type: ignore[arg-type]
            "until takes a text such as 'job/x complete', not <function",
            id="until",
        ),
        pytest.param(
            lambda c: c.clock.flowing("fast").__enter__(),  # type: ignore[arg-type]
            "speed 'fast': it must be a number of more than 0",
            id="speed",
        ),
        pytest.param(
            lambda c: c.faults.conflict(times=nobody(c)),
            "times: 'everybody' is no whole number of 0 or more",
            id="times",
        ),
        pytest.param(
            lambda c: c.answers.on("GET /x", {}, cut=nobody(c)),
            "cut: 'everybody' is no whole number of 0 or more",
            id="cut",
        ),
        pytest.param(
            lambda c: c.answers.on("GET /x", stream=nobody(c)),
            "stream: 'everybody' is no list of documents, texts or bytes",
            id="stream",
        ),
        pytest.param(
            lambda c: c.pods["p"].fail(nobody(c)),
            "code 'everybody' is no failure: it must be a number between 1 and 255",
            id="failure",
        ),
        pytest.param(
            lambda c: c.restore(nobody(c)),
            "'everybody' is no snapshot: give what snapshot() returned",
            id="snapshot",
        ),
        pytest.param(
            lambda c: Chance((nobody(c), 1)),  # type: ignore[arg-type]
            "Chance needs pairs of a weight and a run",
            id="chance",
        ),
        pytest.param(
            lambda c: Exit("1"),  # type: ignore[arg-type]
            "code '1' is no exit code: it must be a number between 0 and 255",
            id="exit code",
        ),
        pytest.param(
            lambda c: Cluster(seed="x"),  # type: ignore[arg-type]
            "seed: 'x' is no whole number",
            id="seed",
        ),
        pytest.param(
            lambda c: Cluster(volcano=False, controllers=["volcano-job"]),
            "controllers: 'volcano-job' needs Volcano's kinds, which volcano=False leaves out",
            id="volcano",
        ),
    ],
)
def test_a_mistake_gets_one_sentence_with_what_there_is(c: Cluster, wrong: Wrong, said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)):
        wrong(c)


def test_faults_strike_subresources_patterns_paths_and_kinds_of_the_users_own(c: Cluster) -> None:
    for on in (
        "PUT jobs/status",
        "POST pods/eviction",
        "GET *",
        "*",
        "GET pod*",
        "GET /version",
        "DELETE jobs",
    ):
        c.faults.slow(0, on=on)


def test_a_condition_that_another_controller_set_is_waited_for(c: Cluster) -> None:
    c.apply({**a_pod(), "spec": {**a_pod()["spec"], "readinessGates": [{"conditionType": "example.org/x"}]}})
    with pytest.raises(WaitFailed, match="has ended"):
        c.wait("pod/p", "example.org/x")


def raises(pod: Any) -> Any:
    raise LookupError(f"no run for {pod['metadata']['name']}")


def test_what_a_script_function_raises_comes_out_of_the_call_that_lets_time_pass(c: Cluster) -> None:
    c.pods.script("report", Exit(1, after="10m"), raises)
    c.apply(a_job())
    began = c.clock.now()
    with pytest.raises(LookupError, match="no run for report-") as raised:
        c.clock.advance("1d")
    assert raised.traceback[-1].name == "raises"
    assert (c.clock.now() - began).total_seconds() == 610  # no further than the mistake
    c.check_test()  # told once


def test_what_a_script_function_raises_comes_out_of_a_wait(c: Cluster) -> None:
    c.pods.script("report", Exit(1, after="10s"), raises)
    c.apply(a_job())
    with pytest.raises(LookupError):
        c.wait("job/report", "Complete")


def test_a_script_function_raises_out_of_a_wait_on_the_real_clock() -> None:
    with Cluster(clock="real", controllers=["job"]) as c:
        c.pods.script("*", raises)
        c.apply(a_job())
        with pytest.raises(LookupError):
            c.wait("job/report", "Complete", "1m")


def test_a_script_function_must_return_a_run(c: Cluster) -> None:
    def says(pod: Any) -> Any:
        return 3

    c.pods.script("p", says)
    with pytest.raises(TypeError, match=r"the script says returned 3 for pod p; return Exit\(…\)"):
        c.apply(a_pod())


def test_a_mistake_that_nobody_was_told_of_is_raised_at_the_end_of_the_block() -> None:
    def block() -> None:
        with Cluster() as c:
            c.pods.script("report", Exit(1, after="10m"), raises)
            c.apply(a_job())
            with c.clock.flowing(3600):
                while c.inside.mistake is None:
                    pass

    with pytest.raises(LookupError):
        block()


def test_what_never_met_anything_is_named_in_the_report(c: Cluster) -> None:
    c.pods.script("reprot-*", Exit(1), index=2)
    c.pods.script("report-*", Exit(0))
    c.pods.exec("db-*", Exec(output="14"), command="psql *")
    c.faults.conflict(on="PUT jobs/status", who="clients")
    c.faults.slow("1s", on="POST pods", who="controllers")
    c.apply(a_job())
    c.wait("job/report", "Complete")
    unused = [
        "the script of 'reprot-*', index=2",
        "the answer to 'psql *' of 'db-*', container='*'",
        'the fault on "PUT jobs/status" for clients',
    ]
    assert c.unused() == unused
    assert all(line in c.summary() for line in unused)


def test_a_strict_cluster_fails_the_test_for_what_never_met_anything() -> None:
    with (
        pytest.raises(AssertionError, match=r"never met anything:\nthe script of 'x'$"),
        Cluster(strict=True) as c,
    ):
        c.pods.script("x", Exit(1))
    with pytest.raises(StatusError), Cluster(strict=True) as c:  # the test's own failure counts
        c.get(f"job/{c.pods.script('x', Exit(1))}")
    with Cluster(strict=True) as c:
        c.pods.script("p", Exit(1))
        c.apply(a_pod())


def test_without_volcano_its_kinds_are_not_served() -> None:
    with Cluster(volcano=False) as c:
        with pytest.raises(ValueError, match="there is no kind 'vcjob'"):
            c.list("vcjob")
        groups = c.loop.run(c.inside.own_client.request("GET", "/apis"))
        assert b"volcano" not in groups.body
        listed = c.loop.run(c.inside.own_client.request("GET", "/apis/batch.volcano.sh/v1alpha1/jobs"))
        assert listed.code == 404
        c.apply(a_job())
        c.wait("job/report", "Complete")
        c.delete("job/report")
        c.assert_consistent()
