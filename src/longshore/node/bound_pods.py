"""Follows the pods bound to this node: which are new, were here before a restart, change, or are deleted.

Notes each change in the memory of the pod and wakes its sync. Asks `admission.py` whether a new pod fits;
decides nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from longshore.api.facts import pod_state
from longshore.api.time import rfc3339
from longshore.api.types import Obj
from longshore.machinery.informers.cache import Cache, key_of
from longshore.machinery.informers.informer import Handler
from longshore.machinery.time.clock import Clock
from longshore.node import ending
from longshore.node.addresses import Addresses
from longshore.node.admission import Ledger
from longshore.node.cleaning import Cleaner
from longshore.node.ending import Endings
from longshore.node.events import Events
from longshore.node.open_runtimes import OpenRuntimes
from longshore.node.pod import recall
from longshore.node.pod.facts import Facts, facts_of
from longshore.node.pod.life import Life
from longshore.node.pod.memory import PodMemory
from longshore.node.pod.recall import adopt
from longshore.node.pod_sync import PodSync
from longshore.node.preparing.types import Preparation
from longshore.node.runtime import ContainerState
from longshore.node.status.build import HOST_IP


class BoundPods(Handler):
    """`lives` are the agent's: pods enter them here. `spawn` runs a coroutine in the background."""

    def __init__(
        self,
        name: str,
        lives: dict[str, Life],
        clock: Clock,
        *,
        pods: Cache,
        sync: PodSync,
        runtimes: OpenRuntimes,
        endings: Endings,
        ledger: Ledger,
        addresses: Addresses,
        cleaner: Cleaner,
        events: Events,
        preparer: Preparation,
        spawn: Callable[[Coroutine[Any, Any, None]], None],
    ) -> None:
        self._name, self._lives, self._clock, self._pods, self._sync = name, lives, clock, pods, sync
        self._runtimes, self._endings, self._ledger, self._addresses = runtimes, endings, ledger, addresses
        self._cleaner, self._events, self._preparer, self._spawn = cleaner, events, preparer, spawn

    def is_ours(self, pod: Obj) -> bool:
        return bool(pod["spec"].get("nodeName") == self._name)

    def on_add(self, obj: Obj, initial: bool) -> None:
        if not self.is_ours(obj):
            return
        uid = obj["metadata"]["uid"]
        states = self._runtimes.take(uid)
        status = obj.get("status") or {}
        is_over = pod_state.has_ended(obj)
        if uid in self._endings.reported:
            if is_over:
                self._endings.reported.discard(uid)
            return
        if is_over and states is None and not ending.waits_for_us(obj):
            return
        if states is None and not status.get("startTime"):
            self._new(obj)
        else:
            self._remember(self._pods.get(*key_of(obj)) or obj, states or [])  # whole, if it has settled

    def on_update(self, old: Obj, new: Obj) -> None:
        life = self._lives.get(new["metadata"]["uid"])
        if life is None:
            self.on_add(new, False)
            return
        memory = life.memory
        if int(new["metadata"]["resourceVersion"]) > int(memory.pod["metadata"]["resourceVersion"]):
            memory.pod = new
        if not memory.terminal and not life.writing:
            phase = (new.get("status") or {}).get("phase")
            if phase in pod_state.ENDED:
                memory.terminal = phase  # written by another client; our own is noted when it is written
                self._sync.wake(life)
        if "deletionTimestamp" in new["metadata"]:
            self._deleted(life)
        elif new["spec"] is not memory.facts.spec and _differs(new["spec"], memory.facts):
            memory.see(facts_of(new))
            self._sync.wake(life)

    def on_delete(self, obj: Obj, stale: bool) -> None:
        if not self.is_ours(obj):
            return
        uid = obj["metadata"]["uid"]
        self._endings.reported.discard(uid)
        life = self._lives.get(uid)
        if life is None:
            self._cleaner.pod_gone(obj)
            return
        life.memory.gone = True
        self._sync.wake(life)

    def _deleted(self, life: Life) -> None:
        """Notes that the pod is being deleted, or that its grace period is shorter now."""
        memory, meta = life.memory, life.memory.pod["metadata"]
        grace = float(meta.get("deletionGracePeriodSeconds") or 0)
        if memory.deleting is None:
            memory.deleting, memory.delete_grace = self._clock.monotonic(), grace
        elif grace < memory.delete_grace:
            memory.delete_grace = grace
        else:
            return
        self._sync.wake(life)

    def _new(self, pod: Obj) -> None:
        """Takes in a pod that was bound just now."""
        uid, spec = pod["metadata"]["uid"], pod["spec"]
        memory = recall.new(pod, self._address(uid, pod))
        memory.started_at = self._clock.now().timestamp()
        memory.start_time = rfc3339.from_seconds(memory.started_at)
        life = self._life(pod, memory)
        if "deletionTimestamp" in pod["metadata"]:
            self._deleted(life)
        elif (refused := self._ledger.admit(uid, spec)) is not None:
            memory.rejected, memory.verdict = True, refused
            message = refused.message.removeprefix("Pod was rejected: ")
            self._events.pod(pod, "PodStopped", verdict=refused.reason, message=message)
        memory.leaving = self._sync.stopped
        self._sync.wake(life)

    def _remember(self, pod: Obj, states: list[ContainerState]) -> None:
        """Takes in a pod that was here before longshore was restarted."""
        uid = pod["metadata"]["uid"]
        memory = recall.recalled(pod, self._address(uid, pod), states)
        if not memory.start_time:
            memory.started_at = min((s.started_at for s in states if s.started_at), default=0.0)
            memory.started_at = memory.started_at or self._clock.now().timestamp()
            memory.start_time = rfc3339.from_seconds(memory.started_at)
        life = self._life(pod, memory)
        life.keys = {state.key for state in states}
        life.written = pod.get("status")
        if not memory.terminal:
            self._ledger.hold(uid, pod["spec"])
        if "deletionTimestamp" in pod["metadata"]:
            self._deleted(life)
            # It had some of its grace period already. Whole seconds: the last one may not be over.
            ends = rfc3339.seconds(pod["metadata"]["deletionTimestamp"]) + 1.0
            left = max(ends - self._clock.now().timestamp(), 0.0)
            memory.delete_grace = min(memory.delete_grace, left)
        life.adopting = True
        self._spawn(self._adopted(life))

    async def _adopted(self, life: Life) -> None:
        await adopt(life, self._preparer)
        life.adopting = False
        self._sync.wake(life)

    def _address(self, uid: str, pod: Obj) -> str:
        if pod["spec"].get("hostNetwork"):
            return HOST_IP
        return self._addresses.of(uid, (pod.get("status") or {}).get("podIP") or "")

    def _life(self, pod: Obj, memory: PodMemory) -> Life:
        life = self._lives[memory.facts.uid] = Life(memory, self._runtimes.of(pod))
        return life


def _differs(spec: Obj, facts: Facts) -> bool:
    """Whether a field has changed that may change while a pod runs and that the node uses."""
    added = len(spec.get("ephemeralContainers") or ()) != len(facts.ephemerals)
    return added or spec.get("activeDeadlineSeconds") != facts.deadline
