"""Writes bindings, many at a time, so that one commit takes many of them.

A binding that was refused is undone in the ledger. One whose answer was lost is asked for again until there
is an answer: the pod may have its node already, and its room must not be given away meanwhile.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Callable
from typing import Final

from longshore.api.errors import StatusError
from longshore.api.facts import kinds
from longshore.client import Client, Unreachable
from longshore.machinery.background import Background
from longshore.machinery.queues.backoff import Backoff
from longshore.machinery.time.clock import Clock
from longshore.scheduler.fitting.pod_shape import Pod
from longshore.scheduler.ledger import Ledger

_SETTLED: Final = (404, 409)
"""Gone, leaving, or bound by another: the watch tells which."""
_MAX_BINDINGS: Final = 512
log = logging.getLogger(__name__)

Failed = Callable[[Pod, str], None]
Bound = Callable[[Pod, str], None]


class Binder:
    """Of one scheduler. `bound` and `failed` hear how each binding ended, `freed` when it is busy no more."""

    def __init__(
        self,
        client: Client,
        ledger: Ledger,
        *,
        clock: Clock,
        rng: random.Random,
        bound: Bound,
        failed: Failed,
        freed: Callable[[], None] | None = None,
    ) -> None:
        self._client, self._ledger, self._clock, self._rng = client, ledger, clock, rng
        self._bound, self._failed, self._freed = bound, failed, freed
        self._background, self._under_way = Background(), 0

    @property
    def busy(self) -> bool:
        """Whether more bindings are on their way than one commit should take."""
        return self._under_way >= _MAX_BINDINGS

    def start(self, pod: Pod, node: str) -> None:
        """Binds a pod that the ledger assumes on this node. Returns at once."""
        self._under_way += 1
        self._background.spawn(self._started(pod, node))

    async def _started(self, pod: Pod, node: str) -> None:
        try:
            await self.bind(pod, node)
        finally:
            was_busy = self.busy
            self._under_way -= 1
            if was_busy and self._freed is not None:
                self._freed()

    async def bind(self, pod: Pod, node: str) -> bool:
        """Whether the pod has its node now."""
        namespace, name = pod.key
        binding = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": name, "namespace": namespace, "uid": pod.uid},
            "target": {"kind": "Node", "name": node},
        }
        pauses: Backoff | None = None
        while True:
            try:
                await self._client.create(kinds.PODS, binding, namespace, name=name, subresource="binding")
            except StatusError as err:
                if err.code != 409 or not await self._has_node(pod):
                    self._ledger.forget(pod.uid)
                if err.code not in _SETTLED:
                    self._failed(pod, str(err))
                return False
            except Unreachable as err:
                log.warning("binding %s/%s to node %s: %s; trying again", namespace, name, node, err)
                pauses = pauses or Backoff(self._clock, self._rng)
                await self._clock.sleep(pauses.next())
            else:
                self._bound(pod, node)
                return True

    async def _has_node(self, pod: Pod) -> bool:
        """Whether the pod is bound although we were refused: by another, or by us when no answer came."""
        namespace, name = pod.key
        try:
            found = await self._client.get(kinds.PODS, name, namespace)
        except (StatusError, Unreachable):
            return False
        return found["metadata"]["uid"] == pod.uid and bool(found["spec"].get("nodeName"))

    def cancel(self) -> None:
        """Nothing is written after this; what was on its way, the watch will tell."""
        self._background.cancel()
