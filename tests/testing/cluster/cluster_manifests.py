"""Manifests that tests of clusters share."""

from __future__ import annotations

from typing import Any


def a_job(
    name: str = "report", restart: str = "Never", pod: dict[str, Any] | None = None, **spec: Any
) -> Any:
    containers = [{"name": "main", "image": "busybox"}]
    template = {"spec": {"restartPolicy": restart, "containers": containers, **(pod or {})}}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {"template": template, **spec},
    }


def a_cronjob(name: str = "nightly", schedule: str = "0 * * * *", **spec: Any) -> Any:
    return {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": name},
        "spec": {"schedule": schedule, "jobTemplate": {"spec": a_job()["spec"]}, **spec},
    }


def a_pod(name: str = "p") -> Any:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "busybox"}]},
    }


def a_gang(name: str = "train", replicas: int = 3) -> Any:
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "busybox"}]}}
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {
            "schedulerName": "volcano",
            "minAvailable": replicas,
            "tasks": [{"name": "worker", "replicas": replicas, "template": template}],
        },
    }
