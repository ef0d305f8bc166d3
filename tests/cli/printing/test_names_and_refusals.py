"""How people name kinds and objects, and in which words they are refused: pure."""

from __future__ import annotations

import pytest

from longshore.api.errors import StatusError
from longshore.cli.arguments import targets, waiting_times
from longshore.cli.arguments.kinds import Kind, Kinds
from longshore.cli.main import Failure
from longshore.cli.server import refusals
from longshore.cli.server.requests import Answer, _at_once, refusal
from longshore.cli.showing import outcomes
from longshore.client.credentials import Credentials, Token

LIST = ("list",)
JOB = Kind("batch", "v1", "Job", "jobs", "job", True, (), ("all",), LIST)
VCJOB = Kind("batch.volcano.sh", "v1alpha1", "Job", "jobs", "job", True, ("vcjob", "vj"), (), LIST)
POD = Kind("", "v1", "Pod", "pods", "pod", True, ("po",), ("all",), LIST)
NODE = Kind("", "v1", "Node", "nodes", "node", False, ("no",), (), LIST)
KINDS = Kinds([POD, NODE, JOB, VCJOB])


@pytest.mark.parametrize(
    ("word", "kind"),
    [
        *((word, JOB) for word in ("jobs", "job", "Job", "jobs.batch", "job.batch", "jobs.v1.batch")),
        *((word, VCJOB) for word in ("vcjob", "vj", "jobs.batch.volcano.sh", "job.batch.volcano")),
        ("po", POD),
        ("widgets", None),
        ("jobs.apps", None),
    ],
)
def test_a_kind_has_many_names(word: str, kind: Kind | None) -> None:
    assert KINDS.named(word) == kind


def names(*words: str) -> list[str]:
    return [target.text for target in targets.parse(KINDS, list(words), "ns")]


def test_objects_are_named_by_words_slashes_and_commas() -> None:
    assert names("job", "a", "b") == ["job.batch/a", "job.batch/b"]
    assert names("job/a", "po/b") == ["job.batch/a", "pod/b"]
    assert names("jobs,po") == ["job.batch/", "pod/"]
    assert names("all") == ["pod/", "job.batch/"]
    (node,) = targets.parse(KINDS, ["no/vm"], "ns")
    assert (node.namespace, node.path) == ("", "/api/v1/nodes/vm")
    (job,) = targets.parse(KINDS, ["job/a"], "ns")
    assert job.path == "/apis/batch/v1/namespaces/ns/jobs/a"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["widgets"], 'error: the server doesn\'t have a resource type "widgets"'),
        (["job/a", "b"], "there is no need to specify a resource type"),
    ],
)
def test_names_that_make_no_sense_are_refused(words: list[str], message: str) -> None:
    with pytest.raises(Failure) as refused:
        targets.parse(KINDS, words, "ns")
    assert message in str(refused.value)


def test_refusals_have_kubectls_words() -> None:
    plain = StatusError(404, "NotFound", 'jobs.batch "x" not found')
    assert refusals.text(plain) == 'Error from server (NotFound): jobs.batch "x" not found'
    assert refusals.text(StatusError(500, "", "broken"), "while: ") == "Error from server: while: broken"
    causes = [{"field": "spec.a", "message": "bad"}, {"field": "spec.b", "message": "worse"}]
    details = {"kind": "Job", "name": "x", "causes": causes}
    many = StatusError(422, "Invalid", "long", details=details)
    assert refusals.text(many) == 'The Job "x" is invalid: \n* spec.a: bad\n* spec.b: worse'
    details["causes"] = causes[:1]
    assert refusals.text(many) == 'The Job "x" is invalid: spec.a: bad'


def test_an_answer_that_is_no_status_is_still_an_error() -> None:
    assert refusal(Answer(502, b"bad gateway\n")).message == "bad gateway"
    assert refusal(Answer(503, b"")).message == "Service Unavailable"


def test_credentials_are_had_with_and_without_an_event_loop() -> None:
    class Slow(Credentials):
        async def headers(self) -> dict[str, str]:
            import asyncio

            asyncio.get_running_loop()
            await asyncio.sleep(0)
            return {"Authorization": "slow"}

    assert _at_once(Token("t")) == {"Authorization": "Bearer t"}
    assert _at_once(Slow()) == {"Authorization": "slow"}


@pytest.mark.parametrize(
    ("text", "value"), [("30s", 30), ("1h30m", 5400), ("5", 5), ("-1s", -1), ("200ms", 0.2)]
)
def test_durations_are_gos_or_plain_seconds(text: str, value: float) -> None:
    assert waiting_times.seconds(text) == value


def test_an_end_is_told_for_every_kind_that_has_one() -> None:
    failed = {"type": "Failed", "status": "True", "reason": "DeadlineExceeded", "message": "too long"}
    end = outcomes.of("batch", {"status": {"conditions": [failed]}})
    assert end is not None
    assert (end.well, end.text) == (False, "failed: DeadlineExceeded: too long")
    assert outcomes.of("batch", {"status": {"conditions": [{**failed, "status": "False"}]}}) is None
    state = {"terminated": {"exitCode": 3}}
    pod = {"status": {"phase": "Failed", "containerStatuses": [{"name": "main", "state": state}]}}
    assert outcomes.of("", pod) == outcomes.End(False, "container main ended with exit code 3")
    assert outcomes.of("batch.volcano.sh", {"status": {"state": {"phase": "Completed"}}}) == outcomes.End(
        True, "Completed"
    )
    assert outcomes.of("batch.volcano.sh", {"status": {"state": {"phase": "Running"}}}) is None
