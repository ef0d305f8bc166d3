"""The controller's notes are annotations, which whoever may edit the Job can write. Nonsense is no note."""

from __future__ import annotations

import pytest

from controllers.volcano.job.job_views import a_job
from longshore.api.types import Obj
from longshore.controllers.volcano.job.waking import intents
from longshore.controllers.volcano.job.waking.delays import Delayed
from longshore.controllers.volcano.job.waking.job_requests import JobRequest

NEITHER = ["", "null", "5", '"x"', "{", "[1]", "[[]]", "[" * 100_000]


def noted(key: str, text: str) -> Obj:
    job: Obj = a_job()
    job["metadata"]["annotations"] = {key: text}
    return job


@pytest.mark.parametrize(
    "text",
    [
        *NEITHER,
        "{}",
        '{"action":["x"],"request":{},"phase":"","version":0,"retries":0}',
        '{"action":"AbortJob","request":[],"phase":"","version":0,"retries":0}',
        '{"action":"AbortJob","request":{"command":["c"]},"phase":"","version":0,"retries":0}',
        '{"action":"RestartTask","request":{"task":{}},"phase":"","version":0,"retries":0}',
    ],
)
def test_an_action_that_cannot_be_read_was_not_begun(text: str) -> None:
    assert intents.read(noted(intents.ACTION, text)) is None


@pytest.mark.parametrize(
    "text",
    [
        *NEITHER,
        '[{"request":{"event":"PodEvicted"},"action":"AbortJob","due":"nan"}]',
        '[{"request":{"event":"PodEvicted"},"action":"AbortJob","due":"inf"}]',
        '[{"request":{"event":"PodEvicted"},"action":"AbortJob","due":1e999}]',
        '[{"request":{"event":"PodEvicted"},"action":{},"due":1}]',
        '[{"request":{"event":"PodEvicted","version":"1"},"action":"AbortJob","due":1}]',
        '[{"request":{"pod":["p"]},"action":"AbortJob","due":1}]',
    ],
)
def test_delayed_actions_that_cannot_be_read_are_none(text: str) -> None:
    assert intents.read_later(noted(intents.LATER, text)) == []


@pytest.mark.parametrize("text", [*NEITHER, '[{"pod_uid":{}}]', '[{"uid":5}]', '[{"version":"1"}]'])
def test_leaving_pods_that_cannot_be_read_are_none(text: str) -> None:
    assert intents.read_leaving(noted(intents.LEAVING, text)) == []


@pytest.mark.parametrize(
    "request_", [JobRequest(), JobRequest(""), JobRequest("PodFailed", "u", "w", "p", "pu", "1", 3, 2)]
)
def test_what_the_controller_writes_it_reads_again(request_: JobRequest) -> None:
    intent = intents.intend(a_job(), "AbortJob", request_, None)
    assert intents.read(noted(intents.ACTION, intents.annotation(intent) or "")) == intent
    later = [Delayed(request_, "AbortJob", 1767225600.125)]
    assert intents.read_later(noted(intents.LATER, intents.later_annotation(later) or "")) == later
    leaving = intents.leaving_annotation([request_]) or ""
    assert intents.read_leaving(noted(intents.LEAVING, leaving)) == [request_]
