"""hcclrank: sets the annotation with the pod's rank that Ascend's device plugin reads."""

from __future__ import annotations

from typing import ClassVar

from longshore.api.goflags import Value
from longshore.api.types import Obj
from longshore.controllers.volcano.job.pods import tasks
from longshore.controllers.volcano.plugins import pieces
from longshore.controllers.volcano.plugins.protocol import Plugin

_RANK = "hccl/rankIndex"


class HcclRank(Plugin):
    name: ClassVar[str] = "hcclrank"
    marked: ClassVar[bool] = False
    defaults: ClassVar[dict[str, Value]] = {"master": "master", "worker": "worker"}

    def on_pod_create(self, pod: Obj, job: Obj) -> None:
        notes = pod["metadata"]["annotations"]
        rank = notes.get(_RANK) or _rank_in_environment(pod) or self._by_task(pod, job)
        if rank:
            notes[_RANK] = rank

    def _by_task(self, pod: Obj, job: Obj) -> str:
        mine, index = pieces.task_of(pod), pieces.index_of(pod)
        if mine == self.text("master"):
            return str(index)
        if mine != self.text("worker"):
            return ""
        masters = tasks.find(job, self.text("master"))
        return str((tasks.replicas(masters) if masters else 0) + index)


def _rank_in_environment(pod: Obj) -> str:
    for container in pieces.containers(pod):
        for variable in container.get("env") or ():
            if variable.get("name") == "RANK":
                value: str = variable.get("value") or ""
                return value
    return ""
