"""Makes and removes what plugins want for a Job, and its claims. Reads before it writes; safe to repeat."""

from __future__ import annotations

from longshore.api.errors import StatusError
from longshore.api.facts import kinds
from longshore.api.facts.owners import controller_of
from longshore.api.types import Obj
from longshore.client import Client, DeleteOptions
from longshore.controllers.volcano.job.pods import job_volumes
from longshore.controllers.volcano.names import owner_reference
from longshore.controllers.volcano.plugins import KeyMaker, NeedsKey, Plugin, Wanted


class ClaimMissing(Exception):
    """A volume names a claim that does not exist."""


async def ensure(client: Client, job: Obj, wanted: Wanted, keys: KeyMaker) -> None:
    """Brings one object up to what the plugin wants."""
    namespace = job["metadata"]["namespace"]
    existing = await get(client, wanted.what, wanted.name, namespace)
    if existing is not None and _of_earlier_job(existing, job):
        # Garbage collection is about to take it: it would be gone while this Job relies on it.
        await remove(client, wanted.what, wanted.name, namespace, existing["metadata"]["uid"])
        existing = None
    body = wanted.make(existing)
    if isinstance(body, NeedsKey):
        body = body.with_key(await keys.rsa(body.bits))
    if body is None:
        return
    if existing is None:
        meta = {"name": wanted.name, "namespace": namespace, "ownerReferences": [owner_reference(job)]}
        await client.create(
            wanted.what, {**body, "metadata": {**body.get("metadata", {}), **meta}}, namespace
        )
    else:
        await client.update(wanted.what, {**existing, **body, "metadata": existing["metadata"]}, namespace)


async def remove_all(client: Client, job: Obj, plugin: Plugin) -> None:
    """Looks before it deletes: one that is gone costs no write, however often this is tried."""
    namespace = job["metadata"]["namespace"]
    for wanted in plugin.objects(job):
        if await get(client, wanted.what, wanted.name, namespace) is not None:
            await remove(client, wanted.what, wanted.name, namespace)


async def remove(client: Client, what: tuple[str, str], name: str, namespace: str, uid: str = "") -> None:
    """Deletes an object, or finds it gone; with `uid`, only the one of that UID."""
    try:
        await client.delete(what, name, namespace, DeleteOptions(uid=uid or None))
    except StatusError as err:
        if err.code == 409 and uid:
            found = await get(client, what, name, namespace)
            if found is None or found["metadata"]["uid"] != uid:
                return
        if err.code != 404:
            raise


async def claims(client: Client, job: Obj) -> tuple[list[Obj], list[tuple[str, str]]]:
    """The Job's volumes, each with the name of a claim that exists now, and the marks of those claims.
    Raises `ClaimMissing`."""
    namespace = job["metadata"]["namespace"]
    found: list[Obj] = []
    markers: list[tuple[str, str]] = []
    for index, volume in enumerate(job["spec"].get("volumes") or ()):
        name = volume.get("volumeClaimName") or ""
        if name:
            if await get(client, kinds.CLAIMS, name, namespace) is None:
                raise ClaimMissing(job_volumes.missing(name))
        else:
            name = await _claim(client, job, index, volume["volumeClaim"])
        markers.append((job_volumes.MARKER + name, name))
        found.append({**volume, "volumeClaimName": name})
    return found, markers


async def _claim(client: Client, job: Obj, index: int, spec: Obj) -> str:
    namespace = job["metadata"]["namespace"]
    for name in job_volumes.claim_names(job, index):
        existing = await get(client, kinds.CLAIMS, name, namespace)
        if existing is None:
            await client.create(kinds.CLAIMS, job_volumes.claim(job, name, spec), namespace)
            return name
        owner = controller_of(existing)
        if owner is not None and owner["uid"] == job["metadata"]["uid"]:
            return name
    raise AssertionError("there is always another name")


async def get(client: Client, what: tuple[str, str], name: str, namespace: str) -> Obj | None:
    """None when there is none."""
    try:
        return await client.get(what, name, namespace)
    except StatusError as err:
        if err.code != 404:
            raise
        return None


def _of_earlier_job(obj: Obj, job: Obj) -> bool:
    owner = controller_of(obj)
    return (
        owner is not None
        and (owner.get("apiVersion"), owner.get("kind")) == kinds.VOLCANO_JOBS
        and owner["name"] == job["metadata"]["name"]
        and owner["uid"] != job["metadata"]["uid"]
    )
