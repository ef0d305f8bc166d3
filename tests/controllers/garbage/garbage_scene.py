"""An API in memory on the virtual clock with a garbage collector, and short ways to make owned objects."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, TypeVar

from longshore.api.types import Obj
from longshore.apiserver.api import Api, ApiParts
from longshore.client import DeleteOptions, What
from longshore.client.local import LocalClient
from longshore.controllers import garbage
from longshore.machinery.controller_context import ControllerContext
from longshore.machinery.time import virtual
from longshore.machinery.time.virtual import VirtualClock
from longshore.store import Store
from support.found import found
from support.volcano_queues import open_queue

T = TypeVar("T")

MAPS = ("v1", "ConfigMap")
JOBS = ("batch/v1", "Job")
PODS = ("v1", "Pod")
NAMESPACES = ("v1", "Namespace")
EVENTS = ("v1", "Event")
KINDS: dict[What, tuple[str, str]] = {kind: kind for kind in (MAPS, JOBS, PODS, NAMESPACES)}

POD_SPEC: Obj = {"containers": [{"name": "main", "image": "busybox"}]}


def owner(obj: Obj, kind: tuple[str, str] = MAPS, *, blocks: bool | None = True, **changes: Any) -> Obj:
    """A reference to `obj`."""
    meta = obj["metadata"]
    ref = {"apiVersion": kind[0], "kind": kind[1], "name": meta["name"], "uid": meta["uid"]}
    if blocks is not None:
        ref["blockOwnerDeletion"] = blocks
    return {**ref, **changes}


class Scene:
    def __init__(self, api: Api, clock: VirtualClock) -> None:
        self.api, self.clock = api, clock
        self.client = LocalClient(api)
        self._collecting: asyncio.Task[None] | None = None

    def collect(self) -> None:
        """Starts the garbage collector."""
        self._collecting = asyncio.create_task(
            garbage.run(ControllerContext(self.client, clock=self.clock, rng=self.clock.rng))
        )

    async def stop(self) -> None:
        if self._collecting is not None:
            self._collecting.cancel()
            with suppress(asyncio.CancelledError):
                await self._collecting
            self._collecting = None

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
        return await found(self.client, what, name, namespace)

    async def names(self, what: What = MAPS, namespace: str = "default") -> list[str]:
        return [obj["metadata"]["name"] for obj in (await self.client.list(what, namespace)).items]

    async def settle(self, seconds: float = 20.0) -> None:
        """Lets everything happen that is going to."""
        await self.clock.sleep(seconds)


def play(script: Callable[[Scene], Awaitable[T]], *, collecting: bool = True) -> T:
    """Runs `script` in virtual time, with a collector unless it starts one itself."""

    async def whole(clock: VirtualClock) -> T:
        store = Store.open(None)
        scene = Scene(Api(ApiParts(store, clock, clock.rng)), clock)
        for name in ("default", "other"):
            await scene.client.create(NAMESPACES, {"metadata": {"name": name}})
        await open_queue(scene.client)  # PodGroups need one
        if collecting:
            scene.collect()
            await scene.settle(1)
        try:
            return await script(scene)
        finally:
            await scene.stop()
            await store.close()

    return virtual.run(whole)
