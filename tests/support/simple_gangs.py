"""A scheduler of gangs that has room for everything: lets every PodGroup in, and binds its pods together.

It says of a group what Volcano's scheduler says when nothing is scarce, and no more: Inqueue, then Running
once `minMember` of its pods are bound, Completed when all have ended.
"""

from __future__ import annotations

import asyncio
from typing import Any

from longshore.api.errors import StatusError
from longshore.api.types import Obj
from longshore.client import Client

PODS = ("v1", "Pod")
GROUPS = ("scheduling.volcano.sh/v1beta1", "PodGroup")
GROUP_OF = "scheduling.k8s.io/group-name"
_ENDED = ("Succeeded", "Failed")


class Gangs:
    """`run` until cancelled. Looks at a group a moment after something about it changed."""

    def __init__(self, client: Client, clock: Any, *, pause: float = 0.05, node: str = "node") -> None:
        self._client, self._clock, self._pause, self._node = client, clock, pause, node
        self._pods: dict[tuple[str, str], Obj] = {}
        self._groups: dict[tuple[str, str], Obj] = {}
        self._changed: set[tuple[str, str]] = set()
        self._awake = asyncio.Event()
        self.closed = False
        """Lets no group in while set."""

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._follow(PODS, self._pods))
            tasks.create_task(self._follow(GROUPS, self._groups))
            tasks.create_task(self._work())

    async def _follow(self, what: tuple[str, str], known: dict[tuple[str, str], Obj]) -> None:
        while True:
            known.clear()
            async with self._client.watch(what, initial_events=True) as events:
                async for event in events:
                    if event.type == "BOOKMARK":
                        continue
                    meta = event.object["metadata"]
                    key = (meta["namespace"], meta["name"])
                    if event.type == "DELETED":
                        known.pop(key, None)
                    else:
                        known[key] = event.object
                    group = (meta.get("annotations") or {}).get(GROUP_OF) if what == PODS else meta["name"]
                    if group:
                        self._changed.add((key[0], group))
                        self._awake.set()

    async def _work(self) -> None:
        while True:
            await self._awake.wait()
            await self._clock.sleep(self._pause)
            self._awake.clear()
            changed, self._changed = self._changed, set()
            for key in sorted(changed):
                try:
                    await self._look(key)
                except StatusError as err:
                    if err.code not in (404, 409):
                        raise

    async def _look(self, key: tuple[str, str]) -> None:
        group = self._groups.get(key)
        if group is None:
            return
        phase = (group.get("status") or {}).get("phase") or ""
        if phase in ("", "Pending"):
            if not self.closed:
                await self._write(key, group, "Inqueue", [])
            return
        pods = [
            pod
            for (namespace, _), pod in sorted(self._pods.items())
            if namespace == key[0] and (pod["metadata"].get("annotations") or {}).get(GROUP_OF) == key[1]
        ]
        least = group["spec"].get("minMember") or 0
        bound = [pod for pod in pods if pod["spec"].get("nodeName")]
        free = [p for p in pods if not p["spec"].get("nodeName") and "deletionTimestamp" not in p["metadata"]]
        if free and len(bound) + len(free) >= least:
            for pod in free:
                await self._bind(pod)
            bound += free
        if len(bound) >= least:
            ended = bool(pods) and all((p.get("status") or {}).get("phase") in _ENDED for p in pods)
            await self._write(key, group, "Completed" if ended else "Running", pods)
        elif phase != "Inqueue":
            await self._write(key, group, "Pending", pods)

    async def _bind(self, pod: Obj) -> None:
        meta = pod["metadata"]
        binding = {"metadata": {"name": meta["name"]}, "target": {"kind": "Node", "name": self._node}}
        await self._client.create(PODS, binding, meta["namespace"], name=meta["name"], subresource="binding")

    async def _write(self, key: tuple[str, str], group: Obj, phase: str, pods: list[Obj]) -> None:
        status: Obj = {**(group.get("status") or {}), "phase": phase}
        for counter in ("running", "succeeded", "failed"):
            number = sum(((p.get("status") or {}).get("phase") or "").lower() == counter for p in pods)
            status.pop(counter, None)
            if number:
                status[counter] = number
        if phase in ("Running", "Completed") and not status.get("conditions"):
            status["conditions"] = [
                {"type": "Scheduled", "status": "True", "reason": "tasks in gang are ready to be scheduled"}
            ]
        if status != (group.get("status") or {}):
            self._groups[key] = await self._client.update(GROUPS, {**group, "status": status}, key[0])
