"""The engine of a pod that names none, under `--runtime auto`: a process where this machine knows what the
pod's images mean, else podman.

A pod keeps its engine: the table may change while it runs.
"""

from __future__ import annotations

from typing import Final

from longshore.api.types import Obj
from longshore.node.images.images_file import ImagesFile

_PARTS: Final = ("initContainers", "containers")


class EngineByImage:
    def __init__(self, images: ImagesFile) -> None:
        self._images = images
        self._chosen: dict[str, str] = {}
        self.engines: frozenset[str] = frozenset()
        """The engines that work here, once they are open."""

    def of(self, pod: Obj) -> str:
        uid = pod["metadata"]["uid"]
        chosen = self._chosen.get(uid)
        if chosen is None:
            chosen = self._chosen[uid] = self._choice(pod["spec"])
        return chosen

    def settle(self, uid: str, engine: str) -> None:
        """The pod has run by this engine before longshore was started."""
        self._chosen[uid] = engine

    def forget(self, uid: str) -> None:
        """The pod is gone."""
        self._chosen.pop(uid, None)

    def _choice(self, spec: Obj) -> str:
        if "podman" not in self.engines:
            return "process"
        images = [container.get("image") or "" for part in _PARTS for container in spec.get(part) or ()]
        return "process" if all(self._images.find(image) is not None for image in images) else "podman"
