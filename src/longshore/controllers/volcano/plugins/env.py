"""env: sets an environment variable to the pod's index within its task."""

from __future__ import annotations

from typing import ClassVar

from longshore.api.types import Obj
from longshore.controllers.volcano.plugins import pieces
from longshore.controllers.volcano.plugins.protocol import Plugin


class Env(Plugin):
    name: ClassVar[str] = "env"

    def on_pod_create(self, pod: Obj, job: Obj) -> None:
        index = pod["metadata"]["name"].rpartition("-")[2]
        variables = [pieces.env("VK_TASK_INDEX", index), pieces.env("VC_TASK_INDEX", index)]
        for container in pieces.containers(pod, init=True):
            pieces.add_env(container, variables)
