"""A kubelet on the virtual clock that runs nothing: pods start, run for a while and end as a script says.

It binds each pod that has no other scheduler, reports it running and ready, and later its end. A pod that is
deleted stops a second later and is then removed, as a real kubelet does it; one that never got to a node is
marked failed, as pod garbage collection does it. Keeps a ledger of every pod that ever was.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from longshore.api.errors import StatusError
from longshore.api.facts import owners, pod_state
from longshore.api.time import rfc3339
from longshore.api.types import Obj
from longshore.client import Client, DeleteOptions
from longshore.machinery.time.clock import Clock

PODS = ("v1", "Pod")
TRACKING = "batch.kubernetes.io/job-tracking"
_STOPPING_SECONDS = 1.0
_OWN_SCHEDULER = "default-scheduler"


@dataclass
class ScriptedPod:
    """One pod; it stays recorded after its deletion."""

    uid: str
    name: str
    job: str
    """UID of the Job that created it; empty if none did."""
    index: int | None
    number: int
    """Position in order of creation, over all Jobs."""
    nth: int
    """How many pods had its name before it."""
    is_bound: bool
    """Whether it has a node."""
    phase: str = ""
    """Succeeded or Failed once the kubelet has reported it."""
    stopping: bool = False
    """Whether the pod is being deleted, or gone."""
    finishing: bool = False
    """Whether a test wants it to end now."""
    told: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when `is_bound`, `stopping` or `finishing` becomes true."""

    def stop(self) -> None:
        self.stopping = True
        self.told.set()

    def finish(self) -> None:
        """Lets a pod that would run for longer end now, as its script says."""
        self.finishing = True
        self.told.set()


@dataclass(frozen=True, slots=True)
class PodScript:
    """How pods behave."""

    runs: Callable[[ScriptedPod], float | None] = lambda pod: 30.0
    """Seconds until the pod ends; None for never. Called when the pod starts."""
    exits: Callable[[ScriptedPod, int], int] = lambda pod, nth: 0
    """The exit code. Called when the pod ends; `nth` pods of its Job and index have ended before it."""
    status: Callable[[ScriptedPod], Obj] = lambda pod: {}
    """Additional fields of the status of a failed pod: conditions, a reason."""
    holds: bool = False
    """Whether pods run until a test calls `finish`; see `ScriptedKubelet.holds`."""
    starts: Callable[[ScriptedPod], float | None] = lambda pod: 1.0
    """Seconds from creation, or from its binding by a scheduler, to running; None for never."""


class ScriptedKubelet:
    """A kubelet over scripted pods. `run` works until cancelled."""

    def __init__(self, client: Client, clock: Clock, script: PodScript, namespace: str = "ns") -> None:
        self.pods: dict[str, ScriptedPod] = {}
        """Every pod that ever was, by UID, in order of creation."""
        self.holds = script.holds
        """Whether pods that start now run until `finish` is called."""
        self._client, self._clock, self._script, self._namespace = client, clock, script, namespace
        self._ended: dict[tuple[str, int | None], int] = {}
        self._names = Counter[str]()

    async def run(self) -> None:
        watch = self._client.watch(PODS, self._namespace, initial_events=True)
        async with asyncio.TaskGroup() as tasks, watch as events:
            async for event in events:
                if event.type == "BOOKMARK":
                    continue
                meta = event.object["metadata"]
                pod = self.pods.get(meta["uid"])
                if pod is None:
                    pod = self._new(event.object)
                    binds = event.object["spec"].get("schedulerName") in (None, _OWN_SCHEDULER)
                    tasks.create_task(self._live(pod, binds and not pod.is_bound))
                if event.type == "DELETED" or "deletionTimestamp" in meta:
                    pod.stop()
                elif not pod.is_bound and event.object["spec"].get("nodeName"):
                    pod.is_bound = True
                    pod.told.set()

    def _new(self, obj: Obj) -> ScriptedPod:
        meta = obj["metadata"]
        job, index = (owners.controller_of(obj) or {}).get("uid", ""), pod_state.completion_index(obj)
        nth, is_bound = self._names[meta["name"]], bool(obj["spec"].get("nodeName"))
        pod = ScriptedPod(meta["uid"], meta["name"], job, index, len(self.pods), nth, is_bound)
        self._names[pod.name] += 1
        self.pods[pod.uid] = pod
        return pod

    async def _live(self, pod: ScriptedPod, binds: bool) -> None:
        try:
            while not (binds or pod.is_bound or pod.stopping):
                await pod.told.wait()
            if not pod.stopping:
                pod.told.clear()
            await _told(self._clock, pod, self._script.starts(pod))
            if not pod.stopping:
                if binds:
                    pod.is_bound = True
                    await self._bind(pod)
                at = rfc3339.from_moment(self._clock.now())
                await self._report(pod, "Running", at, {"running": {"startedAt": at}}, startTime=at)
                await _told(self._clock, pod, None if self.holds else self._script.runs(pod))
                if pod.stopping:
                    await self._clock.sleep(_STOPPING_SECONDS)
            if pod.stopping:
                await self._ended_as(pod, "Failed", 137, **self._script.status(pod))
            else:
                await self._end(pod)
                while not pod.stopping:
                    pod.told.clear()
                    await pod.told.wait()
            remove = DeleteOptions(grace_period_seconds=0, uid=pod.uid)
            await self._client.delete(PODS, pod.name, self._namespace, remove)
        except StatusError as err:
            # It is gone, or another of its name is there.
            if err.code not in ((404, 409, 422) if pod.stopping else (404, 409)):
                raise

    async def _bind(self, pod: ScriptedPod) -> None:
        binding = {"metadata": {"name": pod.name}, "target": {"kind": "Node", "name": "node"}}
        await self._client.create(PODS, binding, self._namespace, name=pod.name, subresource="binding")

    async def _end(self, pod: ScriptedPod) -> None:
        key = (pod.job, pod.index)
        nth = self._ended.get(key, 0)
        self._ended[key] = nth + 1
        if code := self._script.exits(pod, nth):
            await self._ended_as(pod, "Failed", code, **self._script.status(pod))
        else:
            await self._ended_as(pod, "Succeeded", 0)

    async def _ended_as(self, pod: ScriptedPod, phase: str, code: int, **more: Any) -> None:
        pod.phase = phase  # before the write: the ledger has each end before a watcher can see it
        at = rfc3339.from_moment(self._clock.now())
        state = {"terminated": {"exitCode": code, "startedAt": at, "finishedAt": at}}
        await self._report(pod, phase, at, state, **more)

    async def _report(self, pod: ScriptedPod, phase: str, at: str, state: Obj, **more: Any) -> None:
        ready = {"type": "Ready", "status": str(phase == "Running"), "lastTransitionTime": at}
        status: Obj = {"phase": phase, "containerStatuses": [container(state)], **more}
        status["conditions"] = [ready, *more.get("conditions", ())]
        patch = {"metadata": {"uid": pod.uid}, "status": status}
        await self._client.patch(PODS, pod.name, patch, self._namespace, subresource="status")


async def _told(clock: Clock, pod: ScriptedPod, seconds: float | None) -> None:
    """Waits until the pod has to stop or to finish, for `seconds` at most; None for no limit."""
    if seconds is None:
        await pod.told.wait()
        return
    with contextlib.suppress(TimeoutError):
        async with clock.timeout(seconds):
            await pod.told.wait()


def container(state: Obj) -> Obj:
    """The status of a pod's only container in this state."""
    ready = "running" in state
    return {
        "name": "main", "image": "i", "imageID": "", "ready": ready, "restartCount": 0, "state": state
    }  # fmt: skip
