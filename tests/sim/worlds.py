"""Questions for simulations, as short as they can be."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from longshore.api.facts.kinds import CRON_JOBS, JOBS, VOLCANO_JOBS
from longshore.api.types import Obj
from longshore.sim.settings import SimSettings, nodes
from longshore.sim.sim_result import SimResult
from longshore.sim.simulate import simulate
from support.manifests import manifest

ZONE = "Europe/Berlin"
START = datetime(2027, 3, 27, tzinfo=ZoneInfo(ZONE))
HOUR, DAY = 3600.0, 86400.0


def pod(cpu: str = "1", **spec: Any) -> Obj:
    container = {"name": "main", "image": "i", "resources": {"requests": {"cpu": cpu}}}
    return {"spec": {"restartPolicy": "Never", "containers": [container], **spec}}


def job(name: str = "x", cpu: str = "1", **spec: Any) -> Obj:
    return manifest(JOBS, name, {"template": pod(cpu), **spec})


def cron_job(name: str, schedule: str, **spec: Any) -> Obj:
    inner = {"spec": job()["spec"]}
    return manifest(CRON_JOBS, name, {"schedule": schedule, "jobTemplate": inner, **spec})


def gang(name: str, replicas: int, cpu: str, **spec: Any) -> Obj:
    task = {"name": "w", "replicas": replicas, "template": pod(cpu)}
    given = {"schedulerName": "volcano", "minAvailable": replicas, "tasks": [task], **spec}
    return manifest(VOLCANO_JOBS, name, given)


def played(*objects: Obj, seconds: float = DAY, cpu: str = "4", count: int = 1, **more: Any) -> SimResult:
    """The answer on nodes with so many processors."""
    made = nodes(count, {"cpu": cpu})
    return simulate(SimSettings(objects, START, ZONE, seconds, nodes=made, **{"until_done": True, **more}))
