"""The end of a pod on this node: its last status is in the API, or the pod itself is gone from there.

What it held is given back: room, address, the engine's records, its place among the lives. A pod that the API
keeps only until its node has stopped it is deleted for good. Stops nothing itself; see `pod/stopping.py`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine
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

_DELETE_RETRY_SECONDS: Final = 1.0

log = logging.getLogger(__name__)


class Endings:
    """`lives` are the agent's; whoever has ended leaves them here. `pods` is the cache of what the API says,
    `spawn` runs a coroutine in the background."""

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
        """Uids of pods whose end is in the API and not yet in the cache: what the cache tells is old news."""
        self._client, self._clock, self._pods, self._lives = client, clock, pods, lives
        self._ledger, self._addresses, self._cleaner = ledger, addresses, cleaner
        self._metrics, self._spawn = metrics, spawn

    def closed(self, life: Life) -> None:
        """The final status is in the API."""
        if life.closed:
            return
        self._metrics.ended(life.memory.terminal)
        self._release(life)
        if waits_for_us(life.memory.pod):
            self._spawn(self._delete(life))
        else:
            self._drop(life)

    def forget(self, life: Life) -> None:
        """The pod is gone from the API, and nothing of it runs."""
        self._release(life)
        self._drop(life)

    def _release(self, life: Life) -> None:
        life.closed = True
        quiet(life)
        self._ledger.release(life.memory.facts.uid)
        if life.runtime is not None and life.keys:
            self._cleaner.keys(life.runtime, life.keys)

    async def _delete(self, life: Life) -> None:
        """The pod has stopped: the API may let go of it."""
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
        """Nothing is left to do for the pod as long as it stays in the API."""
        memory = life.memory
        facts = memory.facts
        self._addresses.release(facts.uid, memory.ip)
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
    """No timer rings and no probe runs for it any more."""
    if life.timer is not None:
        life.timer.cancel()
        life.timer = None
    life.hold = 0.0
    for probing in life.probing.values():
        probing.stop()
