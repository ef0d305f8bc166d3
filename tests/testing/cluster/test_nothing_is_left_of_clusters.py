"""Nothing is left of clusters that were used and closed: no thread, socket, file, nor memory."""

from __future__ import annotations

import gc
import http.client
import os
import ssl
import sys
import tempfile
import threading
from pathlib import Path
from typing import NamedTuple

import pytest

from longshore.testing import Cluster, Exit
from testing.cluster.cluster_manifests import a_job

pytestmark = pytest.mark.long

CLUSTERS = 25
WARM = 8
MAX_BLOCKS_OF_A_CLUSTER = 200
"""Of memory that may be left on average: caches fill up. A whole cluster has more than 10,000."""


class Left(NamedTuple):
    threads: int
    files: int
    directories: list[Path]


def left(directory: Path) -> Left:
    return Left(threading.active_count(), len(os.listdir("/proc/self/fd")), list(directory.iterdir()))


def collect() -> None:
    """Twice: what a finalizer of the first time lets go is found by the second."""
    gc.collect()
    gc.collect()


def use_one() -> None:
    with Cluster() as c:
        c.pods.script("*", Exit(0, after="3s", logs="done\n"))
        tls = ssl.create_default_context(cadata=c.kubeconfig_ca)
        watcher = http.client.HTTPSConnection(c.url.removeprefix("https://"), context=tls)
        path = "/apis/batch/v1/jobs?watch=true"
        watcher.request("GET", path, headers={"Authorization": f"Bearer {c.token}"})
        answer = watcher.getresponse()
        c.apply(a_job())
        c.wait("job/report", "Complete")
    answer.close()  # only now: the cluster was closed while somebody watched
    watcher.close()


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="open files are counted in /proc")
def test_clusters_that_are_closed_leave_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    for _ in range(WARM):
        use_one()
    collect()
    before, blocks = left(tmp_path), sys.getallocatedblocks()
    for _ in range(CLUSTERS - WARM):
        use_one()
    collect()
    assert left(tmp_path) == before
    assert before.directories == []
    assert (sys.getallocatedblocks() - blocks) / (CLUSTERS - WARM) < MAX_BLOCKS_OF_A_CLUSTER
