"""ray: starts a Ray cluster, one head and workers that join it, with a Service in front of the head."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from longshore.api.facts import kinds
from longshore.api.goflags import Value
from longshore.api.types import Obj
from longshore.controllers.volcano.job.pods import tasks
from longshore.controllers.volcano.names import JOB_NAME, JOB_NAMESPACE, TASK_SPEC
from longshore.controllers.volcano.plugins import pieces
from longshore.controllers.volcano.plugins.protocol import Plugin, PluginError, Wanted

_PORTS = {"gcs": "port", "dashboard": "dashboardPort", "client-server": "clientPort"}
"""Flags by port name."""


class Ray(Plugin):
    name: ClassVar[str] = "ray"
    defaults: ClassVar[dict[str, Value]] = {
        "head": "head",
        "headContainer": "head",
        "worker": "worker",
        "workerContainer": "worker",
        "port": 6379,
        "dashboardPort": 8265,
        "clientPort": 10001,
    }

    def on_pod_create(self, pod: Obj, job: Obj) -> None:
        head = tasks.find(job, self.text("head"))
        if head is None:
            raise PluginError(f"job {job['metadata']['name']} doesn't have head task {self.text('head')}")
        mine = pieces.task_of(pod)
        for container in pieces.containers(pod):
            if mine == self.text("head") and container["name"] == self.text("headContainer"):
                for name, flag in _PORTS.items():
                    pieces.open_port(container, name, self.number(flag))
                container["command"] = ["sh", "-c", self._head_command()]
            if mine == self.text("worker") and container["name"] == self.text("workerContainer"):
                where = f"{pieces.address(job, head, 0)}:{self.number('port')}"
                container["command"] = ["sh", "-c", f"ray start --block --address={where}"]

    def _head_command(self) -> str:
        port, dashboard, client = (self.number(flag) for flag in _PORTS.values())
        return (
            f"ray start --head --block --dashboard-host=0.0.0.0 --port={port} "
            f"--dashboard-port={dashboard} --ray-client-server-port={client}"
        )

    def objects(self, job: Obj) -> Iterable[Wanted]:
        meta = job["metadata"]
        ports = [
            {"name": name, "port": self.number(flag), "targetPort": name, "protocol": "TCP"}
            for name, flag in _PORTS.items()
        ]
        selector = {JOB_NAME: meta["name"], JOB_NAMESPACE: meta["namespace"], TASK_SPEC: self.text("head")}
        service = {"spec": {"selector": selector, "ports": ports}}
        yield Wanted(kinds.SERVICES, f"{meta['name']}-head-svc", pieces.once(service))
