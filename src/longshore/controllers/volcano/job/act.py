"""The hands of a visit: writes for one Job, of which sync.py and kill.py make use. Never decides.

`job` is always the newest version this controller knows: each write goes over exactly the one before. What
was written is remembered, so that nobody decides on older news.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from longshore.api.errors import StatusError
from longshore.api.facts import kinds
from longshore.api.facts.volcano_job_state import phase_of
from longshore.api.types import Obj
from longshore.client import Client, DeleteOptions, Unreachable
from longshore.controllers.volcano.job.memory import JobMemory, Memory
from longshore.controllers.volcano.job.metrics import VolcanoMetrics
from longshore.controllers.volcano.job.pods import plugin_objects
from longshore.controllers.volcano.job.view import View
from longshore.controllers.volcano.job.waking import intents
from longshore.controllers.volcano.job.waking.unwritten_counters import Owing
from longshore.controllers.volcano.plugins import KeyMaker, PluginError
from longshore.machinery.events.recorder import Recorder, reference
from longshore.machinery.informers.cache import Key
from longshore.machinery.time.clock import Clock

FAILURES: Final = (StatusError, Unreachable, PluginError, plugin_objects.ClaimMissing)
AT_ONCE: Final = 500
"""Pods that are written side by side."""


class Refused(Exception):
    """Something a Job needs could not be done. Trying again may help, for a while."""


@dataclass(frozen=True, slots=True)
class Tools:
    """What every visit of every Job shares."""

    client: Client
    clock: Clock
    memory: Memory
    recorder: Recorder
    metrics: VolcanoMetrics
    owing: Owing
    keys: KeyMaker


class Act:
    """The hands of one visit. `why` collects the reasons of what was done."""

    def __init__(self, tools: Tools, key: Key, view: View, remembered: JobMemory) -> None:
        self.tools, self.client, self.key = tools, tools.client, key
        self._memory, self.remembered = tools.memory, remembered
        self.view = view
        self.why: list[str] = []
        self._about = reference(view.job, kinds.VOLCANO_JOBS)

    @property
    def job(self) -> Obj:
        return self.view.job

    def now(self) -> float:
        return self.tools.clock.now().timestamp()

    def event(self, type: str, reason: str, message: str) -> None:
        self.tools.recorder.event(self._about, type, reason, message)

    async def guarded(self, reason: str, said: str, doing: Awaitable[None]) -> None:
        """Does something of which a failure is told in an event; not that somebody else was quicker."""
        try:
            await doing
        except FAILURES as err:
            if not (isinstance(err, StatusError) and err.reason == "Conflict"):
                self.event("Warning", reason, f"{said}{err}")
            raise

    async def exists(self, what: tuple[str, str], name: str) -> bool:
        return await plugin_objects.get(self.client, what, name, self.key[0]) is not None

    def wrote(self, resource: str, answer: Obj) -> None:
        """The next visit waits until the cache shows this."""
        self._memory.written.wrote(self.key, self.remembered.uid, resource, answer)

    # ---- its pods and its PodGroup

    async def delete_pod(self, pod: Obj) -> str:
        """What went wrong; empty when the pod is on its way out, or gone."""
        meta = pod["metadata"]
        try:
            answer = await self.client.delete(
                kinds.PODS, meta["name"], self.key[0], DeleteOptions(uid=meta["uid"])
            )
        except (StatusError, Unreachable) as err:
            if not (isinstance(err, StatusError) and err.code == 404):
                return f"failed to delete pod {meta['name']}, err: {err}"
            answer = None
        self.remembered.going.add(meta["uid"])
        if answer is not None:
            self.wrote("pods", answer)
        return ""

    async def let_go(self) -> None:
        """The Job needs its PodGroup no more."""
        if self.view.group is not None:
            await self.delete_group(self.view.group["metadata"]["name"], self.view.group["metadata"]["uid"])
            self.view = self.view.having(self.job, None)

    async def delete_group(self, name: str, uid: str) -> None:
        await plugin_objects.remove(self.client, kinds.POD_GROUPS, name, self.key[0], uid)
        self.remembered.groups.add(uid)

    # ---- the Job itself

    async def annotate(self, values: Mapping[str, str | None]) -> None:
        """Brings annotations of the Job to these values; None takes one away."""
        patch = intents.patch(self.job, values)
        if patch is not None:
            kept = self.job.get("status") or {}
            answer = await self.client.patch(kinds.VOLCANO_JOBS, self.key[1], patch, self.key[0])
            self.wrote_job({**answer, "status": kept})

    async def write_status(self, new: Obj) -> None:
        """Writes the status over exactly the version of the Job that it was derived from."""
        said, phase = self.remembered.said, phase_of({"status": new})
        moves = phase != phase_of(self.job)
        if moves:
            said[phase] = ""
        try:
            answer = await self.client.update_status(
                kinds.VOLCANO_JOBS, {**self.job, "status": new}, self.key[0]
            )
            self.tools.owing.settle(self.key)
        except BaseException:
            said.pop(phase, None)
            raise
        if moves and phase in said:
            said[phase] = answer["metadata"].get("resourceVersion") or ""
        self.wrote_job(answer)

    def wrote_job(self, answer: Obj) -> None:
        """This is the Job now."""
        self.wrote("jobs", answer)
        self.view = self.view.having(answer, self.view.group)


async def together(do: Callable[[Obj], Awaitable[str]], pods: Sequence[Obj]) -> list[str]:
    """Does it to each, side by side, some hundred at a time; returns what went wrong."""
    if len(pods) == 1:
        said = await do(pods[0])  # which needs no task of its own
        return [said] if said else []
    problems: list[str] = []
    for start in range(0, len(pods), AT_ONCE):
        some = await asyncio.gather(*map(do, pods[start : start + AT_ONCE]))
        problems += filter(None, some)
    return problems
