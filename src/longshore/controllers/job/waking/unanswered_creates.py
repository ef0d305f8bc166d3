"""Handles creates of pods that got no answer, or an error, and may still have happened.

A controller that trusts its cache alone would create such a pod a second time, or end the Job without
counting it. So the controller lists the Job's pods before the next sync, and waits until the cache shows
them.
"""

from __future__ import annotations

from typing import Final

from longshore.api.errors import StatusError
from longshore.api.facts import kinds, owners
from longshore.api.types import Obj
from longshore.client import Client, Unreachable
from longshore.machinery.informers.cache import Cache
from longshore.machinery.informers.reflector import revision_of
from longshore.machinery.time.clock import Clock
from longshore.machinery.writes.own_writes import StaleCache

_PATIENCE_SECONDS: Final = 1.0
"""Seconds to wait until the cache is as new as the list; then the sync is retried later."""


def may_have_happened(err: Exception) -> bool:
    """Whether a write with this error may still have happened."""
    return isinstance(err, Unreachable) or (isinstance(err, StatusError) and err.code >= 500)


async def wait_for_pods(client: Client, clock: Clock, job: Obj, pods: Cache) -> None:
    """Returns once the cache shows all existing pods of the Job. Raises `StaleCache` after one second."""
    wanted = (job["spec"].get("selector") or {}).get("matchLabels") or {}
    labels = ",".join(f"{name}={value}" for name, value in wanted.items())
    answer = await client.list(kinds.PODS, job["metadata"]["namespace"], labels=labels)
    theirs = (pod for pod in answer.items if owners.is_controlled_by(pod, job))
    newest = max((revision_of(pod["metadata"]["resourceVersion"]) for pod in theirs), default=0)
    try:
        async with clock.timeout(_PATIENCE_SECONDS):
            await pods.reached(newest)
    except TimeoutError:
        raise StaleCache("pods", pods.revision, newest) from None
