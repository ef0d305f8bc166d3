"""The end of a pod on this node: its last status is in the API, or the API has deleted it.

Releases what the pod held: its requests, its address, the runtime's records, its `Life`. Deletes the pod if
the API kept it only until its node had stopped it. Stops nothing itself; see `pod/stopping.py`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Final

from longshore.api.errors import StatusError
from longshore.api.facts import kinds, pod_state
from longshore.api.types import Obj
from longshore.client import Client, DeleteOptions, Unreachable
from longshore.machinery.informers.cache import Cache
from longshore.machinery.time.clock import Clock
from longshore.node.addresses import Addresses
from longshore.node.admission import Ledger
from longshore.node.cleaning import Cleaner
from longshore.node.metrics import NodeMetrics
from longshore.node.pod.life import Life
from longshore.node.pod.memory import PodVerdict

_DELETE_RETRY_SECONDS: Final = 1.0

log = logging.getLogger(__name__)


class Endings:
    """`lives` are the agent's; ended pods are removed from them here. `pods` is the cache of pods, `spawn`
    runs a coroutine in the background."""

    def __init__(
        self,
        client: Client,
        clock: Clock,
        pods: Cache,
        lives: dict[str, Life],
        *,
        ledger: Ledger,
        addresses: Addresses,
        cleaner: Cleaner,
        metrics: NodeMetrics,
        spawn: Callable[[Coroutine[Any, Any, None]], None],
    ) -> None:
        self.reported: set[str] = set()
        """Uids of pods whose end is in the API but not in the cache yet."""
        self._client, self._clock, self._pods, self._lives = client, clock, pods, lives
        self._ledger, self._addresses, self._cleaner = ledger, addresses, cleaner
        self._metrics, self._spawn = metrics, spawn

    def closed(self, life: Life) -> None:
        """Releases the pod, whose final status is in the API."""
        if life.closed:
            return
        self._metrics.ended(life.memory.terminal)
        self._release(life)
        if waits_for_us(life.memory.pod):
            self._spawn(self._delete(life))
        else:
            self._drop(life)

    def forget(self, life: Life) -> None:
        """Releases a pod that is gone from the API and has nothing running."""
        self._release(life)
        self._drop(life)

    def _release(self, life: Life) -> None:
        life.closed = True
        quiet(life)
        self._ledger.release(life.memory.facts.uid)
        if life.runtime is not None and life.keys:
            self._cleaner.keys(life.runtime, life.keys)

    async def _delete(self, life: Life) -> None:
        """Deletes the stopped pod from the API."""
        facts = life.memory.facts
        options = DeleteOptions(grace_period_seconds=0, uid=facts.uid)
        while not life.memory.gone:
            try:
                await self._client.delete(kinds.PODS, facts.name, facts.namespace, options)
                break
            except StatusError as err:
                seen = self._pods.get(facts.namespace, facts.name)
                if err.code == 404 or (seen is not None and seen["metadata"]["uid"] != facts.uid):
                    break
                log.warning("pod %s could not be deleted: %s", facts.title, err)
            except Unreachable as err:
                log.info("pod %s: trying again: %s", facts.title, err)
            await self._clock.sleep(_DELETE_RETRY_SECONDS)
        self._drop(life)

    def _drop(self, life: Life) -> None:
        """Frees the pod's address and removes it from the lives."""
        memory = life.memory
        facts = memory.facts
        self._addresses.release(facts.uid, memory.ip)
        self._cleaner.stopped(facts.uid)
        if memory.gone:
            self._cleaner.pod_gone(memory.pod)
        if self._lives.get(facts.uid) is life:
            del self._lives[facts.uid]
            if not memory.gone:
                seen = self._pods.get(facts.namespace, facts.name) or {}
                if not pod_state.has_ended(seen):
                    self.reported.add(facts.uid)


def waits_for_us(pod: Obj) -> bool:
    """Whether the pod is being deleted and the API waits for the node to say that it has stopped."""
    meta = pod["metadata"]
    return "deletionTimestamp" in meta and bool(meta.get("deletionGracePeriodSeconds"))


def quiet(life: Life) -> None:
    """Cancels the timer and the probes of a pod."""
    if life.timer is not None:
        life.timer.cancel()
        life.timer = None
    life.hold = 0.0
    for probing in life.probing.values():
        probing.stop()


MESSAGE: Final = "Pod was terminated in response to imminent node shutdown."
_MAX_GRACE_SECONDS: Final = 5.0
_WRITING_SECONDS: Final = 2.0
"""Time beyond the grace period in which the last statuses are written."""
_PAUSE_SECONDS: Final = 0.02


async def stop_all(lives: Mapping[str, Life], clock: Clock, wake: Callable[[Life], None]) -> None:
    """Stops every running pod and waits until its end is in the API. Pods that have not started stay as they
    are; the next longshore starts them."""
    running = [life for life in lives.values() if any(r.running or r.starting for r in life.memory.records())]
    for life in lives.values():
        life.memory.leaving = True
    for life in running:
        memory = life.memory
        if memory.verdict is None:
            memory.verdict = PodVerdict(
                "Terminated", MESSAGE, grace=min(_MAX_GRACE_SECONDS, memory.facts.grace)
            )
        wake(life)
    end = clock.monotonic() + _MAX_GRACE_SECONDS + _WRITING_SECONDS
    while any(not life.closed for life in running) and clock.monotonic() < end:
        await clock.sleep(_PAUSE_SECONDS)
