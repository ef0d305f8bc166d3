"""Volcano Jobs as real processes of a `longshore up` that the tests of a module share."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import yaml

from longshore.api.facts.kinds import VOLCANO_JOBS
from support.longshore_process import RunningLongshore
from support.manifests import manifest
from support.places import ROOT

EXAMPLES = ROOT / "examples" / "volcano"
_JOBS = "/apis/batch.volcano.sh/v1alpha1/namespaces/default/jobs"
_CORE = "/api/v1/namespaces/default"
_ENDED = ("Completed", "Failed", "Terminated", "Aborted")


@dataclass
class Jobs:
    longshore: RunningLongshore

    def example(self, name: str) -> str:
        """Creates what the example has in it; the name of its Job."""
        job = ""
        for obj in yaml.safe_load_all((EXAMPLES / f"{name}.yaml").read_text()):
            where = _JOBS if obj["kind"] == "Job" else f"{_CORE}/{obj['kind'].lower()}s"
            self.longshore.made("POST", where, obj)
            job = obj["metadata"]["name"]
        return job

    def create(self, name: str, tasks: list[dict[str, Any]], **spec: Any) -> None:
        job = manifest(VOLCANO_JOBS, name, {"schedulerName": "volcano", "tasks": tasks, **spec})
        self.longshore.made("POST", _JOBS, job)

    def get(self, name: str) -> Any:
        return self.longshore.made("GET", f"{_JOBS}/{name}")

    def ended(self, name: str) -> Any:
        return self.until(name, lambda job: job["status"]["state"]["phase"] in _ENDED)["status"]

    def until(self, name: str, reached: Callable[[Any], bool], seconds: float = 30) -> Any:
        end = time.monotonic() + seconds
        while True:
            job = self.get(name)
            if (job.get("status") or {}).get("state") and reached(job):
                return job
            assert time.monotonic() < end, (job.get("status"), self.pods(name))
            time.sleep(0.05)

    def pods(self, name: str) -> dict[str, Any]:
        """By the rest of their names, as `worker-0`."""
        query = {"labelSelector": f"volcano.sh/job-name={name}"}
        found = self.longshore.made("GET", f"{_CORE}/pods", query=query)["items"]
        return {pod["metadata"]["name"].removeprefix(f"{name}-"): pod for pod in found}

    def events(self, about: str) -> list[Any]:
        query = {"fieldSelector": f"involvedObject.name={about}"}
        return list(self.longshore.made("GET", f"{_CORE}/events", query=query)["items"])

    def log(self, pod: str) -> str:
        return self.longshore.text(f"{_CORE}/pods/{pod}/log")


def task(name: str, script: str, replicas: int = 1, **more: Any) -> dict[str, Any]:
    """A task whose processes run this shell script."""
    container = {"name": name, "image": "busybox:1.36", "command": ["sh", "-ec", script]}
    template = {"spec": {"restartPolicy": "Never", "containers": [container]}}
    return {"name": name, "replicas": replicas, "template": template, **more}
