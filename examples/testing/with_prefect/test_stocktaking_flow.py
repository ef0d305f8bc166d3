"""A Prefect flow that a Kubernetes worker runs: `flows.py`, Prefect's server and its worker, unmodified."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from prefect import flow, get_client
from prefect.client.schemas.actions import WorkPoolCreate
from prefect.deployments import run_deployment
from prefect.settings import get_current_settings
from prefect.testing.utilities import prefect_test_harness
from prefect_kubernetes.worker import KubernetesWorker

from longshore.testing import Cluster, Exit

HERE = Path(__file__).parent
POOL = "machines"
IMAGE = "prefecthq/prefect:3-latest"
# The flow's image as processes of this machine: its arguments are the command, its tools this Python's.
IMAGES = {IMAGE: {"command": ["env"], "path": str(Path(sys.executable).parent)}}


@pytest.fixture(scope="session", autouse=True)
def _deployed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A Prefect server with a work pool, and the flow deployed to it."""
    home = tmp_path_factory.mktemp("longshore")
    (home / "images.yaml").write_text(yaml.safe_dump(IMAGES))
    with pytest.MonkeyPatch.context() as patch, prefect_test_harness(server_startup_timeout=120):
        patch.setenv("LONGSHORE_HOME", str(home))
        template = KubernetesWorker.get_default_base_job_template()
        with get_client(sync_client=True) as prefect:
            prefect.create_work_pool(WorkPoolCreate(name=POOL, type="kubernetes", base_job_template=template))
        found: Any = flow.from_source(source=str(HERE), entrypoint="flows.py:stocktaking")
        found.deploy("nightly", work_pool_name=POOL, image=IMAGE, build=False, push=False)
        yield


@contextmanager
def a_worker(cluster: Cluster) -> Iterator[None]:
    """Prefect's worker at work, in a process of its own."""
    words = ["prefect", "worker", "start", "--pool", POOL, "--type", "kubernetes"]
    with cluster.environ():
        environ = os.environ | get_current_settings().to_environment_variables(exclude_unset=True)
        worker = subprocess.Popen([sys.executable, "-m", *words], env=environ)
    try:
        yield
    finally:
        worker.terminate()
        try:
            worker.wait(20)
        except subprocess.TimeoutExpired:  # it now and then goes on watching; nothing here depends on its end
            worker.kill()
            worker.wait()


def ended(run: Any) -> Any:
    """The state in which a flow run ends."""
    with get_client(sync_client=True) as prefect:
        while not (state := prefect.read_flow_run(run.id).state).is_final():
            time.sleep(0.2)
    return state


def a_run() -> Any:
    return run_deployment("stocktaking/nightly", parameters={"shelves": ["ab", "cde"]}, timeout=0)


@pytest.mark.longshore(clock="real", node="process")
def test_the_flow_runs_for_real_in_the_pod_of_a_job(longshore: Cluster) -> None:
    with a_worker(longshore):
        state = ended(a_run())
    assert state.is_completed(), state
    (job,) = longshore.list("jobs")
    longshore.wait(f"job/{job['metadata']['name']}", "Complete")


@pytest.mark.longshore(clock="real")
def test_a_flow_whose_pod_dies_is_told_to_have_crashed(longshore: Cluster) -> None:
    longshore.pods.script("*", Exit(137, after="1s"))
    with a_worker(longshore):
        state = ended(a_run())
    assert state.is_crashed(), state
