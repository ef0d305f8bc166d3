"""Stories for a person whose test has failed: the object, its pods, its last events, why, the requests."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from longshore.api.facts import owners, pod_state
from longshore.api.types import Obj
from longshore.testing.seen_requests import SeenRequests
from longshore.testing.wait_verdicts import end_of, phase_of

MAX_PODS: Final = 10
MAX_EVENTS: Final = 8
MAX_REQUESTS: Final = 15


def of_object(obj: Obj | None, title: str, pods: Sequence[Obj], events: Sequence[Obj], why: str) -> list[str]:
    """The story of one object."""
    lines = [f"{title}: {status(obj)}"]
    if pods:
        lines += _block(
            f"pods ({len(pods)})", [pod_line(pod) for pod in pods[:MAX_PODS]], len(pods), MAX_PODS
        )
    if events:
        last = events[-MAX_EVENTS:]
        lines += _block("last events", [event_line(event) for event in last], len(last), MAX_EVENTS)
    if why:
        lines += _block("why", why.splitlines(), 0, 0)
    return lines


def status(obj: Obj | None) -> str:
    """The state of an object in one line."""
    if obj is None:
        return "it is not there"
    found = obj.get("status") or {}
    kind = obj.get("kind") or ""
    said = [end_of(kind, obj) or phase_of(obj)]
    said += [
        f"{key} {found[key]}"
        for key in (
            "active",
            "ready",
            "succeeded",
            "failed",
            "terminating",
            "completedIndexes",
            "failedIndexes",
        )
        if isinstance(found.get(key), int | str) and found[key] not in (0, "")
    ]
    if (obj.get("spec") or {}).get("suspend"):
        said.append("suspended")
    if "lastScheduleTime" in found:
        said.append(f"last scheduled {found['lastScheduleTime']}")
    return ", ".join(part for part in said if part) or "nothing happened yet"


def pod_line(pod: Obj) -> str:
    """A pod in one line."""
    waits = [
        f"{each['name']} waits: {each['state']['waiting'].get('reason', '')}"
        for each in pod_state.statuses_of(pod, "containerStatuses")
        if "waiting" in (each.get("state") or {})
    ]
    index = pod_state.completion_index(pod)
    which = f" (index {index})" if index is not None else ""
    going = ", being deleted" if "deletionTimestamp" in pod["metadata"] else ""
    told = end_of("Pod", pod) or pod_state.phase_of(pod)
    return f"{pod['metadata']['name']}{which}: {', '.join([told, *waits])}{going}"


def event_line(event: Obj) -> str:
    """An event in one line."""
    about = event.get("involvedObject") or {}
    count = event.get("count") or 1
    times = f" ({count} times)" if count > 1 else ""
    at = event.get("lastTimestamp") or event.get("eventTime") or ""
    who = f"{about.get('kind', '')}/{about.get('name', '')}"
    return f"{at} {who} {event.get('reason')}: {event.get('message')}{times}"


def of_requests(requests: SeenRequests) -> list[str]:
    """The last requests of clients."""
    last = [str(each) for each in requests][-MAX_REQUESTS:]
    earlier = len(requests) - len(last)
    more = [f"… {earlier} earlier ones"] if earlier else []
    return _block("requests of clients", more + last, 0, 0) if last else []


def of_unused(unused: Sequence[str]) -> list[str]:
    """The scripts, answers and faults that never met anything."""
    return _block("never met anything; misspelt?", unused, 0, 0) if unused else []


def owned_by(name: str, pods: Iterable[Obj]) -> list[Obj]:
    """The pods whose owner has this name."""
    return [pod for pod in pods if (ref := owners.controller_of(pod)) is not None and ref["name"] == name]


def _block(title: str, lines: Sequence[str], count: int, most: int) -> list[str]:
    more = [f"    … and {count - most} more"] if count > most else []
    return [f"  {title}:", *(f"    {line}" for line in lines), *more]
