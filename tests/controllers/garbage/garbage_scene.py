"""An API in memory on the virtual clock with a garbage collector, and short ways to make owned objects."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from longshore.api.types import Obj
from longshore.client import DeleteOptions, What
from longshore.controllers import garbage
from support import world
from support.volcano_queues import open_queue
from support.world import EVENTS, NAMESPACES, PODS, World

__all__ = ["EVENTS", "JOBS", "MAPS", "NAMESPACES", "PODS", "POD_SPEC", "Scene", "owner", "play"]

T = TypeVar("T")

MAPS = ("v1", "ConfigMap")
JOBS = ("batch/v1", "Job")

POD_SPEC: Obj = {"containers": [{"name": "main", "image": "busybox"}]}


def owner(obj: Obj, kind: tuple[str, str] = MAPS, *, blocks: bool | None = True, **changes: Any) -> Obj:
    meta = obj["metadata"]
    ref = {"apiVersion": kind[0], "kind": kind[1], "name": meta["name"], "uid": meta["uid"]}
    if blocks is not None:
        ref["blockOwnerDeletion"] = blocks
    return {**ref, **changes}


class Scene(World):
    namespace = "default"

    async def prepare(self) -> None:
        await self.client.create(NAMESPACES, {"metadata": {"name": "other"}})
        await open_queue(self.client)  # PodGroups need one

    def collect(self) -> None:
        self.begin(garbage.run(self.context()))

    async def config(self, name: str, *owners: Obj, namespace: str = "default", **meta: Any) -> Obj:
        return await self.make(MAPS, name, *owners, namespace=namespace, **meta)

    async def make(
        self,
        what: What,
        name: str,
        *owners: Obj,
        namespace: str = "default",
        body: Obj | None = None,
        **meta: Any,
    ) -> Obj:
        metadata: Obj = {"name": name, **meta}
        if owners:
            metadata["ownerReferences"] = [*owners]
        return await self.client.create(what, {"metadata": metadata, **(body or {})}, namespace)

    async def delete(
        self, name: str, propagation: Any = "Background", what: What = MAPS, namespace: str = "default"
    ) -> None:
        await self.client.delete(what, name, namespace, DeleteOptions(propagation=propagation))

    async def get(self, name: str, what: What = MAPS, namespace: str = "default") -> Obj | None:
        return await self.find(what, name, namespace)

    async def names(self, what: What = MAPS, namespace: str = "default") -> list[str]:
        return [obj["metadata"]["name"] for obj in (await self.client.list(what, namespace)).items]

    async def settle(self, seconds: float = 20.0) -> None:
        await super().settle(seconds)


def play(script: Callable[[Scene], Awaitable[T]], *, collecting: bool = True) -> T:
    """Runs `script` in virtual time, with a collector unless it starts one itself."""

    async def whole(scene: Scene) -> T:
        if collecting:
            scene.collect()
            await scene.settle(1)
        return await script(scene)

    return world.play(Scene, whole)
