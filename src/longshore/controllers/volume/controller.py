"""The loop of the volume controller: one worker, so that no volume is considered for two claims at once.

Pods are not watched: thousands come and go for each claim. They are listed once a second while a claim is
being deleted, until none uses it.
"""

from __future__ import annotations

import asyncio
from typing import Literal, NamedTuple

from longshore.api import errors
from longshore.api.facts import kinds, pod_state
from longshore.api.types import Obj
from longshore.controllers.volume import decide, names
from longshore.controllers.volume.act import Acts, Directories, has_made
from longshore.controllers.volume.decide import ClaimView, VolumeView
from longshore.machinery.controller_context import ControllerContext
from longshore.machinery.informers.informer import OnChange
from longshore.machinery.queues.workers import run_workers
from longshore.machinery.queues.workqueue import SHORT_PAUSES


class Key(NamedTuple):
    kind: Literal["claim", "volume"]
    namespace: str
    name: str


async def run(context: ControllerContext, *, volumes: Directories) -> None:
    """Binds, provisions and reclaims until cancelled. `volumes` makes the directories of new volumes."""
    await Controller(context, volumes).run()


class Controller:
    def __init__(self, context: ControllerContext, directories: Directories) -> None:
        self._context, self._client, self._informers = context, context.client, context.informers
        self._queue = context.queue(pauses=SHORT_PAUSES)
        self._claims = self._informers.get(kinds.CLAIMS)
        self._volumes = self._informers.get(kinds.VOLUMES)
        self._classes = self._informers.get(kinds.STORAGE_CLASSES)
        self._recorder = context.recorder("persistentvolume-controller")
        self._directories = directories
        caches = {kinds.CLAIMS: self._claims.cache, kinds.VOLUMES: self._volumes.cache}
        self._acts = Acts(context.client, self._recorder, self._directories, caches)
        self._claims.add_handler(OnChange(self._claim_changed))
        self._volumes.add_handler(OnChange(self._volume_changed))
        self._classes.add_handler(OnChange(lambda _: self._look_at_unbound()))

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._informers.run())
            tasks.create_task(self._recorder.run())
            await self._informers.synced()
            await self._make_class()
            tasks.create_task(run_workers(self._queue, self._sync))

    async def _make_class(self) -> None:
        """Creates the class if it is missing. Never updates it, so that changes to it stay."""
        if self._classes.cache.get("", names.CLASS) is None:
            with errors.tolerated("AlreadyExists"):
                await self._client.create(kinds.STORAGE_CLASSES, names.LOCAL_CLASS)

    def _claim_changed(self, obj: Obj) -> None:
        meta = obj["metadata"]
        self._queue.add(Key("claim", meta["namespace"], meta["name"]))
        if name := obj["spec"].get("volumeName"):
            self._queue.add(Key("volume", "", name))

    def _volume_changed(self, obj: Obj) -> None:
        self._queue.add(Key("volume", "", obj["metadata"]["name"]))
        if ref := obj["spec"].get("claimRef"):
            self._queue.add(Key("claim", ref.get("namespace") or "", ref.get("name") or ""))
        else:
            self._look_at_unbound()

    def _look_at_unbound(self) -> None:
        for obj in self._claims.cache:
            if (obj.get("status") or {}).get("phase") == "Pending":
                self._queue.add(Key("claim", obj["metadata"]["namespace"], obj["metadata"]["name"]))

    async def _sync(self, key: Key) -> float | None:
        if key.kind == "volume":
            return await self._look_at_volume(key.name)
        return await self._look_at_claim(key.namespace, key.name)

    async def _look_at_volume(self, name: str) -> float | None:
        volume = self._volumes.cache.get("", name)
        if volume is None:
            return None
        ref = volume["spec"].get("claimRef") or {}
        holder = self._claims.cache.get(ref.get("namespace") or "", ref.get("name") or "")
        plan = decide.volume(VolumeView(volume, holder, has_made(self._directories, volume)))
        with self._context.explaining(("", name), volume, plan.why):
            await self._acts.volume(volume, plan)
        return plan.look_again

    async def _look_at_claim(self, namespace: str, name: str) -> float | None:
        claim = self._claims.cache.get(namespace, name)
        if claim is None:
            return None
        in_use = names.is_going(claim) and await self._is_used(namespace, name)
        plan = decide.claim(ClaimView(claim, [*self._volumes.cache], [*self._classes.cache], in_use))
        with self._context.explaining((namespace, name), claim, plan.why):
            await self._acts.claim(claim, plan)
        return plan.look_again

    async def _is_used(self, namespace: str, name: str) -> bool:
        """Whether a pod that is assigned to a node and has not ended uses the claim."""
        pods = await self._client.list(kinds.PODS, namespace)
        return any(_uses(pod, name) for pod in pods.items)


def _uses(pod: Obj, name: str) -> bool:
    spec = pod["spec"]
    if not spec.get("nodeName") or pod_state.has_ended(pod):
        return False
    return any(
        (volume.get("persistentVolumeClaim") or {}).get("claimName") == name
        or ("ephemeral" in volume and f"{pod['metadata']['name']}-{volume['name']}" == name)
        for volume in spec.get("volumes") or ()
    )
