"""Evicts pods to make room: sets a condition, deletes the pod with its grace period, records an event."""

from __future__ import annotations

import logging

from longshore.api.errors import StatusError, tolerated
from longshore.api.facts import kinds
from longshore.api.time import rfc3339
from longshore.api.types import Obj
from longshore.client import Client, DeleteOptions, PatchType, Unreachable
from longshore.machinery import catalogue
from longshore.machinery.background import Background
from longshore.machinery.catalogue import Event
from longshore.machinery.events.recorder import Recorder, reference
from longshore.machinery.time.clock import Clock
from longshore.scheduler.fitting.pod_shape import Pod

log = logging.getLogger(__name__)


class Evictor:
    """Evicts pods for one scheduler. Skips pods that are being deleted."""

    def __init__(self, client: Client, recorder: Recorder, clock: Clock) -> None:
        self._client, self._recorder, self._clock = client, recorder, clock
        self._background = Background()

    def preempt(self, victim: Pod, by: Pod, node: str) -> None:
        """Evicts with upstream's words for preemption by the pod scheduler. Returns at once."""
        event = catalogue.event("Preempted", {"pod": by.uid, "node": node})
        self.evict(victim, {"DisruptionTarget": preempting(by)}, event)

    def evict(self, victim: Pod, conditions: dict[str, Obj], event: Event) -> None:
        """Evicts a pod in the background. `conditions` are by type; their status is True unless given."""
        if "deletionTimestamp" in victim.obj["metadata"]:
            return
        self._background.spawn(self._evict(victim, conditions, event))

    async def _evict(self, victim: Pod, conditions: dict[str, Obj], event: Event) -> None:
        namespace, name = victim.key
        now = rfc3339.from_moment(self._clock.now())
        new = [
            {"type": kind, "status": "True", "lastProbeTime": None, "lastTransitionTime": now, **rest}
            for kind, rest in conditions.items()
        ]
        patch = {"metadata": {"uid": victim.uid}, "status": {"conditions": new}}
        try:
            with tolerated(404, 409):
                await self._client.patch(
                    kinds.PODS, name, patch, namespace, type=PatchType.STRATEGIC, subresource="status"
                )
                await self._client.delete(kinds.PODS, name, namespace, DeleteOptions(uid=victim.uid))
                self._recorder.event(reference(victim.obj, kinds.PODS), *event)
        except (StatusError, Unreachable) as err:
            log.warning("pod %s/%s could not be removed: %s", namespace, name, err)


def preempting(pod: Pod) -> Obj:
    """The condition of a victim, in upstream's words, by the scheduler of this pod."""
    scheduler = pod.obj["spec"].get("schedulerName", "")
    message = f"{scheduler}: preempting to accommodate a higher priority pod"
    return {"reason": "PreemptionByScheduler", "message": message}
