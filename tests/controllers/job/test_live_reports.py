"""What the controller tells of itself: metrics by upstream's names, and why it did what it did."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from controllers.job.job_stage import JOBS, NS, Stage, play, refused

PREFIX = "job_controller_"


def test_metrics_have_upstreams_names_and_labels() -> None:
    async def scene(stage: Stage) -> None:
        rule = {"action": "Count", "onExitCodes": {"operator": "In", "values": [3]}}
        per_index: dict[str, Any] = {"completionMode": "Indexed", "backoffLimitPerIndex": 0}
        await stage.job(completions=2, parallelism=2, podFailurePolicy={"rules": [rule]}, **per_index)
        one, other = await stage.until_live(2)
        await stage.end(one, "Succeeded")
        await stage.until_status(succeeded=1)
        await stage.end(other, "Failed", exit=3)
        await stage.until_condition("Failed")
        await stage.quiet()
        text = stage.registry.text().decode()
        for line in (
            'jobs_finished_total{completion_mode="Indexed",reason="FailedIndexes",result="failed"} 1.0',
            'job_pods_finished_total{completion_mode="Indexed",result="succeeded"} 1.0',
            'job_pods_finished_total{completion_mode="Indexed",result="failed"} 1.0',
            'job_finished_indexes_total{backoffLimit="perIndex",status="succeeded"} 1.0',
            'job_finished_indexes_total{backoffLimit="perIndex",status="failed"} 1.0',
            'pod_failures_handled_by_failure_policy_total{action="Count"} 1.0',
            'terminated_pods_tracking_finalizer_total{event="add"} 2.0',
            'terminated_pods_tracking_finalizer_total{event="delete"} 2.0',
            'job_pods_creation_total{reason="new",status="succeeded"} 2.0',
        ):
            assert PREFIX + line in text, line
        started = 'job_syncs_total{action="pods_created",completion_mode="Indexed",result="success"} '
        assert PREFIX + started in text
        assert PREFIX + "job_sync_duration_seconds_bucket" in text
        assert 'workqueue_adds_total{name="job"}' in text
        assert 'workqueue_depth{name="job_orphan_pod"}' in text

    play(scene)


def test_replacements_are_counted_by_what_they_replace() -> None:
    async def scene(stage: Stage) -> None:
        await stage.job(completions=1, parallelism=1, podReplacementPolicy="Failed")
        (pod,) = await stage.until_live(1)
        await stage.end(pod, "Failed", ago=3600)
        await stage.until_status(failed=1, active=1)
        counter = stage.registry.counter(PREFIX + "job_pods_creation_total", "", ("reason", "status"))
        assert counter.value("new", "succeeded") == 1
        assert counter.value("recreate_failed", "succeeded") == 1

    play(scene)


def test_why_is_remembered_in_words() -> None:
    async def scene(stage: Stage) -> None:
        await stage.job(backoffLimit=1)
        (pod,) = await stage.until_live(1)
        await stage.end(pod, "Failed")
        (pod,) = await stage.until_live(1)
        await stage.end(pod, "Failed")
        await stage.until_condition("Failed")
        told = [words for entry in stage.explanations.of("ns", "j") for words in map(str, entry.why)]
        assert told[0] == "creates 1 pod"
        assert any(words.startswith("1 pod failed in a row: no new pod before") for words in told)
        assert "Failed BackoffLimitExceeded" in told
        assert stage.explanations.of("ns", "other") == ()

    play(scene)


def test_a_problem_is_remembered_with_the_plan_it_spoiled() -> None:
    async def scene(stage: Stage) -> None:
        def trouble(what: str, ask: object) -> None:
            if what == "create pods":
                raise refused()

        stage.theirs.trouble = trouble
        await stage.job()
        await stage.quiet(10)
        entry = stage.explanations.of("ns", "j")[-1]
        assert [*map(str, entry.why)] == ["creates 1 pod"]
        assert entry.problem == "made to fail with 500"
        assert entry.times > 1

    play(scene)


def test_the_log_tells_a_jobs_life(caplog: pytest.LogCaptureFixture) -> None:
    """Events, and with them pods that come and go, at INFO; each sync with its duration at DEBUG."""

    async def scene(stage: Stage) -> None:
        await stage.job()
        (pod,) = await stage.until_live(1)
        await stage.client.patch(JOBS, "j", {"spec": {"suspend": True}}, NS)
        await stage.until_condition("Suspended")
        await stage.quiet()
        told = {(record.levelname, record.getMessage()) for record in caplog.records}
        name = pod["metadata"]["name"]
        assert ("INFO", f"event: Job ns/j: Normal SuccessfulCreate: Created pod: {name}") in told
        assert ("INFO", f"event: Job ns/j: Normal SuccessfulDelete: Deleted pod: {name}") in told
        assert ("INFO", "event: Job ns/j: Normal Suspended: Job suspended") in told
        assert ("DEBUG", "job: ns/j: synced in 0.000 s") in told

    with caplog.at_level(logging.DEBUG):
        play(scene)
