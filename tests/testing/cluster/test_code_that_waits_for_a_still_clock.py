"""A test never hangs without a word: time-outs of clients are real, and a wait for a still clock is told."""

from __future__ import annotations

import time
from typing import Any

import pytest
from kubernetes import client as k8s
from kubernetes import watch as k8s_watch

from longshore.testing import Cluster, still_time
from testing.cluster.cluster_manifests import a_job, a_pod


def core(c: Cluster) -> Any:
    connection = c.client("kubernetes")
    connection.rest_client.pool_manager.connection_pool_kw["retries"] = False
    return k8s.CoreV1Api(connection)


def watched(c: Cluster, **options: Any) -> list[Any]:
    api = core(c)
    try:
        return [*k8s_watch.Watch().stream(api.list_namespaced_pod, "default", **options)]
    finally:
        api.api_client.close()


def test_a_watch_with_a_timeout_ends_in_real_time_while_the_clock_stands_still(c: Cluster) -> None:
    c.apply(a_pod())
    before, began = c.clock.now(), time.monotonic()
    assert watched(c, timeout_seconds=1)
    assert 1 <= time.monotonic() - began < 20
    assert c.clock.now() == before


def test_a_watch_with_a_timeout_ends_no_earlier_while_time_flows_fast(c: Cluster) -> None:
    began = time.monotonic()
    with c.clock.flowing(600):
        watched(c, timeout_seconds=1)
    assert time.monotonic() - began >= 1


def test_a_version_that_never_comes_is_refused_in_real_time(c: Cluster) -> None:
    with pytest.raises(k8s.ApiException, match="Too large resource version"):
        core(c).list_namespaced_pod(
            "default", resource_version="999999", resource_version_match="NotOlderThan"
        )


def test_a_watch_on_a_still_clock_is_told_and_then_ends_with_the_reason(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(still_time, "NOTICE_SECONDS", 1.0)
    with Cluster(patience="2s") as c:
        said = (
            rf"time stands still at {c.clock.now().isoformat()[:13]}.*; your code waits in "
            r"GET /api/v1/namespaces/default/pods\?watch since 2 s: advance the clock, or use clock.flowing"
        )
        with pytest.raises(k8s.ApiException, match=said.replace("+", r"\+")) as ended:
            watched(c)
        assert ended.value.status == 504
        line = capfd.readouterr().err
        assert line.startswith("longshore: time stands still at ")
        assert line.count("\n") == 1
        assert line.strip().removeprefix("longshore: ") in c.summary()


def test_an_answer_that_waits_for_a_still_clock_is_a_504_with_the_reason() -> None:
    with Cluster(patience="1s") as c:
        c.faults.slow("1h", on="GET pods", who="clients")
        with pytest.raises(
            k8s.ApiException, match="your code waits in GET /api/v1/namespaces/default/pods since 1 s"
        ):
            core(c).list_namespaced_pod("default")


def test_a_poll_on_a_still_clock_is_told_and_then_refused() -> None:
    with Cluster(patience="1s") as c:
        c.apply(a_job(suspend=True))
        batch = k8s.BatchV1Api(core(c).api_client)

        def poll() -> None:
            while not batch.read_namespaced_job("report", "default").status.succeeded:
                time.sleep(0.05)

        with pytest.raises(k8s.ApiException, match=r"jobs/report again and again, \d+ times since 1 s"):
            poll()
        assert "again and again" in c.summary()


def test_nothing_is_said_while_time_passes_or_flows(capfd: pytest.CaptureFixture[str]) -> None:
    with Cluster(patience="1s") as c:
        with c.clock.flowing(1):
            assert watched(c, timeout_seconds=2) == []
        for _ in range(4):
            c.clock.advance("1m")
            core(c).list_namespaced_pod("default")
            time.sleep(0.3)
        assert capfd.readouterr().err == ""
