"""Writes bindings, many at a time, so that one commit takes many of them.

A refused binding is undone in the ledger. If the answer to a binding was lost, the binding is sent again
until there is an answer: the pod may have its node already, and its room must stay reserved.

A claim that waited for its first consumer gets the node's name, and the binding waits for its volume. The pod
keeps its room meanwhile. The pod is scheduled again if the provisioner rejects the node (by removing the
annotation), or after ten minutes, upstream's limit.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Final

from longshore.api.errors import StatusError
from longshore.api.facts import kinds
from longshore.api.types import Obj
from longshore.client import Client, Unreachable
from longshore.machinery.background import Background
from longshore.machinery.informers.cache import Cache
from longshore.machinery.queues.backoff import Backoff
from longshore.machinery.time.clock import Clock
from longshore.scheduler.cluster import Cluster
from longshore.scheduler.fitting.pod_claims import SELECTED_NODE, Needs, is_bound
from longshore.scheduler.fitting.pod_shape import Pod

_CLAIM_WAIT_SECONDS: Final = 600.0
_FINAL_CODES: Final = (404, 409)
"""Status codes of a final refusal: the pod is gone, being deleted or bound. The watch shows which."""
_MAX_BINDINGS: Final = 512
log = logging.getLogger(__name__)
Failed = Callable[[Pod, str], None]
Bound = Callable[[Pod, str], None]


class Claims:
    """Binds claims. Call `changed` whenever the cache of claims changes."""

    def __init__(self, client: Client, cache: Cache, clock: Clock) -> None:
        self._client, self._cache, self._clock = client, cache, clock
        self._news = asyncio.Event()

    def changed(self) -> None:
        self._news.set()
        self._news = asyncio.Event()

    async def settle(self, pod: Pod, needs: Needs, node: str) -> str:
        """Waits for the volumes of all claims. Returns empty, or why the pod must be scheduled again."""
        for claim in needs.waiting:
            if _selected(claim) == node:
                continue
            meta = claim["metadata"]
            patch = {"metadata": {"uid": meta["uid"], "annotations": {SELECTED_NODE: node}}}
            try:
                claim = await self._client.patch(kinds.CLAIMS, meta["name"], patch, pod.key[0])
            except (StatusError, Unreachable) as err:
                return f"binding volumes: {err}"
            await self._cache.reached(int(claim["metadata"]["resourceVersion"]))
        deadline = self._clock.monotonic() + _CLAIM_WAIT_SECONDS
        while True:
            news = self._news
            verdict = self._look(pod, needs, node)
            if verdict is not None:
                return verdict
            if self._clock.monotonic() >= deadline:
                return "binding volumes: context deadline exceeded"
            timer = self._clock.call_later(deadline - self._clock.monotonic(), news.set)
            try:
                await news.wait()
            finally:
                timer.cancel()

    def _look(self, pod: Pod, needs: Needs, node: str) -> str | None:
        """Empty if all claims are bound, None while one is not, else the problem."""
        bound = True
        for known in needs.waiting:
            name = known["metadata"]["name"]
            claim = self._cache.get(pod.key[0], name)
            if claim is None or claim["metadata"]["uid"] != known["metadata"]["uid"]:
                return f'binding volumes: persistentvolumeclaim "{name}" is gone'
            if not is_bound(claim):
                bound = False
                if _selected(claim) != node:
                    return f'binding volumes: provisioning failed for PVC "{name}"'
        return "" if bound else None


def _selected(claim: Obj) -> str:
    annotations: dict[str, str] = claim["metadata"].get("annotations") or {}
    return annotations.get(SELECTED_NODE, "")


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
        """Binds the claims that wait for a pod, then the pod, which counts on this node from now on. Returns
        at once."""
        self._ledger.assume(pod, node)
        if needs is not None and needs.waiting:
            self._background.spawn(self._bind_with_claims(pod, node, needs))
        else:
            self._under_way += 1
            self._background.spawn(self._started(pod, node))

    async def _bind_with_claims(self, pod: Pod, node: str, needs: Needs) -> None:
        problem = await self.claims.settle(pod, needs, node)
        if pod.uid not in self._ledger.assumed:
            return  # the pod was deleted meanwhile
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
                if err.code not in _FINAL_CODES:
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
        """Whether the refused pod is bound: by another program, or by a request whose answer was lost."""
        namespace, name = pod.key
        try:
            found = await self._client.get(kinds.PODS, name, namespace)
        except (StatusError, Unreachable):
            return False
        return found["metadata"]["uid"] == pod.uid and bool(found["spec"].get("nodeName"))

    def cancel(self) -> None:
        """Stops writing. The watch will show the result of bindings under way."""
        self._background.cancel()
