"""A cluster whose pods are processes of this machine, on the real clock."""

from __future__ import annotations

import sys

import pytest

from longshore.testing import Cluster
from testing.cluster.cluster_manifests import a_job

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the process runtime needs Linux")


def test_a_process_runs_and_its_output_is_read() -> None:
    job = a_job()
    job["spec"]["template"]["spec"]["containers"][0]["command"] = ["sh", "-c", "echo hello; exit 0"]
    with Cluster(clock="real", node="process") as c:
        c.apply(job)
        c.wait("job/report", "Complete", "60s")
        (pod,) = c.list("pods")
        assert c.logs(pod["metadata"]["name"]) == "hello\n"


def test_processes_do_not_go_with_the_virtual_clock() -> None:
    with pytest.raises(ValueError, match='needs clock="real"'):
        Cluster(node="process")
