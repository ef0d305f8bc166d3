"""A Volcano Job through the dynamic client: all of its pods start together, or none."""

from __future__ import annotations

from typing import Any

from kubernetes import dynamic as untyped

from longshore.testing import Cluster, Exit

dynamic: Any = untyped

# ---- the code under test


def train(connection: Any, workers: int) -> None:
    """Starts a training with a chief and so many workers."""
    jobs = dynamic.DynamicClient(connection).resources.get(
        api_version="batch.volcano.sh/v1alpha1", kind="Job"
    )
    jobs.create(namespace="default", body=_gang("train", {"chief": 1, "worker": workers}))


def _gang(name: str, tasks: dict[str, int]) -> dict[str, Any]:
    template = {
        "spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "example.org/train"}]}
    }
    rows = [{"name": task, "replicas": count, "template": template} for task, count in tasks.items()]
    policies = [{"event": "PodFailed", "action": "RestartJob"}]
    spec = {
        "schedulerName": "volcano",
        "minAvailable": sum(tasks.values()),
        "tasks": rows,
        "policies": policies,
    }
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": spec,
    }


# ---- its test


def test_a_worker_that_fails_begins_the_whole_training_anew(longshore: Cluster) -> None:
    longshore.pods.script("train-*", Exit(0, after="1h"))
    longshore.pods.script("train-worker-1", Exit(137, after="10m"), Exit(0, after="1h"))
    connection = longshore.client("kubernetes")
    train(connection, workers=2)
    connection.close()
    began = longshore.clock.now()
    done = longshore.wait("vcjob/train", "Completed", timeout="3h")
    assert done["status"]["retryCount"] == 1
    assert (longshore.clock.now() - began).total_seconds() >= 70 * 60
