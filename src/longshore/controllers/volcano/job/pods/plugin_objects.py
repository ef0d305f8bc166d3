"""Reads, creates and deletes the objects of plugins and the Job's claims. Pure. Reads before it writes, and
is safe to repeat."""

from __future__ import annotations

from longshore.api.errors import StatusError
from longshore.api.facts import kinds
from longshore.api.facts.kinds import Kind
from longshore.api.facts.owners import controller_of
from longshore.api.types import Obj
from longshore.controllers.volcano.job.draft import VolcanoJobDraft
from longshore.controllers.volcano.job.plan import ClaimMissing, Course, Create, Delete, NewKey, Update
from longshore.controllers.volcano.job.pods import job_volumes
from longshore.controllers.volcano.names import owner_reference
from longshore.controllers.volcano.plugins import KeyPair, NeedsKey, Plugin, Wanted


def ensure(draft: VolcanoJobDraft, wanted: Wanted) -> Course[None]:
    """Creates or updates one object as the plugin wants it."""
    existing = yield from draft.found(wanted.what, wanted.name)
    if existing is not None and _of_earlier_job(existing, draft.job):
        # Garbage collection would delete it while this Job relies on it.
        yield from remove(draft, wanted.what, wanted.name, existing["metadata"]["uid"])
        existing = None
    body = wanted.make(existing)
    if isinstance(body, NeedsKey):
        key = yield from draft.one(NewKey(body.bits))
        body = body.with_key(KeyPair(**key))
    if body is None:
        return
    if existing is None:
        meta = {
            "name": wanted.name,
            "namespace": draft.job["metadata"]["namespace"],
            "ownerReferences": [owner_reference(draft.job)],
        }
        body = {**body, "metadata": {**body.get("metadata", {}), **meta}}
        yield from draft.one(Create(wanted.what, body))
    else:
        yield from draft.one(Update(wanted.what, {**existing, **body, "metadata": existing["metadata"]}))


def remove_all(draft: VolcanoJobDraft, plugin: Plugin) -> Course[None]:
    """Deletes the plugin's objects. Reads each first, so that retries cost no write for a deleted one."""
    for wanted in plugin.objects(draft.job):
        if (yield from draft.found(wanted.what, wanted.name)) is not None:
            yield from remove(draft, wanted.what, wanted.name)


def remove(draft: VolcanoJobDraft, kind: Kind, name: str, uid: str = "") -> Course[None]:
    """Deletes an object, if it exists; with `uid`, only the object with that UID."""
    try:
        yield from draft.one(Delete(kind, name, uid))
    except StatusError as err:
        if err.code == 409 and uid:
            found = yield from draft.found(kind, name)
            if found is None or found["metadata"]["uid"] != uid:
                return
        if err.code != 404:
            raise


def claims(draft: VolcanoJobDraft) -> Course[tuple[list[Obj], list[tuple[str, str]]]]:
    """Returns the Job's volumes with names of claims, and the claims' marks. Raises `ClaimMissing`."""
    found: list[Obj] = []
    markers: list[tuple[str, str]] = []
    for index, volume in enumerate(draft.job["spec"].get("volumes") or ()):
        name = volume.get("volumeClaimName") or ""
        if name:
            if (yield from draft.found(kinds.CLAIMS, name)) is None:
                raise ClaimMissing(job_volumes.missing(name))
        else:
            name = yield from _claim(draft, index, volume["volumeClaim"])
        markers.append((job_volumes.MARKER + name, name))
        found.append({**volume, "volumeClaimName": name})
    return found, markers


def _claim(draft: VolcanoJobDraft, index: int, spec: Obj) -> Course[str]:
    job = draft.job
    for name in job_volumes.claim_names(job, index):
        existing = yield from draft.found(kinds.CLAIMS, name)
        if existing is None:
            yield from draft.one(Create(kinds.CLAIMS, job_volumes.claim(job, name, spec)))
            return name
        owner = controller_of(existing)
        if owner is not None and owner["uid"] == job["metadata"]["uid"]:
            return name
    raise AssertionError("there is always another name")


def _of_earlier_job(obj: Obj, job: Obj) -> bool:
    owner = controller_of(obj)
    return (
        owner is not None
        and (owner.get("apiVersion"), owner.get("kind")) == kinds.VOLCANO_JOBS
        and owner["name"] == job["metadata"]["name"]
        and owner["uid"] != job["metadata"]["uid"]
    )
