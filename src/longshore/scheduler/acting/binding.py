"""Writes bindings, many at a time, so that one commit takes many of them.

A refused binding is undone in the ledger. If the answer to a binding was lost, it is sent again until there
is an answer: the pod may have its node already, and its room must not be given away meanwhile.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final

from longshore.api.errors import StatusError
from longshore.api.facts import kinds
from longshore.client import Unreachable
from longshore.machinery.background import Background
from longshore.machinery.queues.backoff import Backoff
from longshore.scheduler.acting.claiming import Claims
from longshore.scheduler.cluster import Cluster
from longshore.scheduler.fitting.pod_claims import Needs
from longshore.scheduler.fitting.pod_shape import Pod

_SETTLED: Final = (404, 409)
"""The pod is gone, being deleted, or bound by another: the watch shows which."""
_MAX_BINDINGS: Final = 512
log = logging.getLogger(__name__)

Failed = Callable[[Pod, str], None]
Bound = Callable[[Pod, str], None]


class Binder:
    """Binds pods of one scheduler. Calls `bound` or `failed` for each, and `freed` when no longer busy."""

    def __init__(
        self,
        cluster: Cluster,
        *,
        bound: Bound,
        failed: Failed,
        freed: Callable[[], None] | None = None,
    ) -> None:
        self._client, self._ledger, self._clock = cluster.client, cluster.ledger, cluster.clock
        self._rng = cluster.context.rng
        self._bound, self._failed, self._freed = bound, failed, freed
        self.claims = Claims(self._client, cluster.claims, self._clock)
        """Waits for the volumes of claims; call its `changed` when claims, volumes or classes change."""
        self._background, self._under_way = Background(), 0

    @property
    def busy(self) -> bool:
        """Whether more bindings are under way than one commit should take."""
        return self._under_way >= _MAX_BINDINGS

    def start(self, pod: Pod, node: str, needs: Needs | None) -> None:
        """Binds a pod, after the claims that wait for it. The pod counts on this node from now on. Returns at
        once."""
        self._ledger.assume(pod, node)
        if needs is not None and needs.waiting:
            self._background.spawn(self._bind_with_claims(pod, node, needs))
        else:
            self._under_way += 1
            self._background.spawn(self._started(pod, node))

    async def _bind_with_claims(self, pod: Pod, node: str, needs: Needs) -> None:
        problem = await self.claims.settle(pod, needs, node)
        if pod.uid not in self._ledger.assumed:
            return  # the pod went meanwhile
        if problem:
            self._ledger.forget(pod.uid)
            self._failed(pod, problem)
        else:
            await self._bind(pod, node)

    async def _started(self, pod: Pod, node: str) -> None:
        try:
            await self._bind(pod, node)
        finally:
            was_busy = self.busy
            self._under_way -= 1
            if was_busy and self._freed is not None:
                self._freed()

    async def _bind(self, pod: Pod, node: str) -> None:
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
                return
            except Unreachable as err:
                log.warning("binding %s/%s to node %s: %s; trying again", namespace, name, node, err)
                pauses = pauses or Backoff(self._clock, self._rng)
                await self._clock.sleep(pauses.next())
            else:
                self._bound(pod, node)
                return

    async def _has_node(self, pod: Pod) -> bool:
        """Whether the pod is bound although we were refused: by another, or by us with a lost answer."""
        namespace, name = pod.key
        try:
            found = await self._client.get(kinds.PODS, name, namespace)
        except (StatusError, Unreachable):
            return False
        return found["metadata"]["uid"] == pod.uid and bool(found["spec"].get("nodeName"))

    def cancel(self) -> None:
        """Stops writing. The watch will show the result of bindings under way."""
        self._background.cancel()
