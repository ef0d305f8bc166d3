"""pytorch: sets the environment variables that torch.distributed's `env://` rendezvous reads."""

from __future__ import annotations

from typing import ClassVar

from longshore.api.goflags import Value
from longshore.api.types import Obj
from longshore.controllers.volcano.job.pods import tasks
from longshore.controllers.volcano.job.pods.building import own_list
from longshore.controllers.volcano.plugins import pieces
from longshore.controllers.volcano.plugins.protocol import Plugin

_WAITER = "wait-for-master"
_POLL_SECONDS = 2


class PyTorch(Plugin):
    name: ClassVar[str] = "pytorch"
    defaults: ClassVar[dict[str, Value]] = {
        "master": "master",
        "worker": "worker",
        "port": 23456,
        "wait-master-enabled": False,
        "wait-master-timeout": 300,
        "wait-master-image": "busybox:1.36.1",
    }

    def on_pod_create(self, pod: Obj, job: Obj) -> None:
        master = tasks.find(job, self.text("master"))
        if master is None:
            return
        workers = tasks.find(job, self.text("worker"))
        where, port = pieces.address(job, master, 0), self.number("port")
        world = tasks.replicas(master) + (tasks.replicas(workers) if workers else 0)
        mine = pieces.task_of(pod)
        variables = [
            pieces.env("MASTER_ADDR", where),
            pieces.env("MASTER_PORT", port),
            pieces.env("WORLD_SIZE", world),
        ]
        if mine == self.text("worker"):
            variables.append(pieces.env("RANK", pieces.index_of(pod) + 1))
        elif mine == self.text("master"):
            variables.append(pieces.env("RANK", 0))
        for container in pieces.containers(pod):
            pieces.open_port(container, "pytorchjob-port", port)
            pieces.add_env(container, variables)
        if mine == self.text("worker") and self.flags["wait-master-enabled"]:
            self._wait(pod, where, port)

    def _wait(self, pod: Obj, where: str, port: int) -> None:
        first = own_list(pod["spec"], "initContainers")
        if any(container["name"] == _WAITER for container in first):
            return
        # Images have nc; a machine whose processes are the pods may have one of the others instead.
        script = (
            f"answers() {{ nc -z {where} {port} || bash -c ': </dev/tcp/{where}/{port}' ||\n"
            f"  python3 -c 'import socket; socket.create_connection((\"{where}\", {port}))'; }}\n"
            f"left={self.number('wait-master-timeout')}\n"
            "until answers 2>/dev/null; do\n"
            f'  if [ "$left" -le 0 ]; then echo "no answer from {where}:{port}" >&2; exit 1; fi\n'
            f"  sleep {_POLL_SECONDS}\n"
            f"  left=$((left - {_POLL_SECONDS}))\n"
            "done\n"
        )
        first.append(
            {"name": _WAITER, "image": self.text("wait-master-image"), "command": ["sh", "-c", script]}
        )
