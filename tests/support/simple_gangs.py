"""A scheduler of gangs that has room for everything: lets every PodGroup in, and binds its pods together.

It says of a group what Volcano's scheduler says when nothing is scarce, and no more: Inqueue, then Running
once `minMember` of its pods are bound, Completed when all have ended.
"""

from __future__ import annotations

import asyncio

from longshore.api.errors import StatusError
from longshore.api.facts import kinds, pod_state
from longshore.api.types import Obj
from longshore.machinery.informers.informer import Handler
from support.world import World

GROUPS = ("scheduling.volcano.sh/v1beta1", "PodGroup")
GROUP_OF = "scheduling.k8s.io/group-name"
_PAUSE_SECONDS = 0.05


class Gangs(Handler):
    """`run` until cancelled. Looks at all groups a moment after something has changed."""

    def __init__(self, world: World) -> None:
        self._world, self._informers, self._changed = world, world.context().informers, asyncio.Event()
        self._pods, self._groups = self._informers.get(kinds.PODS), self._informers.get(kinds.POD_GROUPS)
        self.closed = False
        """Lets no group in while set."""
        self.node = "n"
        """The node of all pods."""

    def on_add(self, obj: Obj, initial: bool) -> None:
        self._changed.set()

    def on_update(self, old: Obj, new: Obj) -> None:
        self._changed.set()

    def on_delete(self, obj: Obj, stale: bool) -> None:
        self._changed.set()

    async def run(self) -> None:
        self._pods.add_handler(self)
        self._groups.add_handler(self)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._informers.run())
            while True:
                await self._changed.wait()
                await self._world.clock.sleep(_PAUSE_SECONDS)
                self._changed.clear()
                for group in self._groups.cache.list():
                    try:
                        await self._look(group)
                    except StatusError as err:
                        if err.code not in (404, 409):
                            raise

    async def _look(self, group: Obj) -> None:
        phase = (group.get("status") or {}).get("phase") or ""
        if phase in ("", "Pending"):
            if not self.closed:
                await self._write(group, "Inqueue", [])
            return
        name = group["metadata"]["name"]
        pods = [pod for pod in self._pods.cache.list() if _group_of(pod) == name]
        least = group["spec"].get("minMember") or 0
        bound = [pod for pod in pods if pod["spec"].get("nodeName")]
        free = [p for p in pods if not p["spec"].get("nodeName") and "deletionTimestamp" not in p["metadata"]]
        if free and len(bound) + len(free) >= least:
            for pod in free:
                await self._world.bind(pod, self.node)
            bound += free
        if len(bound) >= least:
            ended = bool(pods) and all(pod_state.has_ended(pod) for pod in pods)
            await self._write(group, "Completed" if ended else "Running", pods)
        elif phase != "Inqueue":
            await self._write(group, "Pending", pods)

    async def _write(self, group: Obj, phase: str, pods: list[Obj]) -> None:
        status: Obj = {**(group.get("status") or {}), "phase": phase}
        for counter in ("running", "succeeded", "failed"):
            number = sum(pod_state.phase_of(pod).lower() == counter for pod in pods)
            status.pop(counter, None)
            if number:
                status[counter] = number
        if phase in ("Running", "Completed") and not status.get("conditions"):
            status["conditions"] = [
                {"type": "Scheduled", "status": "True", "reason": "tasks in gang are ready to be scheduled"}
            ]
        if status != (group.get("status") or {}):
            await self._world.client.update(GROUPS, {**group, "status": status}, self._world.namespace)


def _group_of(pod: Obj) -> str | None:
    return (pod["metadata"].get("annotations") or {}).get(GROUP_OF)
