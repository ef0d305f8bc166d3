"""Chooses the runtime of a pod, by its RuntimeClass or by its images.

A RuntimeClass means the runtime that its handler names. Under `--runtime auto`, a pod without a RuntimeClass
runs as processes if this machine knows what its images mean, else with podman. A pod keeps its runtime: the
table of images may change while it runs.
"""

from __future__ import annotations

from typing import Final

from longshore.api.types import Obj
from longshore.machinery.informers.informer import Handler
from longshore.node.images.images_file import ImagesFile


class RuntimeClasses(Handler):
    """Follows all RuntimeClasses. Pods that still run keep the runtime of a deleted class."""

    def __init__(self) -> None:
        self._handlers: dict[str, str] = {}

    def runtime(self, name: str) -> str:
        """The handler of a class. A class that does not exist means the runtime of its name."""
        return self._handlers.get(name, name)

    def on_add(self, obj: Obj, initial: bool) -> None:
        self._handlers[obj["metadata"]["name"]] = obj.get("handler") or ""


_PARTS: Final = ("initContainers", "containers")


class RuntimeByImage:
    def __init__(self, images: ImagesFile) -> None:
        self._images = images
        self._chosen: dict[str, str] = {}
        self.runtimes: frozenset[str] = frozenset()
        """The runtimes that work here, once they are open."""

    def of(self, pod: Obj) -> str:
        uid = pod["metadata"]["uid"]
        chosen = self._chosen.get(uid)
        if chosen is None:
            chosen = self._chosen[uid] = self._choice(pod["spec"])
        return chosen

    def settle(self, uid: str, runtime: str) -> None:
        """Notes the runtime of a pod that ran before longshore was started."""
        self._chosen[uid] = runtime

    def forget(self, uid: str) -> None:
        """Forgets a deleted pod."""
        self._chosen.pop(uid, None)

    def _choice(self, spec: Obj) -> str:
        if "podman" not in self.runtimes:
            return "process"
        images = [container.get("image") or "" for part in _PARTS for container in spec.get(part) or ()]
        return "process" if all(self._images.find(image) is not None for image in images) else "podman"
