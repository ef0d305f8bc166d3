"""tensorflow: sets TF_CONFIG, which gives each pod its role and the addresses of the others."""

from __future__ import annotations

from typing import ClassVar

from longshore.api import types
from longshore.api.goflags import Value
from longshore.api.types import Obj
from longshore.controllers.volcano.job.pods import tasks
from longshore.controllers.volcano.plugins import pieces
from longshore.controllers.volcano.plugins.protocol import Plugin

_ROLES = ("ps", "worker", "chief", "evaluator")


class TensorFlow(Plugin):
    name: ClassVar[str] = "tensorflow"
    defaults: ClassVar[dict[str, Value]] = {
        "ps": "ps",
        "worker": "worker",
        "chief": "chief",
        "evaluator": "evaluator",
        "port": 2222,
    }

    def on_pod_create(self, pod: Obj, job: Obj) -> None:
        all_tasks: list[Obj] = job["spec"].get("tasks") or []
        if len(all_tasks) == 1 and tasks.replicas(all_tasks[0]) == 1:
            return  # a single pod needs no addresses
        variable = pieces.env("TF_CONFIG", types.encode(self.config(pod, job)).decode())
        for container in pieces.containers(pod):
            pieces.add_env(container, [variable])

    def config(self, pod: Obj, job: Obj) -> Obj:
        cluster = {}
        for role in _ROLES:
            task = tasks.find(job, self.text(role))
            if task is not None and tasks.replicas(task):
                cluster[role] = pieces.endpoints(job, task, self.number("port"))
        mine = pieces.task_of(pod)
        role = next(
            (role for role in ("chief", "worker", "ps", "evaluator") if self.text(role) == mine), mine
        )
        return {"cluster": cluster, "task": {"type": role, "index": pieces.index_of(pod)}}
