"""Manifests that tests of clusters share."""

from __future__ import annotations

from typing import Any

from longshore.api.facts.kinds import CRON_JOBS, JOBS, PODS, VOLCANO_JOBS
from support.manifests import manifest, pod_spec


def a_job(
    name: str = "report", restart: str = "Never", pod: dict[str, Any] | None = None, **spec: Any
) -> Any:
    template = {"spec": pod_spec("busybox", restartPolicy=restart, **(pod or {}))}
    return manifest(JOBS, name, {"template": template, **spec})


def a_cronjob(name: str = "nightly", schedule: str = "0 * * * *", **spec: Any) -> Any:
    template = {"spec": a_job()["spec"]}
    return manifest(CRON_JOBS, name, {"schedule": schedule, "jobTemplate": template, **spec})


def a_pod(name: str = "p") -> Any:
    return manifest(PODS, name, pod_spec("busybox"))


def a_gang(name: str = "train", replicas: int = 3) -> Any:
    task = {"name": "worker", "replicas": replicas, "template": {"spec": pod_spec("busybox")}}
    spec = {"schedulerName": "volcano", "minAvailable": replicas, "tasks": [task]}
    return manifest(VOLCANO_JOBS, name, spec)
