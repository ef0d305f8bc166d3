"""Turns manifests into runs: objects that end are created and followed, objects they need are applied, all
others are reported.

Every run is first created as a dry run, so bad input changes nothing.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import msgspec

from longshore.api import types
from longshore.api.errors import StatusError
from longshore.api.facts import kinds
from longshore.api.indexes import Runs
from longshore.api.types import Obj
from longshore.cli.arguments.manifest_files import Manifest
from longshore.cli.main import Failure, Said
from longshore.cli.running import pod_templates
from longshore.cli.running.place import Place
from longshore.cli.running.pod_templates import Change
from longshore.cli.running.progress import FollowedRun
from longshore.cli.server import refusals
from longshore.client import Unreachable
from longshore.node.images.image_table import ImageTable, Row, no_command
from longshore.plane import job_retry
from longshore.up import own_pages

if TYPE_CHECKING:
    from longshore.api.resources import Resource

MANAGER: Final = "longshore"
_MAX_CREATE_TRIES: Final = 100


@dataclass(slots=True)
class RunPlan:
    """The manifests, sorted by what is done with them."""

    needed: list[tuple[Resource, Obj, str]] = field(default_factory=list)
    """Resource, object and source of objects that are applied first and not waited for."""
    wanted: list[tuple[str, Resource, Obj, str]] = field(default_factory=list)
    """Kind (`job`, `pod` or `vcjob`), resource, object and source of objects that are run."""
    templates: list[tuple[Resource, Obj, str]] = field(default_factory=list)
    """Objects that are only checked: the CronJobs whose Jobs are run."""
    said: list[str] = field(default_factory=list)
    """Notes on manifests that do not run as written, with the reason."""


async def plan(
    place: Place, manifests: Sequence[Manifest], namespace: str, changes: Sequence[Change] = ()
) -> RunPlan:
    """Sorts the manifests; `changes` are made to the pods of those that are run. Raises Failure for kinds
    that the server does not have."""
    out = RunPlan()

    def changed(obj: Obj) -> Obj:
        for change in changes:
            obj = pod_templates.changed(obj, change)
        return pod_templates.failing_at_once(obj)

    for manifest in manifests:
        obj, source = manifest
        try:
            resource = await place.client.resource((obj["apiVersion"], obj["kind"]))
        except LookupError as err:
            raise Failure(f"{source}: {err}", 2) from None
        if resource.namespaced:
            own = obj["metadata"].get("namespace")
            if own and namespace and own != namespace:
                raise Failure(
                    f"{source}: {obj['kind']} is in namespace {own!r}, but --namespace names another", 2
                )
            obj = {**obj, "metadata": {"namespace": own or place.namespace, **obj["metadata"]}}
        match resource.group, resource.kind:
            case "batch", "Job":
                if (obj.get("spec") or {}).get("suspend"):
                    obj = {**obj, "spec": {**obj["spec"], "suspend": False}}
                    out.said.append(
                        f"job/{obj['metadata'].get('name')} is suspended in {source}: it is started now"
                    )
                out.wanted.append(("job", resource, changed(obj), source))
            case "batch", "CronJob":
                job = await place.client.resource(kinds.JOBS)
                out.templates.append((resource, obj, source))
                out.wanted.append(("job", job, changed(_once(obj)), source))
                out.said.append(
                    f"cronjob/{obj['metadata'].get('name')} has no end: it is run once, now; "
                    f"for its schedule use: longshore apply -f {source}"
                )
            case "batch.volcano.sh", "Job":
                out.wanted.append(("vcjob", resource, changed(obj), source))
            case "", "Pod" if (obj.get("spec") or {}).get("restartPolicy") in ("Never", "OnFailure"):
                out.wanted.append(("pod", resource, changed(obj), source))
            case _:
                out.needed.append((resource, obj, source))
                if "template" in (obj.get("spec") or {}) or resource.kind == "Pod":
                    out.said.append(
                        f"{resource.singular}/{obj['metadata'].get('name')} has no end: not waited for"
                    )
    return out


def _once(cronjob: Obj) -> Obj:
    """The Job that a CronJob would create now."""
    template = (cronjob.get("spec") or {}).get("jobTemplate") or {}
    meta = {**(template.get("metadata") or {}), "namespace": cronjob["metadata"]["namespace"]}
    meta["generateName"] = f"{cronjob['metadata'].get('name', 'cronjob')}-run-"
    meta.pop("name", None)
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": template.get("spec") or {}}


async def start(place: Place, plan: RunPlan, *, replace: bool, done: Runs = ()) -> list[FollowedRun]:
    """Creates all objects. Raises Failure before anything is written, if the server would refuse one.

    `done` are indexes of the Jobs that an earlier run has completed."""
    namespaces = {obj["metadata"].get("name") for row, obj, _ in plan.needed if row.kind == "Namespace"}
    for resource, obj, source in plan.templates:
        await _is_taken(place, resource, obj, source, namespaces)
    taken = []
    for _, resource, obj, source in plan.wanted:
        if await _is_taken(place, resource, obj, source, namespaces):
            name = obj["metadata"]["name"]
            if not replace:
                raise Failure(
                    f"{resource.singular} {name!r} already exists; pass --replace to delete it first, or "
                    f"follow it with: longshore wait --for=done {resource.singular}/{name}",
                    2,
                )
            taken.append((resource, obj))
    await _refuse_unknown_images(place, [(obj, source) for _, _, obj, source in plan.wanted])
    for resource, obj in taken:  # only now: a run that is refused leaves what was there
        await _remove(place, resource, obj["metadata"]["name"], obj["metadata"].get("namespace", ""))
    for resource, obj, source in sorted(plan.needed, key=lambda entry: entry[0].kind != "Namespace"):
        with _blaming(source):
            await place.client.apply(
                resource, obj, obj["metadata"].get("namespace", ""), manager=MANAGER, force=True
            )
    runs = []
    for kind, resource, obj, source in plan.wanted:
        with _blaming(source):
            made = await job_retry.seeded(place.client, partial(_created, place, resource), obj, done)
        runs.append(run_of(kind, resource.group, made, time.monotonic()))
    return runs


def run_of(kind: str, group: str, obj: Obj, started: float) -> FollowedRun:
    """The run of an object that the server has, begun at `started` of the monotonic clock."""
    meta = obj["metadata"]
    run = FollowedRun(kind, group, meta.get("namespace", ""), meta["name"], meta["uid"], obj, started=started)
    run.see(obj, time.monotonic())
    return run


async def _is_taken(place: Place, resource: Resource, obj: Obj, source: str, coming: set[str]) -> bool:
    """Creates an object as a dry run, and returns whether one of its name exists. Raises Said if the server
    would refuse it. Ignores a missing namespace that this run will create."""
    try:
        await _created(place, resource, obj, dry_run=True)
    except StatusError as err:
        if err.code == 409 and err.reason == "AlreadyExists":
            return True
        if err.code != 404 or obj["metadata"].get("namespace", "") not in coming:
            raise Said(f"{source}: {refusals.text(err)}", 2) from None
    return False


async def _remove(place: Place, resource: Resource, name: str, namespace: str) -> None:
    """Deletes an object with everything it owns, and waits until it is gone."""
    from longshore.client import DeleteOptions

    fields = f"metadata.name={name}"
    version = (await place.client.list(resource, namespace, fields=fields)).resource_version
    async with place.client.watch(resource, namespace, fields=fields, resource_version=version) as events:
        await place.client.delete(resource, name, namespace, DeleteOptions(propagation="Foreground"))
        async for event in events:
            if event.type == "DELETED":
                return


async def _created(place: Place, resource: Resource, obj: Obj, *, dry_run: bool = False) -> Obj:
    """Creates the object; a field that its kind does not have is refused.

    Tries again while a new namespace has no service account, or a new longshore no queues."""
    namespace = obj["metadata"].get("namespace", "")
    for tried in range(_MAX_CREATE_TRIES):
        try:
            return await place.client.create(
                resource, obj, namespace, dry_run=dry_run, strict=True, manager=MANAGER
            )
        except StatusError as err:
            soon = (err.code == 403 and "service account" in err.message) or "status is ``" in err.message
            if not soon or tried == _MAX_CREATE_TRIES - 1:
                raise
            await asyncio.sleep(0.05)
    raise AssertionError("the last try returns or raises")


@contextmanager
def _blaming(source: str) -> Iterator[None]:
    """Turns a refusal into a Failure that names the file."""
    try:
        yield
    except StatusError as err:
        raise Said(f"{source}: {refusals.text(err)}", 2) from None


# Refuses runs whose containers have nothing to run, before anything is created.
#
# A container without a command runs that of its image. The server's image table has it; a server without one
# (another cluster, podman) decides by itself.


async def _refuse_unknown_images(place: Place, wanted: Iterable[tuple[Obj, str]]) -> None:
    """Raises Failure for the first container without a command whose image has none in the image table.
    `wanted` are objects and their sources, which the server has accepted in a dry run."""
    bare = [(container, source) for obj, source in wanted for container in _without_command(obj)]
    table = await _table(place) if bare else None
    if table is None:
        return
    for container, source in bare:
        row = table.find(container["image"])
        if row is None or not (row.entry.command or row.entry.args):
            raise Failure(f"{source}: {no_command(container['name'], container['image'], row)}", 2)


def _without_command(obj: Obj) -> Iterator[Obj]:
    """The containers of an object's pods that get their command from the image, in the default runtime."""
    templates: list[Obj] = []

    def note(template: Obj) -> Obj:
        templates.append(template)
        return template

    pod_templates.changed(obj, note)
    for template in templates:
        spec: dict[str, Any] = template.get("spec") or {}
        if spec.get("runtimeClassName"):
            continue
        for part in ("initContainers", "containers"):
            for container in spec.get(part) or ():
                if not container.get("command") and not container.get("args"):
                    yield container


async def _table(place: Place) -> ImageTable | None:
    """The image table of the server's process runtime; None if another runtime runs pods."""
    try:
        answer = await place.client.request("GET", own_pages.IMAGES)
    except Unreachable:
        return None
    if answer.code != 200:
        return None
    found = types.decode(answer.body)
    if found.get("runtime") != "process":
        return None
    return ImageTable(msgspec.convert(found["items"], list[Row]))
