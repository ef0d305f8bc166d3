"""A real leader that is stopped (SIGSTOP) and continued does nothing beside its successor, and ends.

Part of `make test-outside`: a Lease takes its time to run out.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from support.longshore_process import RunningLongshore, longshore_up

pytestmark = pytest.mark.skipif(
    not os.environ.get("LONGSHORE_TEST_OUTSIDE"), reason="make test-outside runs this"
)
JOBS = "/apis/batch/v1/namespaces/default/jobs"
PODS = "/api/v1/namespaces/default/pods"


@contextmanager
def controllers(longshore: RunningLongshore, *words: str) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "longshore", "controllers", "--kubeconfig", str(longshore.kubeconfig)]
    process = subprocess.Popen([*command, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def ready(process: subprocess.Popen[str]) -> None:
    assert process.stdout is not None
    assert "ready" in process.stdout.readline()


def a_job(name: str, pods: int) -> dict[str, Any]:
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "i"}]}}
    spec = {"managedBy": "longshore.dev/job-controller", "completions": pods, "parallelism": pods}
    return {"metadata": {"name": name}, "spec": {"template": template, **spec}}


@pytest.mark.parametrize("words", [[], ["--shards", "1"]], ids=["one leader", "shards"])
def test_a_leader_that_was_stopped_creates_no_pod_beside_its_successor(words: list[str]) -> None:
    with (
        longshore_up("--in-memory", "--no-node", "--controllers", "namespace,serviceaccount") as longshore,
        controllers(longshore, *words) as first,
    ):
        ready(first)
        first.send_signal(signal.SIGSTOP)
        code, _ = longshore.request("POST", JOBS, a_job("j", 8))
        assert code == 201
        with controllers(longshore, *words) as second:
            ready(second)  # the first one's Leases have run out
            while len(longshore.request("GET", PODS)[1]["items"]) < 8:
                assert second.poll() is None
            first.send_signal(signal.SIGCONT)
            assert first.wait(timeout=60) == 1
            assert first.stderr is not None
            assert "must not go on working" in first.stderr.read()
            assert len(longshore.request("GET", PODS)[1]["items"]) == 8
