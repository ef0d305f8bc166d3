"""Faults that a test orders strike clients over HTTP and controllers, and everything recovers."""

from __future__ import annotations

import contextlib
import http.client
import queue
import ssl
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from kubernetes import client as k8s
from kubernetes import watch as k8s_watch

from longshore.testing import Cluster, Exit, Run
from longshore.testing.injected_faults import Who
from testing.cluster.cluster_manifests import a_job, a_pod


@pytest.fixture
def batch(c: Cluster) -> Iterator[Any]:
    connection = c.client("kubernetes")
    connection.rest_client.pool_manager.connection_pool_kw["retries"] = False
    yield k8s.BatchV1Api(connection)
    connection.close()


def test_a_conflict_strikes_a_client_as_often_as_it_is_told(c: Cluster, batch: Any) -> None:
    batch.create_namespaced_job("default", a_job(suspend=True))
    job = batch.read_namespaced_job("report", "default")
    fault = c.faults.conflict(times=1, on="PUT jobs", who="clients")
    with pytest.raises(k8s.ApiException) as refused:
        batch.replace_namespaced_job("report", "default", job)
    assert refused.value.status == 409
    assert fault.happened == 1
    batch.replace_namespaced_job("report", "default", batch.read_namespaced_job("report", "default"))


def test_controllers_get_over_conflicts_and_a_throttled_server(c: Cluster) -> None:
    conflict = c.faults.conflict(times=2, on="PUT jobs/status", who="controllers")
    throttle = c.faults.throttle(429, retry_after=2, times=3, on="POST pods", who="controllers")
    c.apply(a_job(completions=3))
    c.wait("job/report", "Complete", "10m")
    assert (conflict.happened, throttle.happened) == (2, 3)
    c.assert_consistent()


def test_an_unavailable_server_answers_503_for_its_time_and_says_when_to_come_again(
    c: Cluster, batch: Any
) -> None:
    c.faults.unavailable(for_="5s")
    c.faults.throttle(429, retry_after=7, times=1, on="GET *", who="clients")
    with pytest.raises(k8s.ApiException) as refused:
        batch.list_namespaced_job("default")
    assert refused.value.status == 503
    c.clock.advance("5s")
    with pytest.raises(k8s.ApiException) as throttled:
        batch.list_namespaced_job("default")
    assert (throttled.value.status, throttled.value.headers["Retry-After"]) == (429, "7")
    assert batch.list_namespaced_job("default").items == []


def test_a_slow_server_answers_when_its_time_has_come(c: Cluster, batch: Any) -> None:
    c.faults.slow("5m", on="GET jobs", who="clients")
    answers: list[Any] = []
    asking = threading.Thread(target=lambda: answers.append(batch.list_namespaced_job("default")))
    asking.start()
    while not c.requests:
        asking.join(0.01)
    c.clock.advance("4m59s")
    assert not answers
    c.clock.advance("1s")
    asking.join(30)
    assert answers
    c.faults.clear()
    assert batch.list_namespaced_job("default").items == []


def test_a_watch_that_is_dropped_or_expired_goes_on_for_clients_that_come_again(c: Cluster) -> None:
    connection = c.client("kubernetes")
    seen: queue.Queue[str] = queue.Queue()

    def follow() -> None:
        """A client that begins anew after each error, as it should."""
        api, name = k8s.CoreV1Api(connection), ""
        while name != "last":
            with contextlib.suppress(Exception):
                for event in k8s_watch.Watch().stream(api.list_namespaced_pod, "default"):
                    name = event["object"].metadata.name
                    seen.put(name)
                    if name == "last":
                        break

    following = threading.Thread(target=follow, daemon=True)
    following.start()
    for name, disturb in (("a", c.faults.drop_watch), ("b", c.faults.compact), ("last", c.settle)):
        c.apply(a_pod(name))
        while seen.get(timeout=60) != name:
            pass
        disturb()
    following.join(60)
    assert not following.is_alive()
    assert len(c.requests.of("GET", "*/pods")) >= 3
    connection.close()


def test_controllers_go_on_after_their_watches_broke_and_history_was_forgotten(c: Cluster) -> None:
    c.pods.script("*", Exit(0, after="10s"))
    c.apply(a_job(completions=4))
    c.faults.drop_watch(who="controllers")
    c.clock.advance("15s")
    c.faults.compact(who="controllers")
    c.wait("job/report", "Complete", "10m")
    c.assert_consistent()


def test_controllers_crash_and_go_on_and_running_pods_are_not_started_twice(c: Cluster) -> None:
    c.pods.script("*", Exit(0, after="10s"))
    c.apply(a_job(completions=3, parallelism=2))
    for _ in range(3):
        c.clock.advance("4s")
        c.faults.crash_controllers()
    c.wait("job/report", "Complete", "10m")
    assert {*c.inside.node.machine.started.values()} == {1}
    c.assert_consistent()


def test_a_server_restarts_at_its_address_with_all_its_objects(c: Cluster, batch: Any) -> None:
    c.pods.default(Run.forever())
    c.apply(a_job())
    url = c.url
    c.faults.restart()
    assert c.url == url
    assert batch.read_namespaced_job("report", "default").metadata.name == "report"
    (pod,) = c.list("pods")
    c.pods[pod["metadata"]["name"]].succeed()
    c.wait("job/report", "Complete", "10m")


@pytest.mark.parametrize("what", ["crash_controllers", "restart"])
def test_time_passes_while_a_fault_keeps_the_controllers_from_starting(c: Cluster, what: str) -> None:
    c.apply(a_job())
    fault = c.faults.unavailable(for_="5s", who="controllers")
    getattr(c.faults, what)()
    assert fault.happened
    c.wait("job/report", "Complete", timeout="1m")


def test_controllers_that_crash_amid_a_fault_without_an_end_go_on_when_it_is_cleared(c: Cluster) -> None:
    c.faults.throttle(503, times=None, who="controllers")
    c.faults.crash_controllers()
    c.apply(a_job())
    c.faults.clear()
    c.wait("job/report", "Complete", timeout="10m")


def test_a_fault_on_something_that_is_no_method_is_refused(c: Cluster) -> None:
    with pytest.raises(ValueError, match="begins with a method"):
        c.faults.conflict(on="jobs/status")
    with pytest.raises(ValueError, match="429, 500 or 503"):
        c.faults.throttle(404)


def test_a_server_restarts_and_goes_back_to_a_snapshot_while_a_client_watches(c: Cluster) -> None:
    tls = ssl.create_default_context(cadata=c.kubeconfig_ca)
    state = c.snapshot()
    for again in (c.faults.restart, lambda: c.restore(state)):
        client = http.client.HTTPSConnection(c.url.removeprefix("https://"), context=tls)
        with contextlib.closing(client):
            path = "/apis/batch/v1/jobs?watch=true"
            client.request("GET", path, headers={"Authorization": f"Bearer {c.token}"})
            with client.getresponse() as answer:
                again()
                assert answer.read() == b""
    assert c.list("jobs") == []


FAULTS: dict[str, Callable[[Cluster, Who], object]] = {
    "conflict": lambda c, who: c.faults.conflict(times=1, on="PUT jobs/status", who=who),
    "unavailable": lambda c, who: c.faults.unavailable(for_="5s", who=who),
    "throttle": lambda c, who: c.faults.throttle(429, retry_after=2, times=2, who=who),
    "slow": lambda c, who: c.faults.slow("300ms", who=who),
    "drop_watch": lambda c, who: c.faults.drop_watch(who=who),
    "compact": lambda c, who: c.faults.compact(who=who),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_job_gets_over_every_fault_whomever_it_strikes(c: Cluster, fault: str) -> None:
    c.pods.script("*", Exit(0, after="20s"))
    everybody: tuple[Who, ...] = ("all", "clients", "controllers")
    for who in everybody:
        c.apply(a_job(who))
        c.clock.advance("1s")
        FAULTS[fault](c, who)
        c.wait(f"job/{who}", "Complete", "1h")
        c.faults.clear()
        c.assert_consistent()
