"""Plain `kubernetes` code that creates a Job and waits for it."""

from __future__ import annotations

import time
from typing import Any

import pytest
from kubernetes import client, config

from longshore.testing import Cluster, Exit

# ---- the code under test


def make_report(name: str) -> str:
    """Creates a Job and waits for its end; the log of its pod."""
    config.load_kube_config()  # type: ignore[no-untyped-call]
    batch: Any = client.BatchV1Api()
    core: Any = client.CoreV1Api()
    container = {"name": "main", "image": "example.org/report", "command": ["make-report"]}
    spec = {"backoffLimit": 2, "template": {"spec": {"restartPolicy": "Never", "containers": [container]}}}
    body = {"metadata": {"name": name}, "spec": spec}
    batch.create_namespaced_job("default", body)
    while True:
        status = batch.read_namespaced_job(name, "default").status
        if status.succeeded:
            break
        if any(each.type == "Failed" for each in status.conditions or ()):
            raise RuntimeError(f"report {name} failed")
        time.sleep(0.05)
    pods = core.list_namespaced_pod("default", label_selector=f"job-name={name}").items
    (done,) = [pod for pod in pods if pod.status.phase == "Succeeded"]
    log: str = core.read_namespaced_pod_log(done.metadata.name, "default")
    return log


# ---- its tests


def test_a_report_is_made_although_the_first_try_fails(longshore: Cluster) -> None:
    longshore.pods.script("sales-*", Exit(1, after="30s"), Exit(0, after="1m", logs="42 sold\n"))
    with longshore.environ(), longshore.clock.flowing(speed=600):  # the code waits by itself
        assert make_report("sales") == "42 sold\n"
    assert len(longshore.requests.of("POST")) == 1
    assert not longshore.requests.of("DELETE")


def test_a_report_that_always_fails_is_an_error(longshore: Cluster) -> None:
    longshore.pods.script("sales-*", Exit(3))
    with longshore.environ(), longshore.clock.flowing(speed=600), pytest.raises(RuntimeError):
        make_report("sales")
    assert longshore.get("job/sales")["status"]["failed"] == 3
