"""Stories of a cluster for a person: events and why of an object, its report, a summary of everything.

Runs on the cluster's event loop. `reports.py` formats the stories.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

import msgspec

from longshore.api.errors import StatusError
from longshore.api.facts import kinds, owners
from longshore.api.types import Obj, copy_of
from longshore.testing import object_names, reports

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
    return [copy_of(event) for event in sorted(found, key=_moment_of)]


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
    owned = reports.owned_by(plain, pods)
    about = {plain, *(pod["metadata"]["name"] for pod in owned)}
    every = await events(inside, "", where or "default")
    told = [each for each in every if each["involvedObject"].get("name") in about]
    try:
        story = await why(inside, name, namespace)
    except (StatusError, ValueError):
        story = ""
    shown = object_names.plain(row, obj) if obj is not None else None
    return "\n".join(reports.of_object(shown, name, owned, told, story))


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
            lines.append(
                f"{kind}/{meta['name']}{where}: {reports.status(object_names.plain(row, obj))}{more}"
            )
    told = msgspec.structs.asdict(inside.settings)
    usual = msgspec.structs.asdict(type(inside.settings)())
    settings = ", ".join(f"{k}={v!r}" for k, v in told.items() if v != usual[k] or k == "seed")
    repeat = f"to repeat it: @pytest.mark.longshore({settings})"
    unused = reports.of_unused(inside.unused())
    return "\n".join([*lines, "", *stories, *unused, *reports.of_requests(inside.requests), repeat])


def _moment_of(event: Obj) -> str:
    return str(event.get("lastTimestamp") or event.get("eventTime") or "")
