"""Volumes for claims that waited for their first consumer: names the node, and waits for the volume.

The pod keeps its room meanwhile. It is scheduled again if the provisioner rejects the node (it removes the
annotation), or after ten minutes, upstream's limit.
"""

from __future__ import annotations

import asyncio
from typing import Final

from longshore.api.errors import StatusError
from longshore.api.facts import kinds
from longshore.api.types import Obj
from longshore.client import Client, Unreachable
from longshore.machinery.informers.cache import Cache
from longshore.machinery.time.clock import Clock
from longshore.scheduler.fitting.pod_claims import SELECTED_NODE, Needs, is_bound
from longshore.scheduler.fitting.pod_shape import Pod

_CLAIM_WAIT_SECONDS: Final = 600.0


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
        """Empty if all claims are bound, None while one is not, else what went wrong."""
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
