"""An Airflow DAG with KubernetesJobOperator and KubernetesPodOperator: `dags/nightly.py`, unmodified."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from longshore.testing import Cluster, Exec, Exit, Run

SIDECAR = "airflow-xcom-sidecar"


def states(run: Any) -> dict[str, str]:
    return {task.task_id: str(task.state) for task in run.get_task_instances()}


def test_the_dag_succeeds_although_the_first_try_of_its_job_fails(longshore: Cluster, nightly: Any) -> None:
    longshore.pods.script("job-extract-*", Exit(1, after="30s"), Exit(0, after="1m", logs="extracted\n"))
    longshore.pods.script("load-*", Exit(0, after="1m"))
    # Airflow reads what a task hands on in a container beside it, and interrupts that through a shell.
    longshore.pods.script("load-*", Run.forever(), container=SIDECAR)
    longshore.pods.exec("load-*", Exec(output='{"rows": 42}'), container=SIDECAR, command="*return.json*")
    longshore.pods.exec("load-*", Exec(reads_input=True, ends=0), container=SIDECAR, command="/bin/sh")
    with longshore.environ(), longshore.clock.flowing(speed=60):  # Airflow waits by itself
        run = nightly.test()
    assert states(run) == {"extract": "success", "load": "success"}
    (load,) = [task for task in run.get_task_instances() if task.task_id == "load"]
    assert load.xcom_pull(task_ids="load") == {"rows": 42}
    (job,) = longshore.list("jobs")
    assert (job["status"]["failed"], job["status"]["succeeded"]) == (1, 1)
    assert len(longshore.requests.of("POST", "*/jobs")) == 1
    assert len(longshore.requests.of("POST", "*/pods")) == 1


def test_when_the_job_fails_for_good_nothing_is_loaded(longshore: Cluster, nightly: Any) -> None:
    longshore.pods.script("job-extract-*", Exit(3, after="10s"))
    with longshore.environ(), longshore.clock.flowing(speed=60):
        run = nightly.test()
    assert states(run) == {"extract": "failed", "load": "upstream_failed"}
    assert not longshore.requests.of("POST", "*/pods")


@pytest.mark.skipif(
    b"pytest" not in Path("/proc/1/cmdline").read_bytes(),
    reason="Airflow ends its side container by a kill of every shell it sees: run this with "
    "unshare --pid --fork --mount-proc, as make test-examples does, so that it can see no others",
)
@pytest.mark.longshore(clock="real", node="process")
def test_the_same_dag_with_real_processes_hands_on_what_was_written(longshore: Cluster, nightly: Any) -> None:
    with longshore.environ():
        run = nightly.test()
    assert states(run) == {"extract": "success", "load": "success"}
    (load,) = [task for task in run.get_task_instances() if task.task_id == "load"]
    assert load.xcom_pull(task_ids="load") == {"rows": 42}
    (job,) = longshore.list("jobs")
    assert job["status"]["succeeded"] == 1
