"""Carries decisions out: one sync or one kill of a Job. Never decides; safe to repeat after a crash anywhere.

`job` is always the newest version this controller knows: each write goes over exactly the one before.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from longshore.api.errors import StatusError
from longshore.api.types import Obj
from longshore.client import Client, DeleteOptions, PatchType, Unreachable
from longshore.controllers.volcano import decide, intents, objects, plugins, podgroup, status, tasks
from longshore.controllers.volcano.decide import Selection
from longshore.controllers.volcano.memory import JobMemory, Memory
from longshore.controllers.volcano.metrics import VolcanoMetrics
from longshore.controllers.volcano.names import (
    FORWARDING,
    JOBS,
    OUT_OF_SYNC_MARK,
    PENDING,
    POD_GROUPS,
    phase_of,
)
from longshore.controllers.volcano.owing import Owing
from longshore.controllers.volcano.plugins import Plugin, PluginError
from longshore.controllers.volcano.status import Count
from longshore.controllers.volcano.table import Then
from longshore.controllers.volcano.view import View
from longshore.machinery.cache import Key
from longshore.machinery.clock import Clock, parse
from longshore.machinery.pods import PODS
from longshore.machinery.recorder import Recorder, reference

FAILURES: Final = (StatusError, Unreachable, PluginError, objects.ClaimMissing)
_AT_ONCE: Final = 500
_MARK: Final = [
    {
        "op": "add",
        "path": f"/metadata/annotations/{OUT_OF_SYNC_MARK.replace('/', '~1')}",
        "value": "true",
    }
]


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


class Synced(NamedTuple):
    """What became of a sync."""

    changed: bool
    """Whether the phase is another one now."""
    still: bool = False
    """Whether the view shows the Job's pods as they were left: none was made or removed."""


class Act:
    """The hands of one visit. `why` collects the reasons of what was done."""

    def __init__(self, tools: Tools, key: Key, view: View, remembered: JobMemory) -> None:
        self._tools, self._client, self._key = tools, tools.client, key
        self._memory, self._remembered = tools.memory, remembered
        self.view = view
        self.why: list[str] = []
        self._about = reference(view.job, JOBS)

    @property
    def job(self) -> Obj:
        return self.view.job

    def now(self) -> float:
        return self._tools.clock.now().timestamp()

    def event(self, type: str, reason: str, message: str) -> None:
        self._tools.recorder.event(self._about, type, reason, message)

    # ---- a sync

    async def sync(self, then: Then) -> Synced:
        """Brings PodGroup, plugins' objects and pods up to the spec, and the status up to the pods."""
        if "deletionTimestamp" in self.job["metadata"]:
            self.why.append("the Job is being deleted")
            return Synced(changed=False)
        if self.view.queue is None:
            queue = self.job["spec"].get("queue")
            raise Refused(f'queue.scheduling.volcano.sh "{queue}" not found')
        await self._forward()
        starting = phase_of(self.job) in ("", PENDING)
        if starting:
            await self._initiate()
        else:
            await self._run_plugins(starting=False)
        await self._guarded("PodGroupError", "Failed to create PodGroup, err: ", self._pod_group)
        self._tell_of_group()
        if not self.view.gate_open:
            self.why.append(f"the PodGroup is {self.view.group_phase or 'new'}: no pods are made yet")
            return Synced(await self._conclude(None, then, still=False))
        population = decide.populate(self.view)
        self.why += population.why
        still = not population.create and not population.delete
        await self._create(population.create, population.count)
        await self._delete_surplus(population.delete, population.count)
        return Synced(await self._conclude(population.count, then, still=still), still)

    async def _forward(self) -> None:
        notes = self.job["metadata"].get("annotations") or {}
        if ((self.view.queue or {}).get("spec") or {}).get("extendClusters") and FORWARDING not in notes:
            await self.annotate({FORWARDING: "true"})

    async def _initiate(self) -> None:
        if not phase_of(self.job):
            await self._guarded(
                "JobStatusError",
                "Failed to initialize job status, err: ",
                lambda: self.write_status(status.initial(self.job, self.now())),
            )
        await self._run_plugins(starting=True)
        if self.job["spec"].get("volumes"):
            await self._guarded("PVCError", "Failed to create PVC, err: ", self._claims)

    async def _claims(self) -> None:
        volumes, markers = await objects.claims(self._client, self.job)
        spec = self.job["spec"]
        if volumes != spec["volumes"]:
            kept = self.job.get("status") or {}
            body = {**self.job, "spec": {**spec, "volumes": volumes}}
            answer = await self._client.update(JOBS, body, self._key[0])
            self._wrote_job({**answer, "status": kept})
        self._mark(markers)

    async def _run_plugins(self, *, starting: bool) -> None:
        async def run() -> None:
            for plugin in plugins.enabled(self.job):
                controlled = (self.job.get("status") or {}).get("controlledResources") or {}
                if starting and f"plugin-{plugin.name}" in controlled:
                    continue
                for wanted in plugin.objects(self.job):
                    if starting or wanted.follows:
                        await objects.ensure(self._client, self.job, wanted)
                if starting and plugin.marked:
                    self._mark([(f"plugin-{plugin.name}", plugin.name)])

        if self.job["spec"].get("plugins"):
            await self._guarded("PluginError", "Execute plugin when job add failed, err: ", run)

    def _mark(self, markers: Sequence[tuple[str, str]]) -> None:
        """Notes what the Job controls; it is written with the next change of the status."""
        marked = status.with_markers(self.job.get("status") or {}, markers)
        self.view = self.view.having({**self.job, "status": marked}, self.view.group)

    async def _pod_group(self) -> None:
        namespace, group, priorities = self._key[0], self.view.group, self.view.priorities
        if group is None:
            wanted = podgroup.wanted(self.job, priorities)
            group = await self._client.create(POD_GROUPS, wanted, namespace)
            self.why.append("creates the PodGroup")
        else:
            known = self._remembered.grouped
            if (
                known is not None
                and known[0] is self.job["spec"]
                and known[1:] == (group["spec"], priorities)
            ):
                return
            changed = podgroup.updated(group, self.job, priorities)
            if changed is None:
                self._remembered.grouped = self.job["spec"], group["spec"], priorities
                return
            group = await self._client.update(POD_GROUPS, changed, namespace)
            self.why.append("brings the PodGroup up to the spec")
        self._remembered.grouped = self.job["spec"], group["spec"], priorities
        self._wrote("podgroups", group)
        self.view = self.view.having(self.job, group)

    def _tell_of_group(self) -> None:
        conditions = ((self.view.group or {}).get("status") or {}).get("conditions") or ()
        true = [c for c in conditions if c.get("status") == "True"]
        if true:
            newest = max(true, key=lambda c: c.get("lastTransitionTime") or "")
            if newest.get("type") != "Scheduled":
                namespace, name = self._key
                kind = (newest.get("type") or "").lower()
                said = f"PodGroup {namespace}:{name} {kind}, reason: {newest.get('message') or ''}"
                self.event("Warning", "PodGroupPending", said)

    async def _create(self, wanted: Sequence[tuple[str, Obj]], count: Count) -> None:
        problems: list[str] = []
        for start in range(0, len(wanted), _AT_ONCE):
            problems += await self._create_some(wanted[start : start + _AT_ONCE], count)
        if problems:
            self.event("Warning", "FailedCreate", f"Error creating pods: [{' '.join(problems)}]")
            number = len(self.job["spec"].get("tasks") or ())
            raise Refused(f"failed to create {len(problems)} pods of {number}")

    async def _create_some(self, wanted: Sequence[tuple[str, Obj]], count: Count) -> list[str]:
        """What went wrong. Pods that are there already are no problem, but count only once they are seen."""
        begun = parse(self.job["metadata"]["creationTimestamp"]).timestamp()
        making = self._remembered.making
        making.update(body["metadata"]["name"] for _, body in wanted)
        answers = await self._client.create_together(PODS, [body for _, body in wanted], self._key[0])
        problems = []
        for (task, body), answer in zip(wanted, answers, strict=True):
            if isinstance(answer, StatusError | Unreachable):
                name = body["metadata"]["name"]
                if isinstance(answer, StatusError):
                    making.discard(name)
                if not (isinstance(answer, StatusError) and answer.reason == "AlreadyExists"):
                    problems.append(f"failed to create pod {name}, err: {answer}")
                continue
            self._wrote("pods", answer)
            count.add(task, answer)
            self._tools.metrics.pod_created((self.now() - begun) * 1000)
        return problems

    async def _delete_surplus(self, pods: Sequence[Obj], count: Count) -> None:
        problems = [said for said in await _together(self._delete, [(pod,) for pod in pods]) if said]
        count.going(len(pods) - len(problems))
        if not count.counters["terminating"]:
            del count.counters["terminating"]
        if problems:
            self.event("Warning", "FailedDelete", f"Error deleting pods: [{' '.join(problems)}]")
            raise Refused(f"failed to delete {len(problems)} pods of {len(pods)}")

    async def _conclude(self, count: Count | None, then: Then, *, still: bool) -> bool:
        """Writes down what the Job is now; whether that is another phase than before."""
        end = decide.concluded(self.job, count, then, self.now())
        self.why += end.why
        if end.status is None:
            return False
        if end.change is None:
            if self._can_wait(end.status):
                self._tools.owing.add(self._key)
                self.why.append("others wait for their turn: the counters are written later")
            else:
                await self.write_status(end.status)
            return False
        self._tools.metrics.changed(self.job, end.change.phase)
        cleaned = decide.cleaned(self.view, end.status, self.now()) if still else None
        await self.write_status(end.status if cleaned is None else cleaned)
        if cleaned is not None:
            await self._let_go()
        return True

    def _can_wait(self, new: Obj) -> bool:
        """Whether a status may be written a little later, together with what comes next: it only counts pods,
        nobody has to be told of one that vanishes meanwhile, and there is more urgent work."""
        return (
            self._key not in self._tools.owing
            and self._tools.owing.busy(self._key)
            and not tasks.any_policies(self.job)
            and status.only_counts_differ(self.job.get("status") or {}, new)
        )

    # ---- a kill

    async def kill(self, selection: Selection, then: Then) -> None:
        """Removes the selected pods, then writes down what the Job is now, then lets go of its PodGroup."""
        self.why += selection.why
        unmarked = [pod for pod in selection.delete if not tasks.marked(pod)]
        problems = [said for said in await _together(self._kill_mark, _each(unmarked)) if said]
        problems += [said for said in await _together(self._delete, _each(selection.delete)) if said]
        if problems:
            self.event("Warning", "FailedDelete", f"Error deleting pods: [{' '.join(problems)}]")
            raise Refused(f"failed to kill {len(problems)} pods of {selection.total}")
        end = decide.killed(self.job, selection, then, self.now())
        self.why += end.why
        assert end.status is not None
        gone = await self._remove_plugins()
        if end.change is not None:
            self._tools.metrics.changed(self.job, end.change.phase)
        await self.write_status(status.with_markers(end.status, (), gone))
        if selection.whole:
            await self._let_go()

    async def _kill_mark(self, pod: Obj) -> str:
        meta = pod["metadata"]
        try:
            self._wrote(
                "pods",
                await self._client.patch(PODS, meta["name"], _MARK, self._key[0], type=PatchType.JSON),
            )
        except (StatusError, Unreachable) as err:
            if not (isinstance(err, StatusError) and err.code == 404):
                return f"failed to mark pod {meta['name']}, err: {err}"
        return ""

    async def _delete(self, pod: Obj) -> str:
        meta = pod["metadata"]
        try:
            answer = await self._client.delete(
                PODS, meta["name"], self._key[0], DeleteOptions(uid=meta["uid"])
            )
        except (StatusError, Unreachable) as err:
            if not (isinstance(err, StatusError) and err.code == 404):
                return f"failed to delete pod {meta['name']}, err: {err}"
            answer = None
        self._remembered.going.add(meta["uid"])
        if answer is not None:
            self._wrote("pods", answer)
        return ""

    async def _remove_plugins(self) -> list[str]:
        """The marks of those whose objects are gone now."""
        controlled = (self.job.get("status") or {}).get("controlledResources") or {}
        gone = []
        for plugin in self._plugins():
            mark = f"plugin-{plugin.name}"
            if mark in controlled:
                await objects.remove_all(self._client, self.job, plugin)
                gone.append(mark)
        return gone

    def _plugins(self) -> list[Plugin]:
        try:
            return plugins.enabled(self.job)
        except PluginError:
            return []  # one that nobody knows has made nothing

    async def _let_go(self) -> None:
        """The Job needs its PodGroup no more."""
        if self.view.group is not None:
            await self.delete_group(self.view.group["metadata"]["name"], self.view.group["metadata"]["uid"])
            self.view = self.view.having(self.job, None)

    async def delete_group(self, name: str, uid: str) -> None:
        await objects.remove(self._client, POD_GROUPS, name, self._key[0], uid)
        self._remembered.groups.add(uid)

    async def exists(self, what: tuple[str, str], name: str) -> bool:
        return await objects.get(self._client, what, name, self._key[0]) is not None

    # ---- writes to the Job

    async def annotate(self, values: Mapping[str, str | None]) -> None:
        """Brings annotations of the Job to these values; None takes one away."""
        patch = intents.patch(self.job, values)
        if patch is not None:
            kept = self.job.get("status") or {}
            answer = await self._client.patch(JOBS, self._key[1], patch, self._key[0])
            self._wrote_job({**answer, "status": kept})

    async def write_status(self, new: Obj) -> None:
        """Writes the status over exactly the version of the Job that it was derived from."""
        said, phase = self._remembered.said, phase_of({"status": new})
        moves = phase != phase_of(self.job)
        if moves:
            said[phase] = ""
        try:
            answer = await self._client.update_status(JOBS, {**self.job, "status": new}, self._key[0])
            self._tools.owing.settle(self._key)
        except BaseException:
            said.pop(phase, None)
            raise
        if moves and phase in said:
            said[phase] = answer["metadata"].get("resourceVersion") or ""
        self._wrote_job(answer)

    def _wrote_job(self, answer: Obj) -> None:
        self._wrote("jobs", answer)
        self.view = self.view.having(answer, self.view.group)

    def _wrote(self, resource: str, answer: Obj) -> None:
        """The next visit waits until the cache shows this."""
        self._memory.written.wrote(self._key, self._remembered.uid, resource, answer)

    async def _guarded(self, reason: str, said: str, do: Callable[[], Awaitable[None]]) -> None:
        """Does something of which a failure is told in an event; not that somebody else was quicker."""
        try:
            await do()
        except FAILURES as err:
            if not (isinstance(err, StatusError) and err.reason == "Conflict"):
                self.event("Warning", reason, f"{said}{err}")
            raise


def _each(pods: Sequence[Obj]) -> list[tuple[Obj]]:
    return [(pod,) for pod in pods]


async def _together(do: Callable[..., Awaitable[str]], arguments: Sequence[tuple[Any, ...]]) -> list[str]:
    """Side by side, some hundred at a time."""
    if len(arguments) == 1:
        return [await do(*arguments[0])]  # which needs no task of its own
    said: list[str] = []
    for start in range(0, len(arguments), _AT_ONCE):
        some = arguments[start : start + _AT_ONCE]
        said += await asyncio.gather(*(do(*each) for each in some))
    return said
