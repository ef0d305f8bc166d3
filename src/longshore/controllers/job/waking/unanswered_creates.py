"""Pods that may have been created though nobody said so: the answer was lost, or an error came instead.

A controller that went by its cache alone would create such a pod a second time, or end the Job without it,
and then nobody would count it. So the API is asked for the pods of the Job before the next look, which waits
until the cache shows them.
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
"""How long the cache may take to show what the API answered, before the Job has to wait for its next turn."""


def may_have_happened(err: Exception) -> bool:
    """Whether a write that failed so may have taken place all the same."""
    return isinstance(err, Unreachable) or (isinstance(err, StatusError) and err.code >= 500)


async def wait_for_pods(client: Client, clock: Clock, job: Obj, pods: Cache) -> None:
    """Returns once the cache shows all pods that there are of the Job. Raises `StaleCache` when that takes
    longer than a moment.
    """
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
