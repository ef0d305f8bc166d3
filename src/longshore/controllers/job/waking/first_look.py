"""The first looks of a controller at a Job that another has looked after: are the pods as new as the Job?

Whoever comes after a crash, or takes over from another, may be shown an old list of pods beside a new Job.
Then a pod that was counted would be counted again, and one that waits to be counted would be taken for gone.
So until this controller has written the status of the Job itself, the API is asked for the pods of the Job
whenever the cache of pods is older than the Job. That is about one request for a Job that changed while its
controller was away, and none for the others.
"""

from __future__ import annotations

from typing import Final

from longshore.api.facts import kinds
from longshore.api.types import Obj
from longshore.client import Client
from longshore.controllers.job.waking import selector_index
from longshore.machinery.informers.cache import Cache
from longshore.machinery.time.clock import Clock
from longshore.machinery.writes.own_writes import StaleCache

_PATIENCE_SECONDS: Final = 1.0
"""How long the cache may take to show what the API answered, before the Job has to wait for its next turn."""


async def wait_for_pods(client: Client, clock: Clock, job: Obj, pods: Cache) -> None:
    """Returns once the cache shows the pods of the Job as the Job's status knows them. Raises `StaleCache`
    when that takes longer than a moment.
    """
    seen = _revision(job)
    if not job.get("status") or pods.revision >= seen:
        return
    key = selector_index.owned_key(job)
    wanted = (job["spec"].get("selector") or {}).get("matchLabels") or {}
    labels = ",".join(f"{name}={value}" for name, value in wanted.items())
    answer = await client.list(kinds.PODS, job["metadata"]["namespace"], labels=labels)
    theirs = [pod for pod in answer.items if key in selector_index.pods_by_job(pod)]
    newest = max(map(_revision, theirs), default=0)
    try:
        async with clock.timeout(_PATIENCE_SECONDS):
            await pods.reached(newest)
    except TimeoutError:
        raise StaleCache("pods", pods.revision, newest) from None
    there = {pod["metadata"]["uid"] for pod in theirs}
    if any(pod["metadata"]["uid"] not in there for pod in pods.by_index(selector_index.PODS_BY_JOB, key)):
        raise StaleCache("pods", pods.revision, seen)


def _revision(obj: Obj) -> int:
    version: str = obj["metadata"].get("resourceVersion") or ""
    return int(version) if version.isdecimal() else 0
