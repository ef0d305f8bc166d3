"""Stories of a cluster for a person: events and why of an object, its report, a summary of everything.

Runs on the cluster's event loop.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

import msgspec

from longshore.api.errors import StatusError
from longshore.api.facts import kinds, owners, pod_state
from longshore.api.types import Obj, copy_of
from longshore.testing import object_names
from longshore.testing.seen_requests import SeenRequests
from longshore.testing.wait_verdicts import end_of, phase_of

if TYPE_CHECKING:
    from longshore.testing.installation import Installation

_SHOWN: Final = ("cronjob", "job", "vcjob", "pod")
"""Kinds that a summary reports on."""
_MAX_STORIES: Final = 3


async def events(inside: Installation, name: str, namespace: str) -> list[Obj]:
    """The events about an object, oldest first; with an empty name, all of the namespace."""
    client = inside.own_client
    found = (await client.list(kinds.EVENTS, namespace)).items
    if name:
        row, plain, _ = object_names.one(name, namespace, await client.resources())
        found = [
            event
            for event in found
            if event["involvedObject"].get("name") == plain
            and event["involvedObject"].get("kind") == row.kind
        ]
    return [copy_of(event) for event in sorted(found, key=_time_of)]


async def why(inside: Installation, name: str, namespace: str) -> str:
    """The story of an object, as `longshore why` tells it."""
    from longshore.why import kinds as story_kinds
    from longshore.why import text

    client = inside.own_client
    row, plain, where = object_names.one(name, namespace, await client.resources())
    kind = story_kinds.of_resource(row.group, row.plural)
    if kind is None:
        raise ValueError(f"{name}: there are no stories of {row.plural}")
    answer = await client.request("GET", kind.explanation(where, plain))
    document = json.loads(answer.body)
    if answer.code >= 400:
        raise StatusError.from_status(document, answer.code)
    now = inside.clock.now()
    return "\n".join(text.lines(document, now.tzinfo, now))


async def report(inside: Installation, name: str, namespace: str) -> str:
    """Reports one object with its pods, its last events and why; also if the object does not exist."""
    client = inside.own_client
    row, plain, where = object_names.one(name, namespace, await client.resources())
    obj = inside.stored_row(row, plain, where)
    pods = (await client.list(kinds.PODS, where)).items if where else []
    owned = owned_by(plain, pods)
    about = {plain, *(pod["metadata"]["name"] for pod in owned)}
    every = await events(inside, "", where or "default")
    told = [each for each in every if each["involvedObject"].get("name") in about]
    try:
        story = await why(inside, name, namespace)
    except (StatusError, ValueError):
        story = ""
    shown = object_names.plain(row, obj) if obj is not None else None
    return "\n".join(of_object(shown, name, owned, told, story))


async def summary(inside: Installation, above: object_names.Named | None) -> str:
    """All objects, some with their report and the others in a line each, the requests, and how to repeat the
    run. The object whose story stands above gets a line."""
    client, lines = inside.own_client, [f"it is {inside.clock.now().isoformat()} in this cluster"]
    lines += inside.still.notes
    stories: list[str] = []
    for kind in _SHOWN:
        if kind == "vcjob" and not inside.settings.volcano:
            continue
        row = object_names.kind(kind, await client.resources())
        for obj in (await client.list(row, "")).items:
            meta = obj["metadata"]
            owned = owners.controller_of(obj) is not None
            if kind == "pod" and owned:
                continue
            is_told = above == object_names.Named(row, meta["name"], meta["namespace"])
            if not owned and not is_told and len(stories) < _MAX_STORIES:
                stories.append(await report(inside, f"{kind}/{meta['name']}", meta["namespace"]))
                continue
            where = "" if meta["namespace"] == "default" else f" in {meta['namespace']}"
            more = " (its story is above)" if is_told else ""
            lines.append(f"{kind}/{meta['name']}{where}: {status(object_names.plain(row, obj))}{more}")
    told = msgspec.structs.asdict(inside.settings)
    usual = msgspec.structs.asdict(type(inside.settings)())
    settings = ", ".join(f"{k}={v!r}" for k, v in told.items() if v != usual[k] or k == "seed")
    repeat = f"to repeat it: @pytest.mark.longshore({settings})"
    unused = of_unused(inside.unused())
    return "\n".join([*lines, "", *stories, *unused, *of_requests(inside.requests), repeat])


def _time_of(event: Obj) -> str:
    return str(event.get("lastTimestamp") or event.get("eventTime") or "")


# The forms of stories, for a person whose test has failed.

_COUNTS: Final = (
    "active", "ready", "succeeded", "failed", "terminating", "completedIndexes", "failedIndexes",
)  # fmt: skip
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
        for key in _COUNTS
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
    at = _time_of(event)
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
