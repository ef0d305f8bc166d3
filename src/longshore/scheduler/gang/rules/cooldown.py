"""`cdp`: a pod that has just started stays for as long as it asks (`volcano.sh/cooldown-time: 10m`)."""

from __future__ import annotations

from typing import Final

from longshore.api.facts import conditions
from longshore.api.facts.pod_state import phase_of
from longshore.api.time import durations, rfc3339
from longshore.api.types import Obj

_KEY: Final = "volcano.sh/cooldown-time"


def is_cooling(pod: Obj, now: float) -> bool:
    """Whether a running pod was given its node so recently that it does not make way. Its label comes before
    its annotation; a time that is none protects nobody."""
    meta = pod["metadata"]
    text = (meta.get("labels") or {}).get(_KEY) or (meta.get("annotations") or {}).get(_KEY)
    if not text or phase_of(pod) != "Running":
        return False
    try:
        seconds = durations.parse(str(text)) / 1e9
    except ValueError:
        return False
    placed = conditions.find(pod, "PodScheduled")
    if placed is None or placed.get("status") != "True" or not placed.get("lastTransitionTime"):
        return False
    return now < rfc3339.seconds(placed["lastTransitionTime"]) + seconds
