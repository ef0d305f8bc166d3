"""Events are forgotten an hour after their last change, as upstream's storage forgets them.

Part of the server, not a controller: it holds with `--controllers none` too. One pass a minute over
the events alone; what it removes goes through the same store as any delete.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from longshore.api.time import rfc3339
from longshore.api.time.instants import SECOND
from longshore.api.types import Obj
from longshore.store import StoreError

if TYPE_CHECKING:
    from longshore.apiserver.api import Api

TTL_SECONDS: Final = 3600
_EVERY_SECONDS: Final = 60.0
_STAMPS: Final = ("lastTimestamp", "eventTime", "firstTimestamp")


async def expire_events(api: Api) -> None:
    """Runs for as long as the server does."""
    while True:
        await api.clock.sleep(_EVERY_SECONDS)
        await forget_old_events(api)


async def forget_old_events(api: Api) -> int:
    """Removes what is due now and returns how many events that were."""
    due = [e.key for e in api.store.list("events").entries if is_due(e.obj, api.seconds())]
    staged = []
    for key in due:
        latest = api.store.latest(key)
        if latest is not None and is_due(latest.obj, api.seconds()):
            gone = {**latest.obj, "metadata": dict(latest.obj["metadata"])}
            staged.append(api.store.stage_delete(key, gone))
    try:
        for one in staged:
            await one.done()
    except StoreError:
        return 0  # a full disk fails the pass, not the server; the next pass finds them again
    return len(staged)


def is_due(event: Obj, now: int) -> bool:
    """Whether an event's last sign of life is more than the time to live ago."""
    stamps = [event["metadata"]["creationTimestamp"], *(event[k] for k in _STAMPS if event.get(k))]
    series = event.get("series") or {}
    if series.get("lastObservedTime"):
        stamps.append(series["lastObservedTime"])
    seen = [rfc3339.parse(s) // SECOND for s in stamps]
    # Clients write these stamps; one in the future must not keep an event for ever.
    return max((s for s in seen if s <= now), default=now) + TTL_SECONDS <= now
