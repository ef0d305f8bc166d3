"""Counters, gauges and histograms, as Prometheus reads them."""

from __future__ import annotations

import pytest

from longshore.api.metrics import Registry, exponential_buckets
from longshore.api.time.backoff import Doubling
from longshore.machinery.queues.queue_metrics import QueueMetrics
from longshore.machinery.queues.workqueue import WorkQueue
from machinery.manual_clock import ManualClock


def test_metrics_are_shown_in_prometheus_format() -> None:
    registry = Registry()
    finished = registry.counter("job_controller_jobs_finished_total", "Finished Jobs.", ("result", "reason"))
    finished.inc("succeeded", "CompletionsReached")
    finished.inc("succeeded", "CompletionsReached", by=2)
    finished.inc("failed", "DeadlineExceeded")
    took = registry.histogram("sync_seconds", "How long.", ("action",), (0.1, 1.0))
    for seconds in (0.05, 0.1, 0.5, 7):
        took.observe(seconds, "tracking")
    registry.gauge("leader_election_master_status", "Leading?", ("name",)).set(1, "controllers")
    cached = registry.gauge("cached", "Objects.", ("kind",))
    cached.ask(lambda: 3.0, "pods")
    cached.set(2, "jobs")
    text = registry.text().decode()
    for line in (
        '# TYPE job_controller_jobs_finished_total counter',
        'job_controller_jobs_finished_total{reason="CompletionsReached",result="succeeded"} 3.0',
        'job_controller_jobs_finished_total{reason="DeadlineExceeded",result="failed"} 1.0',
        'sync_seconds_bucket{action="tracking",le="0.1"} 2.0',
        'sync_seconds_bucket{action="tracking",le="1"} 3.0',
        'sync_seconds_bucket{action="tracking",le="+Inf"} 4.0',
        'sync_seconds_count{action="tracking"} 4.0',
        'sync_seconds_sum{action="tracking"} 7.65',
        'leader_election_master_status{name="controllers"} 1.0',
        'cached{kind="pods"} 3.0',
        'cached{kind="jobs"} 2.0',
    ):  # fmt: skip
        assert line in text
    assert finished.value("succeeded", "CompletionsReached") == 3
    assert finished.value("never", "seen") == 0
    assert took.count("tracking") == 4
    assert took.count("never") == 0
    assert (cached.value("pods"), cached.value("jobs"), cached.value("never")) == (3, 2, 0)


def test_a_name_stands_for_one_metric() -> None:
    registry = Registry()
    one = registry.counter("a_total", "A.")
    assert registry.counter("a_total", "A.") is one
    with pytest.raises(ValueError, match="metric 'a_total' is a Counter already"):
        registry.gauge("a_total", "A.")


def test_buckets_grow_by_a_factor() -> None:
    assert exponential_buckets(0.004, 2, 4) == (0.004, 0.008, 0.016, 0.032)


def test_a_queue_tells_its_depth_and_durations_under_client_go_s_names() -> None:
    clock, registry = ManualClock(), Registry()
    queue: WorkQueue[str] = WorkQueue(
        clock, pauses=Doubling(1, 1000), gauges=QueueMetrics(registry, "job", clock)
    )
    queue.add("a")
    queue.add("b")
    queue.add("b")
    clock.advance(2)
    with pytest.raises(StopIteration):
        queue.get().send(None)
    clock.advance(3)
    for name in ("unfinished_work", "longest_running_processor"):
        assert f'workqueue_{name}_seconds{{name="job"}} 3.0' in registry.text().decode()
    queue.add_rate_limited("a")
    queue.done("a")
    text = registry.text().decode()
    for line in (
        'workqueue_adds_total{name="job"} 2.0',
        'workqueue_depth{name="job"} 1.0',
        'workqueue_unfinished_work_seconds{name="job"} 0.0',
        'workqueue_retries_total{name="job"} 1.0',
        'workqueue_queue_duration_seconds_sum{name="job"} 2.0',
        'workqueue_work_duration_seconds_sum{name="job"} 3.0',
        'workqueue_work_duration_seconds_bucket{le="10",name="job"} 1.0',
        'workqueue_work_duration_seconds_bucket{le="1e-08",name="job"} 0.0',
    ):
        assert line in text
