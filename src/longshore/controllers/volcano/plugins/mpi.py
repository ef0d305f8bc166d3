"""mpi: gives the master the addresses of its workers, and opens their port (see ssh, svc)."""

from __future__ import annotations

from typing import ClassVar

from longshore.api.goflags import Value
from longshore.api.types import Obj
from longshore.controllers.volcano.job.pods import tasks
from longshore.controllers.volcano.plugins import pieces
from longshore.controllers.volcano.plugins.protocol import Plugin


class Mpi(Plugin):
    name: ClassVar[str] = "mpi"
    defaults: ClassVar[dict[str, Value]] = {"master": "master", "worker": "worker", "port": 22}

    def on_pod_create(self, pod: Obj, job: Obj) -> None:
        variables = []
        if pieces.task_of(pod) == self.text("master"):
            workers = tasks.find(job, self.text("worker"))
            if workers is None:
                return
            variables = [pieces.env("MPI_HOST", ",".join(pieces.addresses(job, workers)))]
        for container in pieces.containers(pod, init=True):
            pieces.open_port(container, "mpijob-port", self.number("port"))
            if variables:
                pieces.add_env(container, variables)
